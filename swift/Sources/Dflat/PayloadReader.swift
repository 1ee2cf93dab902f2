import FlatBuffers

/// A place in a payload: a table, a struct, or the string of a union.
///
/// For generated code.
@frozen
public struct _PayloadReader {
  public let payload: _Payload
  /// The number of tables from the root to this place, both counted. Only a verification uses it.
  @usableFromInline let depth: UInt8
  public let position: Int
  /// The position of the vtable and its length; 0 if this is no table.
  public let vtable: Int
  public let fieldsEnd: Int

  /// A table whose vtable was found before.
  @inlinable
  public init(payload: _Payload, position: Int, vtable: Int, fieldsEnd: Int) {
    self.payload = payload
    depth = 1
    self.position = position
    self.vtable = vtable
    self.fieldsEnd = fieldsEnd
  }

  @inlinable
  init(payload: _Payload, inline position: Int, depth: UInt8) {
    self.payload = payload
    self.depth = depth
    self.position = position
    vtable = 0
    fieldsEnd = 0
  }

  @inlinable
  init(payload: _Payload, table position: Int, depth: UInt8) {
    self.payload = payload
    self.depth = depth
    self.position = position
    guard let distance = payload.load(position, as: Int32.self) else {
      (vtable, fieldsEnd) = (0, 0)
      return
    }
    let vtable = position - Int(distance)
    let length = Int(payload.load(vtable, as: UInt16.self) ?? 0)
    guard vtable >= 0, vtable + length <= payload.count,
      payload.verification?.admitTable(depth: depth) ?? true
    else {
      payload.verification?.isBroken = true
      (self.vtable, fieldsEnd) = (0, 0)
      return
    }
    self.vtable = vtable
    fieldsEnd = length
  }

  /// The root of a payload.
  @inlinable
  public init(root payload: _Payload) {
    self.init(payload: payload, table: payload.target(0) ?? -1, depth: 1)
  }

  /// The table at the reader's position of a buffer: 0 is the offset of the root.
  public init(table buffer: ByteBuffer) {
    self.init(_Payload(buffer), tableAt: buffer.reader)
  }

  private init(_ payload: _Payload, tableAt position: Int) {
    if position == 0 {
      self.init(root: payload)
    } else {
      self.init(payload: payload, table: position, depth: 1)
    }
  }

  /// The struct at the reader's position of a buffer.
  public init(structure buffer: ByteBuffer) {
    self.init(payload: _Payload(buffer), inline: buffer.reader, depth: 1)
  }

  /// The payload, if this is its root.
  @inlinable
  public var whole: _Payload? { payload.target(0) == position ? payload : nil }

  /// The positions of a root table and of its vtable, and the vtable's length, as those of a reader.
  public static func root(
    of start: UnsafeRawPointer, count: Int
  ) -> (position: Int, vtable: Int, fieldsEnd: Int) {
    guard count >= 4 else { return (-1, 0, 0) }
    let position = Int(start.loadUnaligned(as: UInt32.self))
    guard position != 0, position &+ 4 <= count else { return (-1, 0, 0) }
    let vtable = position - Int(start.loadUnaligned(fromByteOffset: position, as: Int32.self))
    guard vtable >= 0, vtable &+ 2 <= count else { return (position, 0, 0) }
    let length = Int(start.loadUnaligned(fromByteOffset: vtable, as: UInt16.self))
    return vtable &+ length <= count ? (position, vtable, length) : (position, 0, 0)
  }

  /// The payload's bytes with the position of this place.
  public var byteBuffer: ByteBuffer {
    ByteBuffer(
      start: payload.start, count: payload.count, reader: position, owner: payload.owner)
  }

  /// Reads all of a table by `read`, and returns whether everything fits into the bytes.
  public static func verify(table buffer: ByteBuffer, read: (_PayloadReader) -> Void) -> Bool {
    let payload = _Payload(verifying: buffer)
    read(_PayloadReader(payload, tableAt: buffer.reader))
    return payload.verification?.isBroken == false
  }

  /// Reads all of a struct by `read`, and returns whether everything fits into the bytes.
  public static func verify(structure buffer: ByteBuffer, read: (_PayloadReader) -> Void) -> Bool {
    let payload = _Payload(verifying: buffer)
    read(_PayloadReader(payload: payload, inline: buffer.reader, depth: 1))
    return payload.verification?.isBroken == false
  }

  /// This place, after all of its object was read by `read` if the payload is being verified.
  @inlinable
  public func verified(by read: (_PayloadReader) -> Void) -> _PayloadReader {
    if payload.isVerifying { read(self) }
    return self
  }

  /// A table that a table at this depth holds.
  @inlinable
  func nested(_ position: Int) -> _PayloadReader {
    _PayloadReader(payload: payload, table: position, depth: depth &+ 1)
  }

  /// A struct or the value of a union that a table at this depth holds.
  @inlinable
  func inline(_ position: Int) -> _PayloadReader {
    _PayloadReader(payload: payload, inline: position, depth: depth)
  }

  // MARK: Fields of a table

  /// The position of a field's value; 0 if it is absent.
  @inlinable
  func field(_ at: Int) -> Int {
    guard at &+ 2 <= fieldsEnd else { return 0 }
    let offset = payload.start.loadUnaligned(fromByteOffset: vtable &+ at, as: UInt16.self)
    return offset == 0 ? 0 : position &+ Int(offset)
  }

