import FlatBuffers

/// The verified or unverified bytes of an object, which generated code reads in place.
///
/// No read goes beyond the bytes: a field that does not fit is absent.
open class _Payload: @unchecked Sendable {
  let start: UnsafeRawPointer
  let count: Int
  /// Whether something did not fit; only counts if one thread has the payload.
  var isBroken = false
  /// The number of tables that may still be read while the payload is verified.
  var budget = Int.max
  private let owner: AnyObject?

  /// Refers to bytes that `owner`, or the subclass, keeps valid and unchanged.
  public init(start: UnsafeRawPointer, count: Int, owner: AnyObject?) {
    self.start = start
    self.count = count
    self.owner = owner
  }

  /// The bytes as a buffer, which keeps this payload.
  public var byteBuffer: ByteBuffer {
    ByteBuffer(start: start, count: count, owner: self)
  }

  /// The bytes.
  public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

  @inline(__always)
  func load<T>(_ position: Int, as: T.Type) -> T? {
    guard position >= 0, position &+ MemoryLayout<T>.size <= count else {
      isBroken = true
      return nil
    }
    return start.loadUnaligned(fromByteOffset: position, as: T.self)
  }

  /// The position that the offset at a position leads to.
  func target(_ position: Int) -> Int? {
    guard let distance = load(position, as: UInt32.self) else { return nil }
    guard distance != 0, position + Int(distance) < count else {
      isBroken = true
      return nil
    }
    return position + Int(distance)
  }

  func string(_ position: Int) -> String? {
    guard let length = load(position, as: UInt32.self) else { return nil }
    // A byte after the string ends it.
    guard position + 4 + Int(length) < count else {
      isBroken = true
      return nil
    }
    return String(
      decoding: UnsafeRawBufferPointer(start: start + position + 4, count: Int(length)),
      as: UTF8.self)
  }
}

/// A number that a payload holds as it is.
public protocol _PayloadNumber {}
extension Int8: _PayloadNumber {}
extension UInt8: _PayloadNumber {}
extension Int16: _PayloadNumber {}
extension UInt16: _PayloadNumber {}
extension Int32: _PayloadNumber {}
extension UInt32: _PayloadNumber {}
extension Int64: _PayloadNumber {}
extension UInt64: _PayloadNumber {}
extension Float: _PayloadNumber {}
extension Double: _PayloadNumber {}

/// A place in a payload: a table, a struct, or the string of a union.
///
/// For generated code.
public struct _PayloadReader {
  let payload: _Payload
  let position: Int
  /// The position of the vtable and its length; 0 if this is no table.
  private let vtable: Int
  private let fieldsEnd: Int

  init(payload: _Payload, inline position: Int) {
    self.payload = payload
    self.position = position
    vtable = 0
    fieldsEnd = 0
  }

  init(payload: _Payload, table position: Int) {
    self.payload = payload
    self.position = position
    guard let distance = payload.load(position, as: Int32.self) else {
      (vtable, fieldsEnd) = (0, 0)
      return
    }
    let vtable = position - Int(distance)
    let length = Int(payload.load(vtable, as: UInt16.self) ?? 0)
    payload.budget -= 1
    guard vtable >= 0, vtable + length <= payload.count, payload.budget > 0 else {
      payload.isBroken = true
      (self.vtable, fieldsEnd) = (0, 0)
      return
    }
    self.vtable = vtable
    fieldsEnd = length
  }

  /// The root of a payload.
  public init(root payload: _Payload) {
    self.init(payload: payload, table: payload.target(0) ?? -1)
  }

  /// The table at the reader's position of a buffer: 0 is the offset of the root.
  public init(table buffer: ByteBuffer) {
    let payload = _Payload(
      start: UnsafeRawPointer(buffer.memory), count: buffer.capacity, owner: buffer.memoryOwner)
    if buffer.reader == 0 {
      self.init(root: payload)
    } else {
      self.init(payload: payload, table: buffer.reader)
    }
  }

  /// The struct at the reader's position of a buffer.
  public init(structure buffer: ByteBuffer) {
    let payload = _Payload(
      start: UnsafeRawPointer(buffer.memory), count: buffer.capacity, owner: buffer.memoryOwner)
    self.init(payload: payload, inline: buffer.reader)
  }

  /// The payload, if this is its root.
  public var whole: _Payload? { payload.target(0) == position ? payload : nil }

  /// The payload's bytes with the position of this place.
  public var byteBuffer: ByteBuffer {
    ByteBuffer(start: payload.start, count: payload.count, reader: position, owner: payload)
  }

  /// Reads all of a place by `read`, and returns whether everything fits into the bytes.
  public static func verify(_ place: _PayloadReader, read: (_PayloadReader) -> Void) -> Bool {
    place.payload.budget = 1_000_000
    read(place)
    return !place.payload.isBroken
  }

  // MARK: Fields of a table

  /// The position of a field's value; 0 if it is absent.
  @inline(__always)
  private func field(_ at: Int) -> Int {
    guard at < fieldsEnd else { return 0 }
    let offset = payload.start.loadUnaligned(fromByteOffset: vtable &+ at, as: UInt16.self)
    return offset == 0 ? 0 : position &+ Int(offset)
  }

  /// Whether a field has a value.
  public func has(_ at: Int) -> Bool { field(at) != 0 }

