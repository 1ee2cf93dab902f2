import Dflat
import DflatC
import Foundation

/// The description of a stored type. For generated code.
public final class _StoredTable: @unchecked Sendable {
  /// How the library assigns the key of a new object.
  public enum AutoKey: Int32 {
    case none = 0
    case increasing = 1
    case uuid = 2
  }

  let handle: Handle

  /// Creates the description of its bytes in base 64.
  public init(autoKey: AutoKey, descriptor: String) {
    guard let bytes = Data(base64Encoded: descriptor) else {
      fatalError("generated code is damaged: a descriptor is not in base 64")
    }
    do {
      handle = try bytes.withUnsafeBytes { bytes in
        try Handle(release: dflat_table_release) {
          dflat_table_new(bytes.lent, autoKey.rawValue, $0, $1)
        }
      }
    } catch {
      fatalError("generated code does not fit the library: \(error)")
    }
  }
}

/// The payload of an object that the engine holds.
final class StoredPayload: _Payload, @unchecked Sendable {
  let object: dflat_object
  /// The number of the object's row.
  let rowid: Int64

  /// Takes the count of a view's object.
  init(_ view: dflat_view) {
    object = view.object
    rowid = view.row_id
    super.init(start: UnsafeRawPointer(view.payload), count: view.length, owner: nil)
  }

  deinit {
    dflat_object_release(object)
  }
}

extension dflat_view {
  /// Makes an object, which takes the count of the view's object.
  func atom(of type: any SQLiteAtom.Type, timestamp: Int64) -> Atom {
    type._make(_PayloadReader(root: StoredPayload(self)), row_id, timestamp)
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
    self.init(type, timestamp(type._table.handle.pointer))
  }

  /// The type as a stored one. The search takes longer than to make an object.
  private static var stored: any SQLiteAtom.Type {
    guard let type = Element.self as? any SQLiteAtom.Type else {
      preconditionFailure("\(Element.self) is not a stored type")
    }
    return type
  }

  var table: OpaquePointer { type._table.handle.pointer }

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
  /// The object as the engine knows it, if the engine has read it.
  var stored: StoredPayload? { (self as? any SQLiteAtom)?._payload as? StoredPayload }
}

extension Atom where Self: SQLiteAtom {
  var stored: StoredPayload? { _payload as? StoredPayload }
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