  /// Whether a field has a value.
  @inlinable
  public func has(_ at: Int) -> Bool { field(at) != 0 }

  /// A number, or the default if it is absent.
  @inlinable
  public func number<T: _PayloadNumber>(_ at: Int, _ absent: T) -> T {
    let found = field(at)
    return found == 0 ? absent : payload.load(found, as: T.self) ?? absent
  }

  /// A number that may be absent.
  @inlinable
  public func optional<T: _PayloadNumber>(_ at: Int, as: T.Type = T.self) -> T? {
    let found = field(at)
    return found == 0 ? nil : payload.load(found, as: T.self)
  }

  /// A boolean, or the default if it is absent.
  @inlinable
  public func bool(_ at: Int, _ absent: Bool) -> Bool {
    number(at, UInt8(absent ? 1 : 0)) != 0
  }

  /// A boolean that may be absent.
  @inlinable
  public func optionalBool(_ at: Int) -> Bool? {
    optional(at, as: UInt8.self).map { $0 != 0 }
  }

  /// A string that may be absent.
  @inlinable
  public func string(_ at: Int) -> String? {
    target(at).flatMap(payload.string)
  }

  @inlinable
  func target(_ at: Int) -> Int? {
    let found = field(at)
    return found == 0 ? nil : payload.target(found)
  }

  /// A table that may be absent.
  @inlinable
  public func table(_ at: Int) -> _PayloadReader? {
    target(at).map(nested)
  }

  /// A struct that may be absent.
  @inlinable
  public func structure(_ at: Int) -> _PayloadReader? {
    let found = field(at)
    return found == 0 ? nil : inline(found)
  }

  /// The value of a union's member, if `code` is the member that it holds.
  @inlinable
  public func member(_ at: Int, code: UInt8) -> _PayloadReader? {
    guard number(at - 2, UInt8(0)) == code else { return nil }
    return target(at).map(inline)
  }

  /// This place as a table.
  @inlinable
  public var asTable: _PayloadReader { nested(position) }

  /// This place as a string.
  @inlinable
  public var asString: String { payload.string(position) ?? "" }

  // MARK: Vectors

  /// The position of a vector's first element, and the number of elements.
  @inlinable
  func vector(_ at: Int, size: Int) -> (Int, Int)? {
    guard let found = target(at), let count = payload.load(found, as: UInt32.self) else {
      return nil
    }
    guard found + 4 + Int(count) * size <= payload.count else {
      payload.verification?.isBroken = true
      return nil
    }
    if let verification = payload.verification, !verification.admit(bytes: Int(count) * size) {
      return nil
    }
    return (found + 4, Int(count))
  }

  /// A vector of numbers; empty if it is absent.
  @inlinable
  public func numbers<T: _PayloadNumber>(_ at: Int, as: T.Type = T.self) -> [T] {
    let size = MemoryLayout<T>.size
    guard let (start, count) = vector(at, size: size) else { return [] }
    return [T](unsafeUninitializedCapacity: count) { target, initialized in
      UnsafeMutableRawBufferPointer(target).copyMemory(
        from: UnsafeRawBufferPointer(start: payload.start + start, count: count * size))
      initialized = count
    }
  }

  /// A vector of booleans.
  @inlinable
  public func bools(_ at: Int) -> [Bool] {
    numbers(at, as: UInt8.self).map { $0 != 0 }
  }

  /// A vector of strings.
  @inlinable
  public func strings(_ at: Int) -> [String] {
    references(at).map { payload.string($0) ?? "" }
  }

  @inlinable
  func references(_ at: Int) -> [Int] {
    guard let (start, count) = vector(at, size: 4) else { return [] }
    return (0..<count).compactMap { payload.target(start + $0 * 4) }
  }

  /// A vector of tables.
  @inlinable
  public func tables<T>(_ at: Int, _ make: (_PayloadReader) -> T) -> [T] {
    references(at).map { make(nested($0)) }
  }

  /// A vector of structs of a size.
  @inlinable
  public func structures<T>(_ at: Int, size: Int, _ make: (_PayloadReader) -> T) -> [T] {
    guard let (start, count) = vector(at, size: size) else { return [] }
    return (0..<count).map { make(inline(start + $0 * size)) }
  }

  /// A vector of unions, by type code and value; members without a value are left out.
  @inlinable
  public func members<T>(_ at: Int, _ make: (UInt8, _PayloadReader) -> T?) -> [T] {
    guard let (start, count) = vector(at, size: 4) else { return [] }
    let codes = numbers(at - 2, as: UInt8.self)
    return (0..<min(count, codes.count)).compactMap { index in
      guard codes[index] != 0, let found = payload.target(start + index * 4) else { return nil }
      return make(codes[index], inline(found))
    }
  }

  // MARK: Fields of a struct

  /// A number of a struct.
  @inlinable
  public func part<T: _PayloadNumber & ExpressibleByIntegerLiteral>(
    _ offset: Int, as: T.Type = T.self
  ) -> T {
    payload.load(position + offset, as: T.self) ?? 0
  }

  /// A boolean of a struct.
  @inlinable
  public func boolPart(_ offset: Int) -> Bool { part(offset, as: UInt8.self) != 0 }

  /// A struct inside a struct.
  @inlinable
  public func inner(_ offset: Int) -> _PayloadReader {
    inline(position + offset)
  }
}
