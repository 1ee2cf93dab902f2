import FlatBuffers

/// A type that a payload can be read as.
public protocol FlatBuffersDecodable {
  /// Reads the value at the reader's position of a buffer. A value that does not fit is absent.
  static func from(byteBuffer: ByteBuffer) -> Self
  /// Whether the bytes are a payload of this type: everything that the type reads lies in the bytes.
  /// Tables may nest 64 deep. A payload that shares parts so often that reading it takes more than
  /// 272 bytes for each of its bytes is refused, unless it takes less than 16 MiB. Strings are not
  /// checked to be UTF-8: wrong bytes are replaced when a string is read.
  static func verify(byteBuffer: ByteBuffer) -> Bool
  /// The version of the schema, the attribute `v` of the table.
  static var flatBuffersSchemaVersion: String? { get }
}

/// A type that can be written to a payload.
public protocol FlatBuffersEncodable {
  /// Writes the value, and returns its position.
  func to(flatBufferBuilder: inout FlatBufferBuilder) -> Offset
}

/// A type that is read from payloads and written to payloads.
public typealias FlatBuffersCodable = FlatBuffersDecodable & FlatBuffersEncodable

/// An object that is stored.
public protocol Atom: FlatBuffersDecodable, AnyObject {
  /// The number of the object's row; -1 for an object that was neither fetched, delivered nor
  /// returned by `submit`.
  var _rowid: Int64 { get set }
  /// The number of transactions of this workspace that were committed before the object was fetched.
  /// It is 0 if the running transaction has changed the table, and -1 if the object was not fetched.
  var _changesTimestamp: Int64 { get set }
}

/// Writes change requests. Only generated code uses it.
public protocol PersistenceToolbox {
  /// The address of a toolbox of this library, to use it without a search for its class and without
  /// a count of references; nil for a toolbox of another library.
  var _address: UnsafeRawPointer? { get }
}

extension PersistenceToolbox {
  public var _address: UnsafeRawPointer? { nil }
}

/// The result of a change.
public enum UpdatedObject {
  /// The object was inserted.
  case inserted(Atom)
  /// The object was changed.
  case updated(Atom)
  /// The object had these values already; nothing was written.
  case identity(Atom)
  /// The object in this row was deleted.
  case deleted(Int64)
}

/// One change of one object.
public protocol ChangeRequest {
  associatedtype Element: Atom
  /// Carries out the change; nil if it failed. `TransactionContext.submit` calls this.
  func commit(_: PersistenceToolbox) -> UpdatedObject?
}

/// The kind of a change.
public enum ChangeRequestType {
  case none
  case creation
  case update
  case deletion
}
