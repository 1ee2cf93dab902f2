import Dflat
import FlatBuffers
import Foundation

/// The dictionary of a workspace.
struct SQLiteWorkspaceDictionary: WorkspaceDictionary {
  let storage: DictionaryStorage
  let workspace: SQLiteWorkspace

  private func read<T>(_ key: String, _ decode: (EntryValue) -> T?) -> T? {
    do {
      return try storage.get(key).flatMap(decode)
    } catch {
      workspace.report(error)
      return nil
    }
  }

  private func write(_ key: String, _ value: EntryValue?) {
    do {
      try storage.set(key, value)
    } catch {
      workspace.report(error)
    }
  }

  func synchronize() {
    do {
      try storage.synchronize()
    } catch {
      workspace.report(error)
    }
  }

  var keys: [String] {
    do {
      return Array(try storage.all().keys)
    } catch {
      workspace.report(error)
      return []
    }
  }

  func removeAll() {
    do {
      try storage.removeAll()
    } catch {
      workspace.report(error)
    }
  }

  private func follow<T: Equatable>(
    _ key: String, _ decode: @escaping (EntryValue) -> T?,
    _ changeHandler: @escaping (SubscribedDictionaryValue<T>) -> Void
  ) -> WorkspaceSubscription {
    let gate = Gate()
    let subscription = SQLiteSubscription(gate)
    do {
      let handle = try storage.subscribe(key, gate) { value, isInitial in
        let value = value.flatMap(decode)
        if isInitial {
          changeHandler(.initial(value))
        } else if let value = value {
          changeHandler(.updated(value))
        } else {
          changeHandler(.deleted)
        }
      }
      if let handle = handle { subscription.keep(handle) }
    } catch {
      workspace.report(error)
    }
    return subscription
  }

  private func stream<T: Equatable>(
    _ key: String, _ decode: @escaping (EntryValue) -> T?,
    _ policy: AsyncStream<T?>.Continuation.BufferingPolicy
  ) -> AsyncStream<T?> {
    AsyncStream(bufferingPolicy: policy) { continuation in
      let subscription = follow(key, decode) { change in
        switch change {
        case .initial(let value): continuation.yield(Unchecked(value).value)
        case .updated(let value): continuation.yield(Unchecked(value).value)
        case .deleted: continuation.yield(nil)
        }
      }
      let kept = Unchecked(subscription)
      continuation.onTermination = { _ in kept.value.cancel() }
    }
  }

  subscript<T: Codable & Equatable>(_ key: String, _ type: T.Type) -> T? {
    get { read(key, decoded) }
    set { write(key, newValue.flatMap(encoded)) }
  }

