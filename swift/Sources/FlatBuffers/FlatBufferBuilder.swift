import Foundation

/// Builds a payload, from its end to its beginning: values that others refer to come first.
public struct FlatBufferBuilder {
  private var bytes: [UInt8]
  private var head: Int
  /// The largest alignment of a value so far.
  private var alignment = 1
  /// The fields of the open table: vtable offset and position from the end.
  private var fields: [(at: UInt16, offset: Int)] = []
  private var openTable = 0

  /// Creates an empty builder with room for so many bytes; it grows if it needs more.
  public init(initialSize: Int32 = 1024, serializeDefaults: Bool = false) {
    bytes = [UInt8](repeating: 0, count: max(Int(initialSize), 16))
    head = bytes.count
    serializesDefaults = serializeDefaults
  }

  private let serializesDefaults: Bool

  /// The number of bytes so far.
  public var size: UInt32 { UInt32(bytes.count - head) }

  private var used: Int { bytes.count - head }

  /// Removes everything, and keeps the memory.
  public mutating func clear() {
    head = bytes.count
    alignment = 1
    fields.removeAll(keepingCapacity: true)
  }

  /// The bytes so far.
  public var sizedByteArray: [UInt8] { Array(bytes[head...]) }

  /// The bytes so far.
  public var data: Data { Data(bytes[head...]) }

  /// A copy of the bytes so far.
  public var sizedBuffer: ByteBuffer { ByteBuffer(bytes: sizedByteArray) }

  /// The same as `sizedBuffer`.
  public var buffer: ByteBuffer { sizedBuffer }

