import Dflat
import DflatC
import Foundation

/// A value of the dictionary in the form that the file has.
enum EntryValue: Sendable {
  case bool(Bool)
  case int(Int64)
  case uint(UInt64)
  case float(Float)
  case double(Double)
  case string(String)
  case codable(Data)
  case flatBuffers(Data, version: String?)

  init?(_ value: dflat_entry_value) {
    switch value.kind {
    case DFLAT_ENTRY_BOOL.code: self = .bool(value.integer != 0)
    case DFLAT_ENTRY_INT64.code: self = .int(value.integer)
    case DFLAT_ENTRY_UINT64.code: self = .uint(UInt64(bitPattern: value.integer))
    case DFLAT_ENTRY_FLOAT.code: self = .float(Float(value.number))
    case DFLAT_ENTRY_DOUBLE.code: self = .double(value.number)
    case DFLAT_ENTRY_TEXT.code: self = .string(String(value.text))
    case DFLAT_ENTRY_CODABLE.code: self = .codable(Data(value.bytes))
    case DFLAT_ENTRY_FLATBUFFERS.code:
      let version = value.text.length == 0 ? nil : String(value.text)
      self = .flatBuffers(Data(value.bytes), version: version)
    default: return nil
    }
  }

  /// Calls a function with the value in the form of the C interface.
  func withEntry<R>(_ body: (dflat_entry_value) throws -> R) rethrows -> R {
    var value = dflat_entry_value()
    switch self {
    case .bool(let bool):
      value.kind = DFLAT_ENTRY_BOOL.code
      value.integer = bool ? 1 : 0
    case .int(let int):
      value.kind = DFLAT_ENTRY_INT64.code
      value.integer = int
    case .uint(let uint):
      value.kind = DFLAT_ENTRY_UINT64.code
      value.integer = Int64(bitPattern: uint)
    case .float(let float):
      value.kind = DFLAT_ENTRY_FLOAT.code
      value.number = Double(float)
    case .double(let double):
      value.kind = DFLAT_ENTRY_DOUBLE.code
      value.number = double
    case .string(let string):
      value.kind = DFLAT_ENTRY_TEXT.code
      return try string.withText {
        value.text = $0
        return try body(value)
      }
    case .codable(let data):
      value.kind = DFLAT_ENTRY_CODABLE.code
      return try data.withUnsafeBytes {
        value.bytes = $0.lent
        return try body(value)
      }
    case .flatBuffers(let data, let version):
      value.kind = DFLAT_ENTRY_FLATBUFFERS.code
      return try data.withUnsafeBytes { bytes in
        try (version ?? "").withText {
          value.bytes = bytes.lent
          value.text = $0
          return try body(value)
        }
      }
    }
    return try body(value)
  }
}

extension EntryValue: Equatable {
  /// Texts are compared by their bytes, as in the engine.
  static func == (lhs: Self, rhs: Self) -> Bool {
    switch (lhs, rhs) {
    case (.bool(let a), .bool(let b)): return a == b
    case (.int(let a), .int(let b)): return a == b
    case (.uint(let a), .uint(let b)): return a == b
    case (.float(let a), .float(let b)): return a == b
    case (.double(let a), .double(let b)): return a == b
    case (.string(let a), .string(let b)): return a.hasSameBytes(as: b)
    case (.codable(let a), .codable(let b)): return a == b
    case (.flatBuffers(let a, let version), .flatBuffers(let b, let other)):
      return a == b && version.map(EntryKey.init) == other.map(EntryKey.init)
    default: return false
    }
  }
}

extension Data {
  init(_ bytes: dflat_bytes) {
    self.init(UnsafeRawBufferPointer(start: bytes.data, count: bytes.length))
  }
}

extension EntryValue {
  /// The kind in words.
  var kindName: String {
    switch self {
    case .bool: return "a Bool"
    case .int: return "an Int"
    case .uint: return "a UInt"
    case .float: return "a Float"
    case .double: return "a Double"
    case .string: return "a String"
    case .codable: return "a property list"
    case .flatBuffers: return "a payload"
    }
  }
}

/// The entries of a workspace's dictionary: those of the engine, and those in memory after the
/// shutdown or while the file cannot be opened.
final class DictionaryStorage: @unchecked Sendable {
  private typealias Change = (EntryValue?, Bool) -> Void

  private let engine: Engine
  private let lock = NSCondition()
  /// The entries after the shutdown. Signalled when they are there.
  private var memory: [EntryKey: EntryValue]?
  /// The entries that were set while the file could not be opened.
  private var unsaved: [EntryKey: EntryValue?] = [:]
  private var subscribers: [EntryKey: [ObjectIdentifier: Change]] = [:]