  func subscribe<T: Codable & Equatable>(
    _ key: String, of type: T.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<T>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, decoded, changeHandler)
  }

  func subscribe<T: Codable & Equatable>(
    _ key: String, of type: T.Type, bufferingPolicy: AsyncStream<T?>.Continuation.BufferingPolicy
  ) -> AsyncStream<T?> {
    stream(key, decoded, bufferingPolicy)
  }

  subscript<T: FlatBuffersCodable & Equatable>(_ key: String, _ type: T.Type) -> T? {
    get { read(key, payload) }
    set { write(key, newValue.flatMap(bytes)) }
  }

  func subscribe<T: FlatBuffersCodable & Equatable>(
    _ key: String, of type: T.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<T>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, payload, changeHandler)
  }

  func subscribe<T: FlatBuffersCodable & Equatable>(
    _ key: String, of type: T.Type, bufferingPolicy: AsyncStream<T?>.Continuation.BufferingPolicy
  ) -> AsyncStream<T?> {
    stream(key, payload, bufferingPolicy)
  }

  subscript(_ key: String, _ type: Bool.Type) -> Bool? {
    get { read(key, bool) }
    set { write(key, newValue.flatMap({ .bool($0) })) }
  }

  func subscribe(
    _ key: String, of type: Bool.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Bool>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, bool, changeHandler)
  }

  func subscribe(
    _ key: String, of type: Bool.Type, bufferingPolicy: AsyncStream<Bool?>.Continuation.BufferingPolicy
  ) -> AsyncStream<Bool?> {
    stream(key, bool, bufferingPolicy)
  }

  subscript(_ key: String, _ type: Int.Type) -> Int? {
    get { read(key, int) }
    set { write(key, newValue.flatMap({ .int(Int64($0)) })) }
  }

  func subscribe(
    _ key: String, of type: Int.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Int>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, int, changeHandler)
  }

  func subscribe(
    _ key: String, of type: Int.Type, bufferingPolicy: AsyncStream<Int?>.Continuation.BufferingPolicy
  ) -> AsyncStream<Int?> {
    stream(key, int, bufferingPolicy)
  }

  subscript(_ key: String, _ type: UInt.Type) -> UInt? {
    get { read(key, uint) }
    set { write(key, newValue.flatMap({ .uint(UInt64($0)) })) }
  }

  func subscribe(
    _ key: String, of type: UInt.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<UInt>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, uint, changeHandler)
  }

  func subscribe(
    _ key: String, of type: UInt.Type, bufferingPolicy: AsyncStream<UInt?>.Continuation.BufferingPolicy
  ) -> AsyncStream<UInt?> {
    stream(key, uint, bufferingPolicy)
  }

  subscript(_ key: String, _ type: Float.Type) -> Float? {
    get { read(key, float) }
    set { write(key, newValue.flatMap({ .float($0) })) }
  }

  func subscribe(
    _ key: String, of type: Float.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Float>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, float, changeHandler)
  }

  func subscribe(
    _ key: String, of type: Float.Type, bufferingPolicy: AsyncStream<Float?>.Continuation.BufferingPolicy
  ) -> AsyncStream<Float?> {
    stream(key, float, bufferingPolicy)
  }

  subscript(_ key: String, _ type: Double.Type) -> Double? {
    get { read(key, double) }
    set { write(key, newValue.flatMap({ .double($0) })) }
  }

  func subscribe(
    _ key: String, of type: Double.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Double>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, double, changeHandler)
  }

  func subscribe(
    _ key: String, of type: Double.Type, bufferingPolicy: AsyncStream<Double?>.Continuation.BufferingPolicy
  ) -> AsyncStream<Double?> {
    stream(key, double, bufferingPolicy)
  }

  subscript(_ key: String, _ type: String.Type) -> String? {
    get { read(key, string) }
    set { write(key, newValue.flatMap({ .string($0) })) }
  }

  func subscribe(
    _ key: String, of type: String.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<String>) -> Void
  ) -> WorkspaceSubscription {
    follow(key, string, changeHandler)
  }

  func subscribe(
    _ key: String, of type: String.Type, bufferingPolicy: AsyncStream<String?>.Continuation.BufferingPolicy
  ) -> AsyncStream<String?> {
    stream(key, string, bufferingPolicy)
  }

}

private func bool(_ value: EntryValue) -> Bool? {
  guard case .bool(let found) = value else { return nil }
  return found
}

private func int(_ value: EntryValue) -> Int? {
  guard case .int(let found) = value else { return nil }
  return Int(exactly: found)
}

private func uint(_ value: EntryValue) -> UInt? {
  guard case .uint(let found) = value else { return nil }
  return UInt(exactly: found)
}

private func float(_ value: EntryValue) -> Float? {
  guard case .float(let found) = value else { return nil }
  return found
}

private func double(_ value: EntryValue) -> Double? {
  guard case .double(let found) = value else { return nil }
  return found
}

private func string(_ value: EntryValue) -> String? {
  guard case .string(let found) = value else { return nil }
  return found
}

/// A property list has a list or a dictionary at its top. Any other value is stored in a list.
private func encoded<T: Encodable>(_ value: T) -> EntryValue? {
  let encoder = PropertyListEncoder()
  encoder.outputFormat = .binary
  let data = (try? encoder.encode(value)) ?? (try? encoder.encode([value]))
  return data.map { .codable($0) }
}

private func decoded<T: Decodable>(_ value: EntryValue) -> T? {
  guard case .codable(let data) = value else { return nil }
  let decoder = PropertyListDecoder()
  return (try? decoder.decode(T.self, from: data))
    ?? (try? decoder.decode([T].self, from: data))?.first
}

private func bytes<T: FlatBuffersCodable>(_ value: T) -> EntryValue? {
  var builder = FlatBufferBuilder(initialSize: 256)
  let root = value.to(flatBufferBuilder: &builder)
  builder.finish(offset: root)
  return .flatBuffers(builder.data, version: T.flatBuffersSchemaVersion)
}

/// A value of another version of the schema, or one that is damaged, counts as missing.
private func payload<T: FlatBuffersCodable>(_ value: EntryValue) -> T? {
  guard case .flatBuffers(let data, let version) = value,
    version == T.flatBuffersSchemaVersion
  else { return nil }
  let buffer = ByteBuffer(data: data)
  return T.verify(byteBuffer: buffer) ? T.from(byteBuffer: buffer) : nil
}
