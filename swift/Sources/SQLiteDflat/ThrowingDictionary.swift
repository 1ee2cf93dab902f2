import Dflat

/// The dictionary of a workspace, with functions that throw the errors which the subscripts of
/// `SQLiteWorkspace.dictionary` report.
public struct ThrowingDictionary {
  fileprivate let dictionary: SQLiteWorkspaceDictionary
  private var storage: DictionaryStorage { dictionary.storage }

  /// The keys that have values.
  public func keys() throws -> [String] { try storage.keys() }

  /// Removes all values.
  public func removeAll() throws { try storage.removeAll() }

  /// Waits until all values that were set are written.
  public func synchronize() throws { try storage.synchronize() }

  /// The value of a key.
  public func get<T: Codable & Equatable>(_ key: String, _ type: T.Type) throws -> T? {
    try storage.get(key, .codable)
  }

  /// Sets the value of a key; nil removes it.
  public func set<T: Codable & Equatable>(_ key: String, _ value: T?) throws {
    try storage.set(key, value, .codable)
  }

  /// The value of a key.
  public func get<T: FlatBuffersCodable & Equatable>(_ key: String, _ type: T.Type) throws -> T? {
    try storage.get(key, .flatBuffers)
  }

  /// Sets the value of a key; nil removes it.
  public func set<T: FlatBuffersCodable & Equatable>(_ key: String, _ value: T?) throws {
    try storage.set(key, value, .flatBuffers)
  }

  /// The value of a key.
  public func get(_ key: String, _ type: Bool.Type) throws -> Bool? {
    try storage.get(key, .bool)
  }

  /// Sets the value of a key; nil removes it.
  public func set(_ key: String, _ value: Bool?) throws {
    try storage.set(key, value, .bool)
  }

  /// The value of a key.
  public func get(_ key: String, _ type: Int.Type) throws -> Int? {
    try storage.get(key, .int)
  }

  /// Sets the value of a key; nil removes it.
  public func set(_ key: String, _ value: Int?) throws {
    try storage.set(key, value, .int)
  }

  /// The value of a key.
  public func get(_ key: String, _ type: UInt.Type) throws -> UInt? {
    try storage.get(key, .uint)
  }

  /// Sets the value of a key; nil removes it.
  public func set(_ key: String, _ value: UInt?) throws {
    try storage.set(key, value, .uint)
  }

  /// The value of a key.
  public func get(_ key: String, _ type: Float.Type) throws -> Float? {
    try storage.get(key, .float)
  }

  /// Sets the value of a key; nil removes it.
  public func set(_ key: String, _ value: Float?) throws {
    try storage.set(key, value, .float)
  }

  /// The value of a key.
  public func get(_ key: String, _ type: Double.Type) throws -> Double? {
    try storage.get(key, .double)
  }

  /// Sets the value of a key; nil removes it.
  public func set(_ key: String, _ value: Double?) throws {
    try storage.set(key, value, .double)
  }

  /// The value of a key.
  public func get(_ key: String, _ type: String.Type) throws -> String? {
    try storage.get(key, .string)
  }

  /// Sets the value of a key; nil removes it.
  public func set(_ key: String, _ value: String?) throws {
    try storage.set(key, value, .string)
  }
}

/// Subscriptions that throw an error of the key's value, or of the file. A later value that cannot
/// be decoded is reported.
extension ThrowingDictionary {
  private func follow<T: Equatable>(
    _ key: String, _ coding: EntryCoding<T>,
    _ changeHandler: @escaping (SubscribedDictionaryValue<T>) -> Void
  ) throws -> WorkspaceSubscription {
    _ = try storage.get(key, coding)
    let subscription = SQLiteSubscription(Gate())
    try dictionary.follow(key, coding, subscription, changeHandler)
    return subscription
  }

  /// Subscribes to a key, as `WorkspaceDictionary.subscribe`.
  public func subscribe<T: Codable & Equatable>(
    _ key: String, of type: T.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<T>) -> Void
  ) throws -> WorkspaceSubscription {
    try follow(key, .codable, changeHandler)
  }

  /// Subscribes to a key, as `WorkspaceDictionary.subscribe`.
  public func subscribe<T: FlatBuffersCodable & Equatable>(
    _ key: String, of type: T.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<T>) -> Void
  ) throws -> WorkspaceSubscription {
    try follow(key, .flatBuffers, changeHandler)
  }

  /// Subscribes to a key, as `WorkspaceDictionary.subscribe`.
  public func subscribe(
    _ key: String, of type: Bool.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Bool>) -> Void
  ) throws -> WorkspaceSubscription {
    try follow(key, .bool, changeHandler)
  }

  /// Subscribes to a key, as `WorkspaceDictionary.subscribe`.
  public func subscribe(
    _ key: String, of type: Int.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Int>) -> Void
  ) throws -> WorkspaceSubscription {
    try follow(key, .int, changeHandler)
  }

  /// Subscribes to a key, as `WorkspaceDictionary.subscribe`.
  public func subscribe(
    _ key: String, of type: UInt.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<UInt>) -> Void
  ) throws -> WorkspaceSubscription {
    try follow(key, .uint, changeHandler)
  }

  /// Subscribes to a key, as `WorkspaceDictionary.subscribe`.
  public func subscribe(
    _ key: String, of type: Float.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Float>) -> Void
  ) throws -> WorkspaceSubscription {
    try follow(key, .float, changeHandler)
  }

  /// Subscribes to a key, as `WorkspaceDictionary.subscribe`.
  public func subscribe(
    _ key: String, of type: Double.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<Double>) -> Void
  ) throws -> WorkspaceSubscription {
    try follow(key, .double, changeHandler)
  }

  /// Subscribes to a key, as `WorkspaceDictionary.subscribe`.
  public func subscribe(
    _ key: String, of type: String.Type,
    changeHandler: @escaping (_: SubscribedDictionaryValue<String>) -> Void
  ) throws -> WorkspaceSubscription {
    try follow(key, .string, changeHandler)
  }
}

extension SQLiteWorkspace {
  /// The dictionary, with functions that throw.
  public var throwingDictionary: ThrowingDictionary {
    ThrowingDictionary(dictionary: SQLiteWorkspaceDictionary(storage: entries, workspace: self))
  }
}