  /// A number, or the default if it is absent.
  public func number<T: _PayloadNumber>(_ at: Int, _ absent: T) -> T {
    let found = field(at)
    return found == 0 ? absent : payload.load(found, as: T.self) ?? absent
  }

  /// A number that may be absent.
  public func optional<T: _PayloadNumber>(_ at: Int, as: T.Type = T.self) -> T? {
    let found = field(at)
    return found == 0 ? nil : payload.load(found, as: T.self)
  }

  /// A boolean, or the default if it is absent.
  public func bool(_ at: Int, _ absent: Bool) -> Bool {
    number(at, UInt8(absent ? 1 : 0)) != 0
  }

  /// A boolean that may be absent.
  public func optionalBool(_ at: Int) -> Bool? {
    optional(at, as: UInt8.self).map { $0 != 0 }
  }

  /// A string that may be absent.
  public func string(_ at: Int) -> String? {
    target(at).flatMap(payload.string)
  }

  private func target(_ at: Int) -> Int? {
    let found = field(at)
    return found == 0 ? nil : payload.target(found)
  }

  /// A table that may be absent.
  public func table(_ at: Int) -> _PayloadReader? {
    target(at).map { _PayloadReader(payload: payload, table: $0) }
  }

  /// A struct that may be absent.
  public func structure(_ at: Int) -> _PayloadReader? {
    let found = field(at)
    return found == 0 ? nil : _PayloadReader(payload: payload, inline: found)
  }

  /// The value of a union's member, if `code` is the member that it holds.
  public func member(_ at: Int, code: UInt8) -> _PayloadReader? {
    guard number(at - 2, UInt8(0)) == code else { return nil }
    return target(at).map { _PayloadReader(payload: payload, inline: $0) }
  }

  /// This place as a table.
  public var asTable: _PayloadReader { _PayloadReader(payload: payload, table: position) }

  /// This place as a string.
  public var asString: String { payload.string(position) ?? "" }

  // MARK: Vectors

  /// The position of a vector's first element, and the number of elements.
  private func vector(_ at: Int, size: Int) -> (Int, Int)? {
    guard let found = target(at), let count = payload.load(found, as: UInt32.self) else {
      return nil
    }
    guard found + 4 + Int(count) * size <= payload.count else {
      payload.isBroken = true
      return nil
    }
    return (found + 4, Int(count))
  }

  /// A vector of numbers; empty if it is absent.
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
  public func bools(_ at: Int) -> [Bool] {
    numbers(at, as: UInt8.self).map { $0 != 0 }
  }

  /// A vector of strings.
  public func strings(_ at: Int) -> [String] {
    references(at).map { payload.string($0) ?? "" }
  }

  private func references(_ at: Int) -> [Int] {
    guard let (start, count) = vector(at, size: 4) else { return [] }
    return (0..<count).compactMap { payload.target(start + $0 * 4) }
  }

  /// A vector of tables.
  public func tables<T>(_ at: Int, _ make: (_PayloadReader) -> T) -> [T] {
    references(at).map { make(_PayloadReader(payload: payload, table: $0)) }
  }

  /// A vector of structs of a size.
  public func structures<T>(_ at: Int, size: Int, _ make: (_PayloadReader) -> T) -> [T] {
    guard let (start, count) = vector(at, size: size) else { return [] }
    return (0..<count).map { make(_PayloadReader(payload: payload, inline: start + $0 * size)) }
  }

  /// A vector of unions, by type code and value; members without a value are left out.
  public func members<T>(_ at: Int, _ make: (UInt8, _PayloadReader) -> T?) -> [T] {
    guard let (start, count) = vector(at, size: 4) else { return [] }
    let codes = numbers(at - 2, as: UInt8.self)
    return (0..<min(count, codes.count)).compactMap { index in
      guard codes[index] != 0, let found = payload.target(start + index * 4) else { return nil }
      return make(codes[index], _PayloadReader(payload: payload, inline: found))
    }
  }

  // MARK: Fields of a struct

  /// A number of a struct.
  public func part<T: _PayloadNumber & ExpressibleByIntegerLiteral>(
    _ offset: Int, as: T.Type = T.self
  ) -> T {
    payload.load(position + offset, as: T.self) ?? 0
  }

  /// A boolean of a struct.
  public func boolPart(_ offset: Int) -> Bool { part(offset, as: UInt8.self) != 0 }

  /// A struct inside a struct.
  public func inner(_ offset: Int) -> _PayloadReader {
    _PayloadReader(payload: payload, inline: position + offset)
  }
}


/// The values of an object that was not read from a payload. For generated code.
public final class _ValueBox<Value>: @unchecked Sendable {
  public let value: Value

  public init(_ value: Value) {
    self.value = value
  }
}

extension FlatBufferBuilder {
  /// Writes a vector of strings.
  public mutating func createVector(ofStrings texts: [String]) -> Offset {
    var offsets: [Offset] = []
    for text in texts {
      offsets.append(create(string: text))
    }
    return createVector(ofOffsets: offsets)
  }

  /// Writes a vector of tables, or of the values of unions.
  public mutating func createVector<T: FlatBuffersEncodable>(encoding values: [T]) -> Offset {
    var offsets: [Offset] = []
    for value in values {
      offsets.append(value.to(flatBufferBuilder: &self))
    }
    return createVector(ofOffsets: offsets)
  }
}
