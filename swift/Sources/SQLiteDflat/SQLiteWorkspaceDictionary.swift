import Dflat
import FlatBuffers
import Foundation

/// The dictionary of a workspace.
struct SQLiteWorkspaceDictionary: WorkspaceDictionary {
  let storage: DictionaryStorage
  let workspace: SQLiteWorkspace

  private func reported<T>(_ work: () throws -> T?) -> T? {
    do {
      return try work()
    } catch {
      workspace.report(error)
      return nil
    }
  }

  private func read<T>(_ key: String, _ coding: EntryCoding<T>) -> T? {
    reported { try storage.get(key, coding) }
  }

  /// A value that cannot be encoded leaves the stored one as it is.
  private func write<T>(_ key: String, _ value: T?, _ coding: EntryCoding<T>) {
    _ = reported { try storage.set(key, value, coding) }
  }

  func synchronize() {
    _ = reported { try storage.synchronize() }
  }

  var keys: [String] { reported { try storage.keys() } ?? [] }

  func removeAll() {
    _ = reported { try storage.removeAll() }
  }

  func follow<T: Equatable>(
    _ key: String, _ coding: EntryCoding<T>,
    _ changeHandler: @escaping (SubscribedDictionaryValue<T>) -> Void
  ) -> WorkspaceSubscription {
    let subscription = SQLiteSubscription(Gate())
    _ = reported { try follow(key, coding, subscription, changeHandler) }
    return subscription
  }

  /// Begins a subscription. A value that cannot be decoded is reported, and is none.
  func follow<T: Equatable>(
    _ key: String, _ coding: EntryCoding<T>, _ subscription: SQLiteSubscription,
    _ changeHandler: @escaping (SubscribedDictionaryValue<T>) -> Void
  ) throws {
    let handle = try storage.subscribe(key, subscription.gate) { [weak workspace] value, isInitial in
      var decoded: T?
      do {
        decoded = try value.flatMap(coding.decode)
      } catch {
        workspace?.report(error)
      }
      if isInitial {
        changeHandler(.initial(decoded))
      } else if let value = decoded {
        changeHandler(.updated(value))
      } else {
        changeHandler(.deleted)
      }
    }
    if let handle = handle { subscription.keep(handle) }
  }

  private func stream<T: Equatable>(
    _ key: String, _ coding: EntryCoding<T>,
    _ policy: AsyncStream<T?>.Continuation.BufferingPolicy
  ) -> AsyncStream<T?> {
    AsyncStream(bufferingPolicy: policy) { continuation in
      let subscription = follow(key, coding) { change in
        switch change {
        case .initial(let value): continuation.yield(Unchecked(value).value)
        case .updated(let value): continuation.yield(Unchecked(value).value)
        case .deleted: continuation.yield(nil)
        }
      }
      keep(subscription, for: continuation)
    }
  }

  subscript<T: Codable & Equatable>(_ key: String, _ type: T.Type) -> T? {
    get { read(key, .codable) }
    set { write(key, newValue, .codable) }
  }

  func subscribe<T: Codable & Equatable>(
    _ key: String, of type: T.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<T>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, .codable, changeHandler)
  }

  func subscribe<T: Codable & Equatable>(
    _ key: String, of type: T.Type, bufferingPolicy: AsyncStream<T?>.Continuation.BufferingPolicy
  ) -> AsyncStream<T?> {
    stream(key, .codable, bufferingPolicy)
  }

  subscript<T: FlatBuffersCodable & Equatable>(_ key: String, _ type: T.Type) -> T? {
    get { read(key, .flatBuffers) }
    set { write(key, newValue, .flatBuffers) }
  }

  func subscribe<T: FlatBuffersCodable & Equatable>(
    _ key: String, of type: T.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<T>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, .flatBuffers, changeHandler)
  }

  func subscribe<T: FlatBuffersCodable & Equatable>(
    _ key: String, of type: T.Type, bufferingPolicy: AsyncStream<T?>.Continuation.BufferingPolicy
  ) -> AsyncStream<T?> {
    stream(key, .flatBuffers, bufferingPolicy)
  }

  subscript(_ key: String, _ type: Bool.Type) -> Bool? {
    get { read(key, .bool) }
    set { write(key, newValue, .bool) }
  }

  func subscribe(
    _ key: String, of type: Bool.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Bool>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, .bool, changeHandler)
  }

  func subscribe(
    _ key: String, of type: Bool.Type, bufferingPolicy: AsyncStream<Bool?>.Continuation.BufferingPolicy
  ) -> AsyncStream<Bool?> {
    stream(key, .bool, bufferingPolicy)
  }

  subscript(_ key: String, _ type: Int.Type) -> Int? {
    get { read(key, .int) }
    set { write(key, newValue, .int) }
  }

  func subscribe(
    _ key: String, of type: Int.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Int>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, .int, changeHandler)
  }

  func subscribe(
    _ key: String, of type: Int.Type, bufferingPolicy: AsyncStream<Int?>.Continuation.BufferingPolicy
  ) -> AsyncStream<Int?> {
    stream(key, .int, bufferingPolicy)
  }

  subscript(_ key: String, _ type: UInt.Type) -> UInt? {
    get { read(key, .uint) }
    set { write(key, newValue, .uint) }
  }

  func subscribe(
    _ key: String, of type: UInt.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<UInt>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, .uint, changeHandler)
  }

  func subscribe(
    _ key: String, of type: UInt.Type, bufferingPolicy: AsyncStream<UInt?>.Continuation.BufferingPolicy
  ) -> AsyncStream<UInt?> {
    stream(key, .uint, bufferingPolicy)
  }

  subscript(_ key: String, _ type: Float.Type) -> Float? {
    get { read(key, .float) }
    set { write(key, newValue, .float) }
  }

  func subscribe(
    _ key: String, of type: Float.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Float>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, .float, changeHandler)
  }

  func subscribe(
    _ key: String, of type: Float.Type, bufferingPolicy: AsyncStream<Float?>.Continuation.BufferingPolicy
  ) -> AsyncStream<Float?> {
    stream(key, .float, bufferingPolicy)
  }

  subscript(_ key: String, _ type: Double.Type) -> Double? {
    get { read(key, .double) }
    set { write(key, newValue, .double) }
  }

  func subscribe(
    _ key: String, of type: Double.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Double>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, .double, changeHandler)
  }

  func subscribe(
    _ key: String, of type: Double.Type, bufferingPolicy: AsyncStream<Double?>.Continuation.BufferingPolicy
  ) -> AsyncStream<Double?> {
    stream(key, .double, bufferingPolicy)
  }

  subscript(_ key: String, _ type: String.Type) -> String? {
    get { read(key, .string) }
    set { write(key, newValue, .string) }
  }

  func subscribe(
    _ key: String, of type: String.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<String>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, .string, changeHandler)
  }

  func subscribe(
    _ key: String, of type: String.Type, bufferingPolicy: AsyncStream<String?>.Continuation.BufferingPolicy
  ) -> AsyncStream<String?> {
    stream(key, .string, bufferingPolicy)
  }
}
