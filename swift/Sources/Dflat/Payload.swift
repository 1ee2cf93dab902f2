import FlatBuffers

/// The parts that a verification has found so far, on one thread. Tables may be nested and shared
/// without end, so there are limits. Payloads that the engine accepts are within them.
@usableFromInline
final class Verification {
  /// How deep tables may nest.
  @usableFromInline static let depthMax = 64

  /// Whether something did not fit.
  @usableFromInline var isBroken = false
  /// The number of tables that may still be read: at first two for each byte of the payload.
  private var tables: Int
  /// The bytes of strings and vectors that may still be read, each counted as often as the payload
  /// refers to it: at first 272 for each byte. The engine counts 256 for strings and vectors of
  /// numbers, and 16 for vectors of offsets.
  private var bytes: Int
  private let owner: AnyObject

  init(_ owner: AnyObject, count: Int) {
    self.owner = owner
    tables = max(8 * 1024, 2 * count)
    bytes = max(16 * 1024 * 1024, 256 * count) + max(64 * 1024, 16 * count)
  }

  /// Counts a table at a depth; false if it exceeds a limit.
  @usableFromInline
  func admitTable(depth: UInt8) -> Bool {
    tables -= 1
    if tables < 0 || depth > Self.depthMax { isBroken = true }
    return !isBroken
  }

  /// Counts the bytes of a string or vector; false if they exceed the limit.
  @usableFromInline
  func admit(bytes count: Int) -> Bool {
    bytes -= min(count, bytes + 1)
    if bytes < 0 { isBroken = true }
    return !isBroken
  }
}

/// The verified or unverified bytes of an object, which generated code reads in place.
///
/// No read goes beyond the bytes: a field that does not fit is absent.
@frozen
public struct _Payload: @unchecked Sendable {
  @usableFromInline let start: UnsafeRawPointer
  @usableFromInline let count: Int
  /// Keeps the bytes valid and unchanged. The payload of a stored object belongs to that object: one
  /// allocation holds both.
  public let owner: AnyObject
  /// Whether the owner is a `Verification`. Several threads may read a payload that has none.
  @usableFromInline let isVerifying: Bool

  /// Refers to bytes that `owner` keeps valid and unchanged.
  @inlinable
  public init(start: UnsafeRawPointer, count: Int, owner: AnyObject) {
    self.start = start
    self.count = count
    self.owner = owner
    isVerifying = false
  }

  /// Refers to the bytes of a buffer.
  init(_ buffer: ByteBuffer) {
    self.init(
      start: UnsafeRawPointer(buffer.memory), count: buffer.capacity, owner: buffer.memoryOwner)
  }

  /// Refers to the bytes of a buffer, to verify them.
  init(verifying buffer: ByteBuffer) {
    start = UnsafeRawPointer(buffer.memory)
    count = buffer.capacity
    owner = Verification(buffer.memoryOwner, count: buffer.capacity)
    isVerifying = true
  }

  /// The state of a verification.
  @inlinable
  var verification: Verification? {
    isVerifying ? unsafeDowncast(owner, to: Verification.self) : nil
  }

  /// The bytes as a buffer, which keeps the owner.
  public var byteBuffer: ByteBuffer {
    ByteBuffer(start: start, count: count, owner: owner)
  }

  /// The bytes, which are valid as long as the owner.
  public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

  @inlinable
  func load<T>(_ position: Int, as: T.Type) -> T? {
    guard position >= 0, position &+ MemoryLayout<T>.size <= count else {
      verification?.isBroken = true
      return nil
    }
    return start.loadUnaligned(fromByteOffset: position, as: T.self)
  }

  /// The position that the offset at a position leads to.
  @inlinable
  func target(_ position: Int) -> Int? {
    guard let distance = load(position, as: UInt32.self) else { return nil }
    guard distance != 0, position + Int(distance) < count else {
      verification?.isBroken = true
      return nil
    }
    return position + Int(distance)
  }

  @inlinable
  func string(_ position: Int) -> String? {
    guard let length = load(position, as: UInt32.self) else { return nil }
    // A byte after the string ends it.
    guard position + 4 + Int(length) < count else {
      verification?.isBroken = true
      return nil
    }
    if let verification = verification, !verification.admit(bytes: Int(length)) { return nil }
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

/// The values of an object that was not read from a payload. For generated code.
public final class _ValueBox<Value>: @unchecked Sendable {
  public let value: Value

  public init(_ value: Value) {
    self.value = value
  }
}

extension FlatBufferBuilder {
  /// Writes a vector of tables, or of the values of unions.
  public mutating func createVector<T: FlatBuffersEncodable>(encoding values: [T]) -> Offset {
    var offsets: [Offset] = []
    for value in values {
      offsets.append(value.to(flatBufferBuilder: &self))
    }
    return createVector(ofOffsets: offsets)
  }
}