  init(_ engine: Engine) {
    self.engine = engine
  }

  /// Takes all entries into memory, because the engine is shut down next. If they cannot be read,
  /// there are none in memory but those that are not saved.
  func close() throws {
    let entries = Result { try engine.closing(opens: false).map(all) ?? [:] }
    lock.withLock {
      if memory == nil {
        memory = (try? entries.get()) ?? [:]
        for (key, value) in unsaved { memory?[key] = value }
      }
      lock.broadcast()
    }
    _ = try entries.get()
  }

  /// The entries in memory, if a shutdown has begun. Waits until it has read them.
  private func kept() -> [EntryKey: EntryValue]? {
    guard engine.isClosed else { return nil }
    return lock.withLock {
      while memory == nil { lock.wait() }
      return memory
    }
  }

  /// The engine, after the entries that are not saved yet were given to it; nil after a shutdown has
  /// begun and has read the entries.
  private func opened() throws -> Handle? {
    let handle: Handle
    do {
      handle = try engine.opened()
    } catch {
      if kept() != nil { return nil }
      throw error
    }
    var late: [EntryKey: EntryValue?] = lock.withLock {
      defer { unsaved = [:] }
      return unsaved
    }
    do {
      while let (key, value) = late.first {
        try set(handle, key.text, value)
        late[key] = nil
      }
    } catch {
      // A value that was set meanwhile is newer.
      lock.withLock { unsaved.merge(late) { newer, _ in newer } }
      throw error
    }
    return handle
  }

  func get<T>(_ key: String, _ coding: EntryCoding<T>) throws -> T? {
    try get(key).flatMap(coding.decode)
  }

  /// Sets a value, unless it is equal to the present one.
  func set<T>(_ key: String, _ value: T?, _ coding: EntryCoding<T>) throws {
    let encoded = try value.map(coding.encode)
    if coding.hasSeveralForms, let value = value, (try? get(key, coding)) == value { return }
    try set(key, encoded)
  }

  func keys() throws -> [String] { try all().keys.map(\.text) }

  private func get(_ key: String) throws -> EntryValue? {
    if let memory = lock.withLock({ memory }) { return memory[EntryKey(key)] }
    let handle: Handle
    do {
      guard let found = try opened() else { return kept()?[EntryKey(key)] }
      handle = found
    } catch {
      if let memory = kept() { return memory[EntryKey(key)] }
      if let value = lock.withLock({ unsaved[EntryKey(key)] }) { return value }
      throw error
    }
    let found: Handle?
    do {
      found = try key.withText { key in
        var entry: OpaquePointer?
        try call {
          dflat_dictionary_get(handle.pointer, nil, dflat_text(), key, &entry, $0)
        }
        return entry.map { Handle($0, release: dflat_entry_release) }
      }
    } catch {
      if let memory = kept() { return memory[EntryKey(key)] }
      throw error
    }
    guard let entry = found else { return nil }
    var value = dflat_entry_value()
    dflat_entry_read(entry.pointer, &value)
    return withExtendedLifetime(entry) { EntryValue(value) }
  }

  private func set(_ key: String, _ value: EntryValue?) throws {
    if setInMemory(key, value) { return }
    do {
      guard let handle = try opened() else {
        _ = setInMemory(key, value)
        return
      }
      try set(handle, key, value)
    } catch let error as DflatError where error.code == DFLAT_SHUT_DOWN.code {
      // The shutdown has begun meanwhile.
      if kept() == nil || !setInMemory(key, value) { throw error }
      return
    } catch {
      let changes: [Change] = lock.withLock {
        unsaved[EntryKey(key)] = value
        return subscribers[EntryKey(key)].map { Array($0.values) } ?? []
      }
      if (try? engine.opened()) == nil { changes.forEach { $0(value, false) } }
      throw error
    }
    // A shutdown that has begun meanwhile has perhaps read the entries before this one was set.
    let isClosed = engine.isClosed
    lock.withLock {
      if memory != nil {
        memory?[EntryKey(key)] = value
      } else if isClosed {
        unsaved[EntryKey(key)] = value
      }
    }
  }

  /// Sets an entry after the shutdown; false if the workspace is not shut down.
  private func setInMemory(_ key: String, _ value: EntryValue?) -> Bool {
    let entryKey = EntryKey(key)
    let changes: [Change]? = lock.withLock {
      guard let known = memory else { return nil }
      memory?[entryKey] = value
      if known[entryKey] == value { return [] }
      return subscribers[entryKey].map { Array($0.values) } ?? []
    }
    changes?.forEach { $0(value, false) }
    return changes != nil
  }

