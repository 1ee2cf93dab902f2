import FlatBuffers

/// The bytes of a struct while they are written. For generated code.
public struct _StructWriter {
  private let start: UnsafeMutableRawPointer

  init(start: UnsafeMutableRawPointer) {
    self.start = start
  }

  /// The place of a struct inside this one.
  public func inner(at offset: Int) -> _StructWriter {
    _StructWriter(start: start + offset)
  }

  /// Writes a number.
  public func put<T: FixedWidthInteger>(_ value: T, at offset: Int) {
    (start + offset).storeBytes(of: value, as: T.self)
  }

  /// Writes a float.
  public func put<T: BinaryFloatingPoint>(_ value: T, at offset: Int) {
    withUnsafeBytes(of: value) {
      (start + offset).copyMemory(from: $0.baseAddress!, byteCount: $0.count)
    }
  }

  /// Writes a boolean.
  public func put(_ value: Bool, at offset: Int) {
    put(UInt8(value ? 1 : 0), at: offset)
  }
}

/// Structs in payloads, for generated code. Only `push`, `add` and `_align` are used, so that the
/// code is the same with Google's builder.
extension FlatBufferBuilder {
  /// Writes a vector of structs, in their order.
  public mutating func createVector<T>(
    ofStructs elements: [T], size: Int, alignment: Int, write: (T, _StructWriter) -> Void
  ) -> Offset {
    let total = elements.count * size
    _align(4, after: total)
    _align(alignment, after: total)
    for element in elements.reversed() {
      pushStruct(size, alignment) { write(element, $0) }
    }
    push(element: UInt32(elements.count))
    return Offset(offset: self.size)
  }

  /// Writes a struct, to which a table or a union refers.
  public mutating func create(
    structSize size: Int, alignment: Int, write: (_StructWriter) -> Void
  ) -> Offset {
    _align(alignment, after: size)
    pushStruct(size, alignment, write: write)
    return Offset(offset: self.size)
  }

  /// Adds a struct to the open table.
  public mutating func add(
    structSize size: Int, alignment: Int, at position: UInt16, write: (_StructWriter) -> Void
  ) {
    _align(alignment, after: size)
    pushStruct(size, alignment, at: position, write: write)
  }

  /// Writes the bytes of a struct as numbers of its alignment, the last one first; the first one as
  /// a field of the open table, if it has a position.
  private mutating func pushStruct(
    _ size: Int, _ alignment: Int, at position: UInt16? = nil, write: (_StructWriter) -> Void
  ) {
    withUnsafeTemporaryAllocation(byteCount: max(size, 1), alignment: 16) { bytes in
      bytes.initializeMemory(as: UInt8.self, repeating: 0)
      write(_StructWriter(start: bytes.baseAddress!))
      let bytes = UnsafeRawBufferPointer(start: bytes.baseAddress, count: size)
      switch alignment {
      case 1: pushAll(bytes, as: UInt8.self, position)
      case 2: pushAll(bytes, as: UInt16.self, position)
      case 4: pushAll(bytes, as: UInt32.self, position)
      default: pushAll(bytes, as: UInt64.self, position)
      }
    }
  }

  private mutating func pushAll<N: FixedWidthInteger & _StructPart>(
    _ bytes: UnsafeRawBufferPointer, as: N.Type, _ position: UInt16?
  ) {
    let width = MemoryLayout<N>.size
    for at in stride(from: bytes.count - width, through: 0, by: -width) {
      let part = bytes.load(fromByteOffset: at, as: N.self)
      if at == 0, let position = position {
        add(element: Optional(part), at: position)
      } else {
        push(element: part)
      }
    }
  }
}
