import Foundation

/// The memory of a builder. Copies of a builder share it until one of them writes.
@usableFromInline
final class BuilderMemory: @unchecked Sendable {
  @usableFromInline let start: UnsafeMutableRawPointer
  @usableFromInline let count: Int

  init(count: Int) {
    self.count = count
    start = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 8)
  }

  /// The memory of builders to which nothing was written. It is never unique, so a builder that
  /// writes gets memory of its own.
  static let empty = BuilderMemory(count: 0)

  deinit {
    start.deallocate()
  }
}

/// Builds a payload, from its end to its beginning: values that others refer to come first.
@frozen
public struct FlatBufferBuilder {
  @usableFromInline var memory: BuilderMemory
  /// The least size of new memory.
  @usableFromInline let sizeMin: Int
  /// The bytes so far are those from here to the end of the memory.
  @usableFromInline var head: Int
  /// The largest alignment of a value so far.
  @usableFromInline var alignment = 1
  /// The fields of the open table: vtable offset and position from the end. The first `fieldCount`
  /// ones are in use, so that the next table needs no new memory.
  @usableFromInline var fields: [(at: UInt16, offset: Int)] = []
  @usableFromInline var fieldCount = 0
  @usableFromInline var openTable = 0

  /// Creates an empty builder, which will have room for so many bytes, or more if it needs more.
  public init(initialSize: Int32 = 1024, serializeDefaults: Bool = false) {
    memory = .empty
    sizeMin = Int(initialSize)
    head = 0
    serializesDefaults = serializeDefaults
  }

  @usableFromInline let serializesDefaults: Bool

  /// The number of bytes so far.
  @inlinable
  public var size: UInt32 { UInt32(used) }

  @inlinable
  var used: Int { memory.count &- head }

  /// Removes everything, and keeps the memory.
  public mutating func clear() {
    head = memory.count
    alignment = 1
    fieldCount = 0
  }

  /// The bytes so far.
  public var sizedByteArray: [UInt8] { withUnsafeBytes { Array($0) } }

  /// The bytes so far.
  public var data: Data { withUnsafeBytes { Data($0) } }

  /// A copy of the bytes so far.
  public var sizedBuffer: ByteBuffer { ByteBuffer(bytes: sizedByteArray) }

  /// The same as `sizedBuffer`.
  public var buffer: ByteBuffer { sizedBuffer }

