// With the variable DFLAT_GOOGLE_FLATBUFFERS, the manifest takes Google's module FlatBuffers in
// place of the one here. This file adds what the library needs besides.

#if DFLAT_GOOGLE_FLATBUFFERS
  import FlatBuffers
  import Foundation

  /// A number in which the bytes of a struct are written.
  typealias _StructPart = Scalar

  /// Keeps the memory of a buffer.
  private final class BufferOwner {
    let buffer: ByteBuffer

    init(_ buffer: ByteBuffer) {
      self.buffer = buffer
    }
  }

  extension ByteBuffer {
    /// Copies bytes, because Google's buffer cannot keep their owner.
    init(start: UnsafeRawPointer, count: Int, reader: Int = 0, owner: AnyObject?) {
      let bytes = UnsafeRawBufferPointer(start: start, count: count)
      let whole = ByteBuffer(contiguousBytes: bytes, count: count)
      self = reader == 0 ? whole : whole.duplicate(removing: reader)
      withExtendedLifetime(owner) {}
    }

    /// An object that keeps the memory.
    var memoryOwner: AnyObject { BufferOwner(self) }
  }

  extension FlatBufferBuilder {
    /// Adds zeros so that the payload is aligned after `count` more bytes.
    mutating func _align(_ to: Int, after count: Int) {
      while (Int(size) + count) % to != 0 { push(element: UInt8(0)) }
    }

    /// Calls a function with the bytes so far.
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
      let built = buffer
      let start = UnsafeRawPointer(built.memory + built.reader)
      return try body(UnsafeRawBufferPointer(start: start, count: Int(built.size)))
    }
  }
#else
  /// A number in which the bytes of a struct are written.
  protocol _StructPart {}
  extension UInt8: _StructPart {}
  extension UInt16: _StructPart {}
  extension UInt32: _StructPart {}
  extension UInt64: _StructPart {}
#endif
