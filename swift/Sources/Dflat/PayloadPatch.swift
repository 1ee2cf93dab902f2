/// A copy of a payload, in which numbers of the root table are written over. For generated code.
///
/// Most updates change numbers only. Such an update copies the bytes of the object, and neither
/// reads nor writes its other values.
@frozen
public struct _PayloadPatch {
  @usableFromInline let bytes: UnsafeMutableRawBufferPointer
  /// The position of the root table.
  @usableFromInline let table: Int
  @usableFromInline let vtable: Int
  @usableFromInline let fieldsEnd: Int

  /// Copies a payload into memory of the same size. Nil if there is no root table.
  public init?(
    of payload: UnsafeRawBufferPointer, table: Int, vtable: Int, fieldsEnd: Int,
    copyTo memory: UnsafeMutableRawBufferPointer
  ) {
    guard vtable != 0, memory.count == payload.count else { return nil }
    (self.table, self.vtable, self.fieldsEnd) = (table, vtable, fieldsEnd)
    memory.copyMemory(from: payload)
    bytes = memory
  }

  /// Writes a number over that of a field. Returns false if the payload has no place for it, or the
  /// number is one that a payload leaves out.
  @inlinable
  public func set<T: _PayloadNumber & FixedWidthInteger>(
    _ value: T?, def: T, at position: Int
  ) -> Bool {
    guard let value = value else { return true }
    return value != def && store(value, at: position)
  }

  /// Writes a float over that of a field.
  @inlinable
  public func set<T: _PayloadNumber & BinaryFloatingPoint>(
    _ value: T?, def: T, at position: Int
  ) -> Bool {
    guard let value = value else { return true }
    let isDefault = value == def || value.isNaN && def.isNaN
    return !isDefault && store(value, at: position)
  }

  /// Writes a boolean over that of a field.
  @inlinable
  public func set(_ value: Bool?, def: Bool, at position: Int) -> Bool {
    guard let value = value else { return true }
    return value != def && store(UInt8(value ? 1 : 0), at: position)
  }

  /// Writes a number that may be absent over that of a field.
  @inlinable
  public func set<T: _PayloadNumber>(optional value: T??, at position: Int) -> Bool {
    guard let set = value else { return true }
    guard let number = set else { return false }
    return store(number, at: position)
  }

  /// Writes a boolean that may be absent over that of a field.
  @inlinable
  public func set(optional value: Bool??, at position: Int) -> Bool {
    set(optional: value.map { $0.map { UInt8($0 ? 1 : 0) } }, at: position)
  }

  @inlinable
  func store<T>(_ value: T, at position: Int) -> Bool {
    guard position &+ 2 <= fieldsEnd else { return false }
    let offset = Int(bytes.loadUnaligned(fromByteOffset: vtable &+ position, as: UInt16.self))
    let start = table &+ offset
    guard offset != 0, start &+ MemoryLayout<T>.size <= bytes.count else { return false }
    bytes.storeBytes(of: value, toByteOffset: start, as: T.self)
    return true
  }
}