  /// Calls a function with the bytes so far.
  public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[head...])) }
  }

  private mutating func reserve(_ count: Int) {
    guard head < count else { return }
    let kept = used
    let grown = max(bytes.count * 2, kept + count + 16)
    var larger = [UInt8](repeating: 0, count: grown)
    larger.replaceSubrange((grown - kept)..., with: bytes[head...])
    head = grown - kept
    bytes = larger
  }

  /// Adds zeros so that the payload is aligned after `count` more bytes.
  private mutating func align(_ to: Int, after count: Int = 0) {
    alignment = max(alignment, to)
    let padding = -(used + count) & (to - 1)
    reserve(padding + count)
    for _ in 0..<padding {
      head -= 1
      bytes[head] = 0
    }
  }

  private mutating func push(_ source: UnsafeRawBufferPointer) {
    reserve(source.count)
    head -= source.count
    if source.isEmpty { return }
    bytes.withUnsafeMutableBytes { target in
      UnsafeMutableRawBufferPointer(rebasing: target[head..<(head + source.count)])
        .copyMemory(from: source)
    }
  }

  private mutating func push<T>(number: T) {
    align(MemoryLayout<T>.size)
    Swift.withUnsafeBytes(of: number) { push($0) }
  }

  private mutating func push(reference offset: Offset) {
    align(4)
    push(number: UInt32(used + 4) &- offset.o)
  }

  // MARK: Strings and vectors

  /// Writes a string; no string has no position.
  public mutating func create(string text: String?) -> Offset {
    guard var text = text else { return Offset() }
    return text.withUTF8 { utf8 in
      align(4, after: utf8.count + 1)
      reserve(1)
      head -= 1
      bytes[head] = 0
      push(UnsafeRawBufferPointer(utf8))
      push(number: UInt32(utf8.count))
      return Offset(offset: UInt32(used))
    }
  }

  /// Writes a vector of numbers.
  public mutating func createVector<T: FixedWidthInteger>(_ elements: [T]) -> Offset {
    vector(of: elements)
  }

  /// Writes a vector of floats.
  public mutating func createVector<T: BinaryFloatingPoint>(_ elements: [T]) -> Offset {
    vector(of: elements)
  }

  /// Writes a vector of booleans.
  public mutating func createVector(_ elements: [Bool]) -> Offset {
    vector(of: elements.map { $0 ? UInt8(1) : 0 })
  }

  private mutating func vector<T>(of elements: [T]) -> Offset {
    let size = MemoryLayout<T>.stride
    align(4, after: elements.count * size)
    align(size, after: elements.count * size)
    elements.withUnsafeBytes { push($0) }
    push(number: UInt32(elements.count))
    return Offset(offset: UInt32(used))
  }

  /// Writes a vector of references to strings, tables or members of unions.
  public mutating func createVector(ofOffsets offsets: [Offset]) -> Offset {
    align(4, after: offsets.count * 4)
    for offset in offsets.reversed() {
      push(reference: offset)
    }
    push(number: UInt32(offsets.count))
    return Offset(offset: UInt32(used))
  }

  /// Writes a vector of structs, in their order.
  public mutating func createVector<T>(
    ofStructs elements: [T], size: Int, alignment: Int, write: (T, _StructWriter) -> Void
  ) -> Offset {
    let total = elements.count * size
    align(4, after: total)
    align(alignment, after: total)
    reserve(total)
    head -= total
    bytes.withUnsafeMutableBytes { target in
      let start = UnsafeMutableRawBufferPointer(rebasing: target[head..<(head + total)])
      start.initializeMemory(as: UInt8.self, repeating: 0)
      for (index, element) in elements.enumerated() {
        write(element, _StructWriter(start: start.baseAddress! + index * size))
      }
    }
    push(number: UInt32(elements.count))
    return Offset(offset: UInt32(used))
  }

  /// Writes a struct, to which a table or a union refers.
  public mutating func create(
    structSize size: Int, alignment: Int, write: (_StructWriter) -> Void
  ) -> Offset {
    align(alignment, after: size)
    reserve(size)
    head -= size
    bytes.withUnsafeMutableBytes { target in
      let start = UnsafeMutableRawBufferPointer(rebasing: target[head..<(head + size)])
      start.initializeMemory(as: UInt8.self, repeating: 0)
      write(_StructWriter(start: start.baseAddress!))
    }
    return Offset(offset: UInt32(used))
  }

  // MARK: Tables

  /// Begins a table. Everything that it refers to must be written before.
  public mutating func startTable(with fieldCount: Int) -> UInt32 {
    fields.removeAll(keepingCapacity: true)
    openTable = used
    return UInt32(used)
  }

  /// Adds a number to the open table, unless it is the default.
  public mutating func add<T: FixedWidthInteger>(element: T, def: T, at position: UInt16) {
    guard element != def || serializesDefaults else { return }
    push(number: element)
    fields.append((position, used))
  }

  /// Adds a float to the open table, unless it has the bits of the default.
  public mutating func add<T: BinaryFloatingPoint>(element: T, def: T, at position: UInt16) {
    let same = element == def && element.sign == def.sign || element.isNaN && def.isNaN
    guard !same || serializesDefaults else { return }
    push(number: element)
    fields.append((position, used))
  }

  /// Adds a boolean to the open table, unless it is the default.
  public mutating func add(element: Bool, def: Bool, at position: UInt16) {
    add(element: UInt8(element ? 1 : 0), def: UInt8(def ? 1 : 0), at: position)
  }

  /// Adds a number to the open table, if there is one.
  public mutating func add<T: FixedWidthInteger>(element: T?, at position: UInt16) {
    guard let element = element else { return }
    push(number: element)
    fields.append((position, used))
  }

  /// Adds a float to the open table, if there is one.
  public mutating func add<T: BinaryFloatingPoint>(element: T?, at position: UInt16) {
    guard let element = element else { return }
    push(number: element)
    fields.append((position, used))
  }

  /// Adds a boolean to the open table, if there is one.
  public mutating func add(element: Bool?, at position: UInt16) {
    add(element: element.map { UInt8($0 ? 1 : 0) }, at: position)
  }

  /// Adds a reference to the open table, unless there is no value.
  public mutating func add(offset: Offset, at position: UInt16) {
    guard !offset.isEmpty else { return }
    push(reference: offset)
    fields.append((position, used))
  }

  /// Adds a struct to the open table.
  public mutating func add(
    structSize size: Int, alignment: Int, at position: UInt16, write: (_StructWriter) -> Void
  ) {
    _ = create(structSize: size, alignment: alignment, write: write)
    fields.append((position, used))
  }

  /// Ends the open table.
  public mutating func endTable(at startOffset: UInt32) -> Offset {
    push(number: Int32(0))
    let table = used
    let length = (fields.map { Int($0.at) + 2 }.max() ?? 4)
    var vtable = [UInt16](repeating: 0, count: length / 2)
    vtable[0] = UInt16(length)
    vtable[1] = UInt16(table - openTable)
    for field in fields {
      vtable[Int(field.at) / 2] = UInt16(table - field.offset)
    }
    align(2, after: length)
    vtable.withUnsafeBytes { push($0) }
    let distance = Int32(used - table)
    let position = bytes.count - table
    Swift.withUnsafeBytes(of: distance) { source in
      for index in 0..<4 {
        bytes[position + index] = source[index]
      }
    }
    return Offset(offset: UInt32(table))
  }

  /// Ends the payload with its root.
  public mutating func finish(offset: Offset, addPrefix prefix: Bool = false) {
    align(max(alignment, 4), after: prefix ? 8 : 4)
    push(reference: offset)
    if prefix {
      push(number: UInt32(used))
    }
  }
}

/// The place of a struct in a payload.
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
    withUnsafeBytes(of: value) { (start + offset).copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
  }

  /// Writes a float.
  public func put<T: BinaryFloatingPoint>(_ value: T, at offset: Int) {
    withUnsafeBytes(of: value) { (start + offset).copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
  }

  /// Writes a boolean.
  public func put(_ value: Bool, at offset: Int) {
    put(UInt8(value ? 1 : 0), at: offset)
  }
}