  /// Calls a function with the bytes so far.
  public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try withExtendedLifetime(memory) {
      try body(UnsafeRawBufferPointer(start: memory.start + head, count: used))
    }
  }

  /// Makes room for `count` more bytes in memory that no copy of this builder has.
  @inlinable
  mutating func reserve(_ count: Int) {
    if head < count || !isKnownUniquelyReferenced(&memory) { replaceMemory(for: count) }
  }

  @usableFromInline
  mutating func replaceMemory(for count: Int) {
    let kept = used
    let grown = memory.count * (head < count ? 2 : 1)
    let larger = BuilderMemory(count: max(grown, kept + count + 16, sizeMin))
    (larger.start + (larger.count - kept)).copyMemory(from: memory.start + head, byteCount: kept)
    head = larger.count - kept
    memory = larger
  }

  /// Adds zeros so that the payload is aligned after `count` more bytes, for which there is room
  /// then.
  @inlinable
  mutating func align(_ to: Int, after count: Int = 0) {
    alignment = max(alignment, to)
    let padding = -(used + count) & (to - 1)
    reserve(padding + count)
    pushZeros(padding)
  }

  /// Adds zeros, for which there is room.
  @inlinable
  mutating func pushZeros(_ count: Int) {
    guard count > 0 else { return }
    head &-= count
    (memory.start + head).initializeMemory(as: UInt8.self, repeating: 0, count: count)
  }

  /// Adds zeros so that the payload is aligned after `count` more bytes.
  @inlinable
  public mutating func _align(_ to: Int, after count: Int) {
    align(to, after: count)
  }

  /// Writes a number, and returns its position.
  @discardableResult
  @inlinable
  public mutating func push<T: FixedWidthInteger>(element: T) -> UInt32 {
    push(number: element)
    return size
  }

  /// Writes bytes, for which there is room.
  @inlinable
  mutating func push(_ source: UnsafeRawBufferPointer) {
    guard let start = source.baseAddress else { return }
    head &-= source.count
    (memory.start + head).copyMemory(from: start, byteCount: source.count)
  }

  @inlinable
  mutating func push<T>(number: T) {
    align(MemoryLayout<T>.size, after: MemoryLayout<T>.size)
    Swift.withUnsafeBytes(of: number) { push($0) }
  }

  /// Writes a number to its place, which is aligned and for which there is room.
  @inlinable
  mutating func put<T>(number: T) {
    head &-= MemoryLayout<T>.size
    (memory.start + head).storeBytes(of: number, as: T.self)
  }

  @inlinable
  mutating func push(reference offset: Offset) {
    align(4, after: 4)
    put(number: UInt32(used + 4) &- offset.o)
  }

  // MARK: Strings and vectors

  /// Writes a string; no string has no position.
  @inlinable
  public mutating func create(string text: String?) -> Offset {
    guard var text = text else { return Offset() }
    return text.withUTF8 { utf8 in
      // The length comes before the string, the byte that ends the string after it.
      align(4, after: utf8.count + 5)
      pushZeros(1)
      push(UnsafeRawBufferPointer(utf8))
      put(number: UInt32(utf8.count))
      return Offset(offset: UInt32(used))
    }
  }

  /// Writes a vector of numbers.
  @inlinable
  public mutating func createVector<T: FixedWidthInteger>(_ elements: [T]) -> Offset {
    vector(of: elements)
  }

  /// Writes a vector of floats.
  @inlinable
  public mutating func createVector<T: BinaryFloatingPoint>(_ elements: [T]) -> Offset {
    vector(of: elements)
  }

  /// Writes a vector of booleans.
  @inlinable
  public mutating func createVector(_ elements: [Bool]) -> Offset {
    vector(of: elements.map { $0 ? UInt8(1) : 0 })
  }

  @inlinable
  mutating func vector<T>(of elements: [T]) -> Offset {
    let size = MemoryLayout<T>.stride
    align(4, after: elements.count * size)
    align(size, after: elements.count * size)
    elements.withUnsafeBytes { push($0) }
    push(number: UInt32(elements.count))
    return Offset(offset: UInt32(used))
  }

  /// Writes a vector of references to strings, tables or members of unions.
  @inlinable
  public mutating func createVector(ofOffsets offsets: [Offset]) -> Offset {
    align(4, after: offsets.count * 4)
    for offset in offsets.reversed() {
      push(reference: offset)
    }
    push(number: UInt32(offsets.count))
    return Offset(offset: UInt32(used))
  }

  /// Writes a vector of strings.
  @inlinable
  public mutating func createVector(ofStrings texts: [String]) -> Offset {
    var offsets: [Offset] = []
    for text in texts {
      offsets.append(create(string: text))
    }
    return createVector(ofOffsets: offsets)
  }

  // MARK: Tables

  /// Begins a table. Everything that it refers to must be written before.
  public mutating func startTable(with fieldCount: Int) -> UInt32 {
    self.fieldCount = 0
    openTable = used
    return UInt32(used)
  }

  /// Notes that the value which was written last is a field of the open table.
  @inlinable
  mutating func addField(_ position: UInt16) {
    if fieldCount < fields.count {
      fields[fieldCount] = (position, used)
    } else {
      fields.append((position, used))
    }
    fieldCount += 1
  }

  /// Adds a number to the open table, unless it is the default.
  @inlinable
  public mutating func add<T: FixedWidthInteger>(element: T, def: T, at position: UInt16) {
    guard element != def || serializesDefaults else { return }
    push(number: element)
    addField(position)
  }

  /// Adds a float to the open table, unless it equals the default: 0.0 and -0.0 differ, and any NaN
  /// equals a default that is NaN.
  @inlinable
  public mutating func add<T: BinaryFloatingPoint>(element: T, def: T, at position: UInt16) {
    let same = element == def && element.sign == def.sign || element.isNaN && def.isNaN
    guard !same || serializesDefaults else { return }
    push(number: element)
    addField(position)
  }

  /// Adds a boolean to the open table, unless it is the default.
  @inlinable
  public mutating func add(element: Bool, def: Bool, at position: UInt16) {
    add(element: UInt8(element ? 1 : 0), def: UInt8(def ? 1 : 0), at: position)
  }

  /// Adds a number to the open table, if there is one.
  @inlinable
  public mutating func add<T: FixedWidthInteger>(element: T?, at position: UInt16) {
    guard let element = element else { return }
    push(number: element)
    addField(position)
  }

  /// Adds a float to the open table, if there is one.
  @inlinable
  public mutating func add<T: BinaryFloatingPoint>(element: T?, at position: UInt16) {
    guard let element = element else { return }
    push(number: element)
    addField(position)
  }

  /// Adds a boolean to the open table, if there is one.
  @inlinable
  public mutating func add(element: Bool?, at position: UInt16) {
    add(element: element.map { UInt8($0 ? 1 : 0) }, at: position)
  }

  /// Adds a reference to the open table, unless there is no value.
  @inlinable
  public mutating func add(offset: Offset, at position: UInt16) {
    guard !offset.isEmpty else { return }
    push(reference: offset)
    addField(position)
  }

  /// Ends the open table, and returns its position.
  public mutating func endTable(at startOffset: UInt32) -> UInt32 {
    push(number: Int32(0))
    let (table, start) = (used, openTable)
    var length = 4
    for field in fields.prefix(fieldCount) { length = max(length, Int(field.at) + 2) }
    align(2, after: length)
    pushZeros(length)
    let vtable = memory.start + head
    vtable.storeBytes(of: UInt16(length), toByteOffset: 0, as: UInt16.self)
    vtable.storeBytes(of: UInt16(table - start), toByteOffset: 2, as: UInt16.self)
    for field in fields.prefix(fieldCount) {
      vtable.storeBytes(
        of: UInt16(table - field.offset), toByteOffset: Int(field.at), as: UInt16.self)
    }
    let distance = Int32(used - table)
    memory.start.storeBytes(of: distance, toByteOffset: memory.count - table, as: Int32.self)
    return UInt32(table)
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