  private func set(_ handle: Handle, _ key: String, _ value: EntryValue?) throws {
    try key.withText { key in
      guard let value = value else {
        return try call { dflat_dictionary_set(handle.pointer, nil, dflat_text(), key, nil, $0) }
      }
      try value.withEntry { entry in
        try withUnsafePointer(to: entry) { entry in
          try call {
            dflat_dictionary_set(handle.pointer, nil, dflat_text(), key, entry, $0)
          }
        }
      }
    }
  }

  private func all() throws -> [EntryKey: EntryValue] {
    if let memory = lock.withLock({ memory }) { return memory }
    do {
      if let handle = try opened() { return try all(handle) }
    } catch {
      if let memory = kept() { return memory }
      throw error
    }
    return kept() ?? [:]
  }

  private func all(_ handle: Handle) throws -> [EntryKey: EntryValue] {
    let found = EntryReceiver()
    var entries: [EntryKey: EntryValue] = [:]
    found.call = { key, value, _ in entries[EntryKey(key)] = value }
    let callback = dflat_entry_callback(
      context: context(found), call: receiveEntry, drop: released)
    try call {
      dflat_dictionary_each(handle.pointer, dflat_text(), dflat_text(), callback, $0)
    }
    return entries
  }

  func removeAll() throws {
    let changes: [Change]? = lock.withLock {
      guard memory != nil else { return nil }
      memory = [:]
      return subscribers.values.flatMap(\.values)
    }
    if let changes = changes { return changes.forEach { $0(nil, false) } }
    guard let handle = try opened() else { return try removeAll() }
    try call { dflat_dictionary_remove_all(handle.pointer, dflat_text(), $0) }
  }

  func synchronize() throws {
    if lock.withLock({ memory != nil }) { return }
    guard let handle = try opened() else { return }
    try call { dflat_dictionary_synchronize(handle.pointer, $0) }
  }

  func subscribe(
    _ key: String, _ gate: Gate, _ change: @escaping (EntryValue?, Bool) -> Void
  ) throws -> Handle? {
    let receiver = EntryReceiver()
    let guarded: Change = { value, isInitial in
      if gate.enters() { change(value, isInitial) }
    }
    receiver.call = { _, value, isInitial in guarded(value, isInitial) }
    let memory: [EntryKey: EntryValue]? = lock.withLock {
      subscribers[EntryKey(key), default: [:]][ObjectIdentifier(gate)] = guarded
      return self.memory
    }
    gate.atEnd { [weak self, weak gate] in
      guard let gate = gate else { return }
      self?.forget(key, gate)
    }
    if let memory = memory {
      guarded(memory[EntryKey(key)], true)
      return nil
    }
    let handle: Handle
    do {
      guard let found = try opened() else {
        guarded(kept()?[EntryKey(key)], true)
        return nil
      }
      handle = found
    } catch {
      guarded(lock.withLock { unsaved[EntryKey(key)] } ?? nil, true)
      throw error
    }
    let callback = dflat_entry_callback(
      context: context(receiver), call: receiveEntry, drop: released)
    do {
      return try key.withText { key in
        try Handle(release: dflat_subscription_release) {
          dflat_dictionary_subscribe(handle.pointer, dflat_text(), key, 0, callback, $0, $1)
        }
      }
    } catch let error as DflatError where error.code == DFLAT_SHUT_DOWN.code {
      guard let memory = kept() else { throw error }
      guarded(memory[EntryKey(key)], true)
      return nil
    }
  }

  private func forget(_ key: String, _ gate: Gate) {
    let key = EntryKey(key)
    lock.withLock {
      subscribers[key]?[ObjectIdentifier(gate)] = nil
      if subscribers[key]?.isEmpty == true { subscribers[key] = nil }
    }
  }
}

/// The receiver of entries.
private final class EntryReceiver: @unchecked Sendable {
  var call: (String, EntryValue?, Bool) -> Void = { _, _, _ in }
}

private func receiveEntry(
  _ context: UnsafeMutableRawPointer?, _ key: dflat_text,
  _ value: UnsafePointer<dflat_entry_value>?, _ isInitial: Int32
) {
  withLent(context, as: EntryReceiver.self) { receiver in
    receiver.call(String(key), value.flatMap { EntryValue($0.pointee) }, isInitial != 0)
  }
}
