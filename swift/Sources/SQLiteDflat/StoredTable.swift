import Dflat
import DflatC
import Foundation

/// The description of a stored type, which is kept for as long as the program runs. For generated
/// code.
public struct _StoredTable: @unchecked Sendable {
  /// How the library assigns the key of a new object.
  public enum AutoKey: Int32 {
    case none = 0
    case increasing = 1
    case uuid = 2
  }

  @usableFromInline let pointer: OpaquePointer

  /// Creates the description of its bytes in base 64.
  public init(autoKey: AutoKey, descriptor: String) {
    guard let bytes = Data(base64Encoded: descriptor) else {
      fatalError("generated code is damaged: a descriptor is not in base 64")
    }
    do {
      var made: OpaquePointer?
      try bytes.withUnsafeBytes { bytes in
        try call { dflat_table_new(bytes.lent, autoKey.rawValue, &made, $0) }
      }
      guard let made = made else { fatalError("the library made no table") }
      pointer = made
    } catch {
      fatalError("generated code does not fit the library: \(error)")
    }
  }
}

/// An object that the engine holds, with a count of its own. For generated code.
@frozen
public struct _StoredView {
  @usableFromInline let view: dflat_view
}

/// Where an object is read from: its payload, and its place there. For generated code.
///
/// An object has this part in itself, which takes no allocation and no count of references of its
/// own. The object releases it when it ends.
@frozen
public struct _StoredPart: @unchecked Sendable {
  @usableFromInline let start: UnsafeRawPointer
  @usableFromInline let count: Int
  /// The positions of the object's table and of its vtable, and the vtable's length.
  @usableFromInline let position: Int
  @usableFromInline let vtable: Int
  @usableFromInline let fieldsEnd: Int
  /// The object of the engine, which owns the payload; none if the engine has not read this one.
  @usableFromInline let object: dflat_object
  /// The number of the row that the engine has read, or -1.
  public let rowid: Int64
  /// The owner of the payload, if the engine is not.
  @usableFromInline let owner: AnyObject?

  /// The part of an object of values, which is not read from anywhere.
  @inlinable
  public init() {
    start = UnsafeRawPointer(bitPattern: MemoryLayout<UInt64>.alignment).unsafelyUnwrapped
    (count, position, vtable, fieldsEnd) = (0, 0, 0, 0)
    (object, rowid, owner) = (dflat_object(), -1, nil)
  }

  /// The part of an object that is read from a place of another payload.
  public init(_ place: _PayloadReader) {
    let bytes = place.payload.bytes
    start = bytes.baseAddress.unsafelyUnwrapped
    count = bytes.count
    (position, vtable, fieldsEnd) = (place.position, place.vtable, place.fieldsEnd)
    (object, rowid, owner) = (dflat_object(), -1, place.payload.owner)
  }

  /// The part of an object of the engine; takes its count.
  @inlinable
  public init(_ stored: _StoredView) {
    let view = stored.view
    start = UnsafeRawPointer(view.payload).unsafelyUnwrapped
    count = view.length
    (position, vtable, fieldsEnd) = _PayloadReader.root(of: start, count: view.length)
    (object, rowid, owner) = (view.object, view.row_id, nil)
  }

  /// Releases the object of the engine; called when the object that has this part ends.
  @inlinable
  public func release() {
    if object.chunk != nil { _releaseObject(object) }
  }

  /// The place that an object with this part is read from. The place keeps the object.
  @inlinable
  public func place(of object: AnyObject) -> _PayloadReader {
    _PayloadReader(
      payload: _Payload(start: start, count: count, owner: object), position: position,
      vtable: vtable, fieldsEnd: fieldsEnd)
  }

  /// The bytes, which are valid as long as the object that has this part.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

  /// Whether the engine has read the object.
  var isKnown: Bool { object.chunk != nil }
}

@usableFromInline
func _releaseObject(_ object: dflat_object) {
  dflat_object_release(object)
}

extension dflat_view {
  /// Makes an object, which takes the count of the view's object.
  func atom(of type: any SQLiteAtom.Type, timestamp: Int64) -> Atom {
    type._make(_StoredView(view: self), timestamp)
  }
}

/// Makes objects of one type.
struct ObjectMaker<Element: Atom> {
  private let type: any SQLiteAtom.Type
  private let timestamp: Int64

  private init(_ type: any SQLiteAtom.Type, _ timestamp: Int64) {
    self.type = type
    self.timestamp = timestamp
  }

  init(timestamp: Int64) {
    self.init(Self.stored, timestamp)
  }

  /// As `init(timestamp:)`, with a number for the table.
  init(timestamp: (OpaquePointer) -> Int64) {
    let type = Self.stored
    self.init(type, timestamp(type._table.pointer))
  }

  /// The type as a stored one. The search takes longer than to make an object.
  private static var stored: any SQLiteAtom.Type {
    guard let type = Element.self as? any SQLiteAtom.Type else {
      preconditionFailure("\(Element.self) is not a stored type")
    }
    return type
  }

  var table: OpaquePointer { type._table.pointer }

  /// Makes an object of a view with a count of its own.
  func make(_ view: dflat_view) -> Element {
    unsafeDowncast(view.atom(of: type, timestamp: timestamp), to: Element.self)
  }

  /// Makes an object of a view that belongs to another owner.
  func copy(_ view: dflat_view) -> Element {
    dflat_object_retain(view.object)
    return make(view)
  }

  /// Makes an object of a view with a count of its own, or nil of no object.
  func optional(_ view: dflat_view) -> Element? {
    view.object.chunk == nil ? nil : make(view)
  }
}

extension ObjectMaker where Element: SQLiteAtom {
  /// Makes objects like the functions above, without a search for the type.
  init(ofStored timestamp: Int64) {
    self.init(Element.self, timestamp)
  }
}

extension Atom {
  /// The object as the engine knows it, if the engine has read it. It is valid as long as this one.
  var stored: dflat_object? {
    guard let part = (self as? any SQLiteAtom)?._stored, part.isKnown else { return nil }
    return part.object
  }
}

/// Calls a function with the values of a key.
func withKey<R>(_ key: [SQLiteBinding], _ body: ([dflat_value]) throws -> R) rethrows -> R {
  var texts: [UnsafeMutablePointer<UInt8>] = []
  defer { texts.forEach { $0.deallocate() } }
  let values = key.map { part -> dflat_value in
    var value = dflat_value()
    fill(&value, part, &texts)
    return value
  }
  return try body(values)
}

private func fill(
  _ value: inout dflat_value, _ part: Any, _ texts: inout [UnsafeMutablePointer<UInt8>]
) {
  switch part {
  case let part as String:
    let utf8 = Array(part.utf8)
    let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: max(utf8.count, 1))
    copy.update(from: utf8, count: utf8.count)
    texts.append(copy)
    value.kind = DFLAT_TEXT.code
    value.text = dflat_text(data: copy, length: utf8.count)
  case let part as Bool:
    value.kind = DFLAT_INTEGER.code
    value.integer = part ? 1 : 0
  case let part as Double:
    value.kind = DFLAT_FLOAT.code
    value.number = part
  case let part as Float:
    value.kind = DFLAT_FLOAT.code
    value.number = Double(part)
  case let part as any BinaryInteger:
    if let small = Int64(exactly: part) {
      value.kind = DFLAT_INTEGER.code
      value.integer = small
    } else {
      value.kind = DFLAT_UNSIGNED.code
      value.integer = Int64(truncatingIfNeeded: part)
    }
  case let part as any RawRepresentable: fill(&value, part.rawValue, &texts)
  default: value.kind = DFLAT_NULL.code
  }
}
