/// A change of a value of the dictionary.
public enum SubscribedDictionaryValue<Element: Equatable>: Equatable {
  /// The value at the beginning.
  case initial(_: Element?)
  /// A new value.
  case updated(_: Element)
  /// The value was removed, or the new one is no value of the type: it has another type or another
  /// version of the schema, or cannot be decoded.
  case deleted
}

/// Small values by key, kept in the same file as the objects.
///
/// A value is set in memory at once and written soon. Every method may be called on any thread.
///
/// A subscript is nil for a key without a value. For a value of another type, it is nil and an error
/// is reported to `onError`. For a payload of another version of its schema, it is nil without an
/// error. Setting nil removes a value. Setting an equal value changes nothing. If a value cannot be
/// encoded, an error is reported and the stored value stays.
public protocol WorkspaceDictionary {
  subscript<T: Codable & Equatable>(_: String, _: T.Type) -> T? { get set }
  subscript<T: FlatBuffersCodable & Equatable>(_: String, _: T.Type) -> T? { get set }
  subscript(_: String, _: Bool.Type) -> Bool? { get set }
  subscript(_: String, _: Int.Type) -> Int? { get set }
  subscript(_: String, _: UInt.Type) -> UInt? { get set }
  subscript(_: String, _: Float.Type) -> Float? { get set }
  subscript(_: String, _: Double.Type) -> Double? { get set }
  subscript(_: String, _: String.Type) -> String? { get set }
  /// Waits until all values that were set are written. A value that cannot be written is reported as
  /// an error. In a handler or a callback, this does not wait and reports an error.
  func synchronize()
  /// The keys that have values, in any order; none if they cannot be read, which is reported.
  var keys: [String] { get }
  /// Removes all values. Each subscriber gets `deleted`, also for a key without a value.
  func removeAll()
  /// Subscribes to a key. The value at the beginning is delivered before this returns. A later value
  /// is delivered on the thread that sets it, or on one that sets another value at the same time; a
  /// value that a transaction sets, on the thread that completes the transaction; and a value of
  /// another process, on a thread of the library.
  func subscribe<Element: Codable & Equatable>(
    _ key: String, of: Element.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Element>) -> Void
  ) -> WorkspaceSubscription
  /// Subscribes to a key. The value at the beginning is delivered before this returns. A later value
  /// is delivered on the thread that sets it, or on one that sets another value at the same time; a
  /// value that a transaction sets, on the thread that completes the transaction; and a value of
  /// another process, on a thread of the library.
  func subscribe<Element: FlatBuffersCodable & Equatable>(
    _ key: String, of: Element.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Element>) -> Void
  ) -> WorkspaceSubscription
  func subscribe(
    _ key: String, of: Bool.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Bool>) -> Void
  ) -> WorkspaceSubscription
  func subscribe(
    _ key: String, of: Int.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Int>) -> Void
  ) -> WorkspaceSubscription
  func subscribe(
    _ key: String, of: UInt.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<UInt>) -> Void
  ) -> WorkspaceSubscription
  func subscribe(
    _ key: String, of: Float.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Float>) -> Void
  ) -> WorkspaceSubscription
  func subscribe(
    _ key: String, of: Double.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Double>) -> Void
  ) -> WorkspaceSubscription
  func subscribe(
    _ key: String, of: String.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<String>) -> Void
  ) -> WorkspaceSubscription
  /// The values of a key, the present one first; nil when it is removed.
  func subscribe<Element: Codable & Equatable>(
    _ key: String, of: Element.Type, bufferingPolicy: AsyncStream<Element?>.Continuation.BufferingPolicy
  ) -> AsyncStream<Element?>
  /// The values of a key, the present one first; nil when it is removed.
  func subscribe<Element: FlatBuffersCodable & Equatable>(
    _ key: String, of: Element.Type, bufferingPolicy: AsyncStream<Element?>.Continuation.BufferingPolicy
  ) -> AsyncStream<Element?>
  /// The values of a key, the present one first; nil when it is removed.
  func subscribe(
    _ key: String, of: Bool.Type, bufferingPolicy: AsyncStream<Bool?>.Continuation.BufferingPolicy
  ) -> AsyncStream<Bool?>
  /// The values of a key, the present one first; nil when it is removed.
  func subscribe(
    _ key: String, of: Int.Type, bufferingPolicy: AsyncStream<Int?>.Continuation.BufferingPolicy
  ) -> AsyncStream<Int?>
  /// The values of a key, the present one first; nil when it is removed.
  func subscribe(
    _ key: String, of: UInt.Type, bufferingPolicy: AsyncStream<UInt?>.Continuation.BufferingPolicy
  ) -> AsyncStream<UInt?>
  /// The values of a key, the present one first; nil when it is removed.
  func subscribe(
    _ key: String, of: Float.Type, bufferingPolicy: AsyncStream<Float?>.Continuation.BufferingPolicy
  ) -> AsyncStream<Float?>
  /// The values of a key, the present one first; nil when it is removed.
  func subscribe(
    _ key: String, of: Double.Type, bufferingPolicy: AsyncStream<Double?>.Continuation.BufferingPolicy
  ) -> AsyncStream<Double?>
  /// The values of a key, the present one first; nil when it is removed.
  func subscribe(
    _ key: String, of: String.Type, bufferingPolicy: AsyncStream<String?>.Continuation.BufferingPolicy
  ) -> AsyncStream<String?>
  #if canImport(Combine)
    /// Publishes the values of a key, the present one first.
    func publisher<Element: Codable & Equatable>(_: String, of: Element.Type)
      -> DictionaryValuePublisher<Element>
    /// Publishes the values of a key, the present one first.
    func publisher<Element: FlatBuffersCodable & Equatable>(_: String, of: Element.Type)
      -> DictionaryValuePublisher<Element>
    func publisher(_: String, of: Bool.Type) -> DictionaryValuePublisher<Bool>
    func publisher(_: String, of: Int.Type) -> DictionaryValuePublisher<Int>
    func publisher(_: String, of: UInt.Type) -> DictionaryValuePublisher<UInt>
    func publisher(_: String, of: Float.Type) -> DictionaryValuePublisher<Float>
    func publisher(_: String, of: Double.Type) -> DictionaryValuePublisher<Double>
    func publisher(_: String, of: String.Type) -> DictionaryValuePublisher<String>
  #endif
}

