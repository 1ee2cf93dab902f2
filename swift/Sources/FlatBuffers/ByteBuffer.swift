import Foundation

/// A position in a FlatBuffers payload, counted from the end of the finished payload.
public struct Offset: Equatable {
  /// The position; 0 is no value.
  public var o: UInt32

  /// Creates a position.
  public init(offset: UInt32) {
    o = offset
  }

  /// Creates the position of no value.
  public init() {
    o = 0
  }

  /// Whether this is the position of no value.
  public var isEmpty: Bool { o == 0 }
}

/// The memory of a payload, which ends with its last owner.
final class Storage: @unchecked Sendable {
  let start: UnsafeMutableRawPointer
  let count: Int
  private let owner: AnyObject?

  init(copying bytes: UnsafeRawBufferPointer) {
    start = .allocate(byteCount: max(bytes.count, 1), alignment: 8)
    if let source = bytes.baseAddress {
      start.copyMemory(from: source, byteCount: bytes.count)
    }
    count = bytes.count
    owner = nil
  }

  init(start: UnsafeRawPointer, count: Int, owner: AnyObject) {
    self.start = UnsafeMutableRawPointer(mutating: start)
    self.count = count
    self.owner = owner
  }

  deinit {
    if owner == nil {
      start.deallocate()
    }
  }
}

/// The bytes of a payload. Copies share the memory, which stays valid as long as one of them is
/// kept.
public struct ByteBuffer: @unchecked Sendable {
  let storage: Storage
  private var position: Int

  /// Copies bytes.
  public init(bytes: [UInt8]) {
    storage = bytes.withUnsafeBytes { Storage(copying: $0) }
    position = 0
  }

  /// Copies bytes.
  public init(data: Data) {
    storage = data.withUnsafeBytes { Storage(copying: $0) }
    position = 0
  }

  /// Copies bytes, which are not used after this call.
  public init(assumingMemoryBound memory: UnsafeMutableRawPointer, capacity: Int) {
    storage = Storage(copying: UnsafeRawBufferPointer(start: memory, count: capacity))
    position = 0
  }

  /// Refers to bytes that `owner` keeps valid and unchanged.
  public init(start: UnsafeRawPointer, count: Int, reader: Int = 0, owner: AnyObject) {
    storage = Storage(start: start, count: count, owner: owner)
    position = reader
  }

  /// The first byte.
  public var memory: UnsafeMutableRawPointer { storage.start }

  /// The number of bytes.
  public var capacity: Int { storage.count }

  /// The number of bytes from the position of the reader.
  public var size: UInt32 { UInt32(clamping: storage.count - position) }

  /// The position at which a value begins: that of the root's offset in a whole payload, and else
  /// that of a table or a struct.
  public var reader: Int { position }

  /// The object that owns the memory.
  public var memoryOwner: AnyObject { storage }
}
