import Dflat
import SQLite3

extension Bool: SQLiteValue {
  public func bindSQLite(_ query: OpaquePointer, parameterId: Int32) {
    sqlite3_bind_int(query, parameterId, self ? 1 : 0)
  }
}

extension Int8: SQLiteValue {
  public func bindSQLite(_ query: OpaquePointer, parameterId: Int32) {
    sqlite3_bind_int64(query, parameterId, Int64(truncatingIfNeeded: self))
  }
}

extension UInt8: SQLiteValue {
  public func bindSQLite(_ query: OpaquePointer, parameterId: Int32) {
    sqlite3_bind_int64(query, parameterId, Int64(truncatingIfNeeded: self))
  }
}

extension Int16: SQLiteValue {
  public func bindSQLite(_ query: OpaquePointer, parameterId: Int32) {
    sqlite3_bind_int64(query, parameterId, Int64(truncatingIfNeeded: self))
  }
}

extension UInt16: SQLiteValue {
  public func bindSQLite(_ query: OpaquePointer, parameterId: Int32) {
    sqlite3_bind_int64(query, parameterId, Int64(truncatingIfNeeded: self))
  }
}

extension Int32: SQLiteValue {
  public func bindSQLite(_ query: OpaquePointer, parameterId: Int32) {
    sqlite3_bind_int64(query, parameterId, Int64(truncatingIfNeeded: self))
  }
}

extension UInt32: SQLiteValue {
  public func bindSQLite(_ query: OpaquePointer, parameterId: Int32) {
    sqlite3_bind_int64(query, parameterId, Int64(truncatingIfNeeded: self))
  }
}

extension Int64: SQLiteValue {
  public func bindSQLite(_ query: OpaquePointer, parameterId: Int32) {
    sqlite3_bind_int64(query, parameterId, Int64(truncatingIfNeeded: self))
  }
}

extension UInt64: SQLiteValue {
  public func bindSQLite(_ query: OpaquePointer, parameterId: Int32) {
    sqlite3_bind_int64(query, parameterId, Int64(truncatingIfNeeded: self))
  }
}

extension Float: SQLiteValue {
  public func bindSQLite(_ query: OpaquePointer, parameterId: Int32) {
    sqlite3_bind_double(query, parameterId, Double(self))
  }
}

extension Double: SQLiteValue {
  public func bindSQLite(_ query: OpaquePointer, parameterId: Int32) {
    sqlite3_bind_double(query, parameterId, Double(self))
  }
}

extension String: SQLiteValue {
  public func bindSQLite(_ query: OpaquePointer, parameterId: Int32) {
    sqlite3_bind_text(query, parameterId, self, Int32(utf8.count), transient)
  }
}

/// Lets SQLite copy a text.
private var transient: sqlite3_destructor_type {
  unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}