extension WorkspaceDictionary {
  /// The value of a key.
  public subscript<T: Codable & Equatable>(key: String) -> T? {
    get { self[key, T.self] }
    set { self[key, T.self] = newValue }
  }

  /// The value of a key, or a default, which is not stored.
  public subscript<T: Codable & Equatable>(key: String, default value: T) -> T {
    self[key, T.self] ?? value
  }

  /// The value of a key.
  public subscript<T: FlatBuffersCodable & Equatable>(key: String) -> T? {
    get { self[key, T.self] }
    set { self[key, T.self] = newValue }
  }

  /// The value of a key, or a default, which is not stored.
  public subscript<T: FlatBuffersCodable & Equatable>(key: String, default value: T) -> T {
    self[key, T.self] ?? value
  }

  /// The value of a key.
  public subscript(key: String) -> Bool? {
    get { self[key, Bool.self] }
    set { self[key, Bool.self] = newValue }
  }

  /// The value of a key, or a default, which is not stored.
  public subscript(key: String, default value: Bool) -> Bool {
    self[key, Bool.self] ?? value
  }

  /// The value of a key.
  public subscript(key: String) -> Int? {
    get { self[key, Int.self] }
    set { self[key, Int.self] = newValue }
  }

  /// The value of a key, or a default, which is not stored.
  public subscript(key: String, default value: Int) -> Int {
    self[key, Int.self] ?? value
  }

  /// The value of a key.
  public subscript(key: String) -> UInt? {
    get { self[key, UInt.self] }
    set { self[key, UInt.self] = newValue }
  }

  /// The value of a key, or a default, which is not stored.
  public subscript(key: String, default value: UInt) -> UInt {
    self[key, UInt.self] ?? value
  }

  /// The value of a key.
  public subscript(key: String) -> Float? {
    get { self[key, Float.self] }
    set { self[key, Float.self] = newValue }
  }

  /// The value of a key, or a default, which is not stored.
  public subscript(key: String, default value: Float) -> Float {
    self[key, Float.self] ?? value
  }

  /// The value of a key.
  public subscript(key: String) -> Double? {
    get { self[key, Double.self] }
    set { self[key, Double.self] = newValue }
  }

  /// The value of a key, or a default, which is not stored.
  public subscript(key: String, default value: Double) -> Double {
    self[key, Double.self] ?? value
  }

  /// The value of a key.
  public subscript(key: String) -> String? {
    get { self[key, String.self] }
    set { self[key, String.self] = newValue }
  }

  /// The value of a key, or a default, which is not stored.
  public subscript(key: String, default value: String) -> String {
    self[key, String.self] ?? value
  }

  /// The values of a key, the present one first; only the newest waits for the reader.
  public func subscribe<Element: Codable & Equatable>(_ key: String, of type: Element.Type) -> AsyncStream<Element?> {
    subscribe(key, of: type, bufferingPolicy: .bufferingNewest(1))
  }

  /// The values of a key, the present one first; only the newest waits for the reader.
  public func subscribe<Element: FlatBuffersCodable & Equatable>(_ key: String, of type: Element.Type) -> AsyncStream<Element?> {
    subscribe(key, of: type, bufferingPolicy: .bufferingNewest(1))
  }

  /// The values of a key, the present one first; only the newest waits for the reader.
  public func subscribe(_ key: String, of type: Bool.Type) -> AsyncStream<Bool?> {
    subscribe(key, of: type, bufferingPolicy: .bufferingNewest(1))
  }

  /// The values of a key, the present one first; only the newest waits for the reader.
  public func subscribe(_ key: String, of type: Int.Type) -> AsyncStream<Int?> {
    subscribe(key, of: type, bufferingPolicy: .bufferingNewest(1))
  }

  /// The values of a key, the present one first; only the newest waits for the reader.
  public func subscribe(_ key: String, of type: UInt.Type) -> AsyncStream<UInt?> {
    subscribe(key, of: type, bufferingPolicy: .bufferingNewest(1))
  }

  /// The values of a key, the present one first; only the newest waits for the reader.
  public func subscribe(_ key: String, of type: Float.Type) -> AsyncStream<Float?> {
    subscribe(key, of: type, bufferingPolicy: .bufferingNewest(1))
  }

  /// The values of a key, the present one first; only the newest waits for the reader.
  public func subscribe(_ key: String, of type: Double.Type) -> AsyncStream<Double?> {
    subscribe(key, of: type, bufferingPolicy: .bufferingNewest(1))
  }

  /// The values of a key, the present one first; only the newest waits for the reader.
  public func subscribe(_ key: String, of type: String.Type) -> AsyncStream<String?> {
    subscribe(key, of: type, bufferingPolicy: .bufferingNewest(1))
  }
}
