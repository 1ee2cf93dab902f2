import Dflat
import FlatBuffers

/// A type whose objects are stored. Only generated code conforms to it.
public protocol SQLiteAtom {
  /// The name of the storage table.
  static var table: String { get }
  /// The columns of the indexes.
  static var indexFields: [String] { get }
  /// The description of the type, which the engine reads.
  static var _table: StoredTable { get }
  /// Makes an object of a payload.
  init(_ place: PayloadReader)
  /// The bytes of an object that was read from a payload.
  var _payload: Payload? { get }
  /// The values of the primary key, in the order of the schema.
  var _primaryKey: [SQLiteBinding] { get }
}

extension SQLiteAtom {
  /// Does nothing: the engine creates tables and indexes.
  public static func setUpSchema(_ toolbox: PersistenceToolbox) {}

  /// Does nothing: the engine writes index entries.
  public static func insertIndex(
    _ toolbox: PersistenceToolbox, field: String, rowid: Int64, table: ByteBuffer
  ) -> Bool { true }
}
