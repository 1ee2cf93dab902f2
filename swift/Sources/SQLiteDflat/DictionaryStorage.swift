import Dflat
import DflatC
import Foundation

/// A value of the dictionary in the form that the file has.
enum EntryValue: Equatable, Sendable {
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

extension Data {
  init(_ bytes: dflat_bytes) {
    self.init(UnsafeRawBufferPointer(start: bytes.data, count: bytes.length))
  }
}

/// The entries of a workspace's dictionary: those of the engine, and after the shutdown those in
/// memory.
final class DictionaryStorage: @unchecked Sendable {
  private let handle: Handle?
  private let lock = NSLock()
  /// The entries after the shutdown.
  private var memory: [String: EntryValue]?

  init(_ handle: Handle?) {
    self.handle = handle
    if handle == nil { memory = [:] }
  }

  /// Takes all entries into memory, because the engine is shut down next.
  func close() {
    let entries = (try? all()) ?? [:]
    lock.withLock { if memory == nil { memory = entries } }
  }

  func get(_ key: String) throws -> EntryValue? {
    if let memory = lock.withLock({ memory }) { return memory[key] }
    let found: Handle? = try key.withText { key in
      var entry: OpaquePointer?
      try call {
        dflat_dictionary_get(handle!.pointer, nil, dflat_text(), key, &entry, $0)
      }
      return entry.map { Handle($0, release: dflat_entry_release) }
    }
    guard let entry = found else { return nil }
    var value = dflat_entry_value()
    dflat_entry_read(entry.pointer, &value)
    return withExtendedLifetime(entry) { EntryValue(value) }
  }

  func set(_ key: String, _ value: EntryValue?) throws {
    let isClosed = lock.withLock {
      guard memory != nil else { return false }
      memory?[key] = value
      return true
    }
    if isClosed { return }
    try key.withText { key in
      if let value = value {
        try value.withEntry { entry in
          try withUnsafePointer(to: entry) { entry in
            try call {
              dflat_dictionary_set(handle!.pointer, nil, dflat_text(), key, entry, $0)
            }
          }
        }
      } else {
        try call { dflat_dictionary_set(handle!.pointer, nil, dflat_text(), key, nil, $0) }
      }
    }
  }

  func all() throws -> [String: EntryValue] {
    if let memory = lock.withLock({ memory }) { return memory }
    let found = EntryReceiver()
    var entries: [String: EntryValue] = [:]
    found.call = { key, value, _ in entries[key] = value }
    let callback = dflat_entry_callback(
      context: context(found), call: receiveEntry, drop: released)
    try call {
      dflat_dictionary_each(handle!.pointer, dflat_text(), dflat_text(), callback, $0)
    }
    return entries
  }

  func removeAll() throws {
    let isClosed = lock.withLock {
      guard memory != nil else { return false }
      memory = [:]
      return true
    }
    if isClosed { return }
    try call { dflat_dictionary_remove_all(handle!.pointer, dflat_text(), $0) }
  }

  func synchronize() throws {
    if lock.withLock({ memory != nil }) { return }
    try call { dflat_dictionary_synchronize(handle!.pointer, $0) }
  }

  func subscribe(
    _ key: String, _ gate: Gate, _ change: @escaping (EntryValue?, Bool) -> Void
  ) throws -> Handle? {
    if let memory = lock.withLock({ memory }) {
      change(memory[key], true)
      return nil
    }
    let receiver = EntryReceiver()
    receiver.call = { _, value, isInitial in
      if gate.enters() { change(value, isInitial) }
    }
    let callback = dflat_entry_callback(
      context: context(receiver), call: receiveEntry, drop: released)
    return try key.withText { key in
      try Handle(release: dflat_subscription_release) {
        dflat_dictionary_subscribe(handle!.pointer, dflat_text(), key, 0, callback, $0, $1)
      }
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
  let receiver = lent(context, as: EntryReceiver.self)
  receiver.call(String(key), value.flatMap { EntryValue($0.pointee) }, isInitial != 0)
}
