import Dflat
import DflatC
import FlatBuffers
import SQLite3

/// A connection to the file for the program's own statements.
///
/// The engine has connections of its own. This one is opened when it is used first. A statement sees
/// the commits so far, and not the changes of the running transaction. It may write as long as the
/// transaction has made no change; afterwards, SQLite refuses the write after 30 seconds.
public final class SQLiteConnection: @unchecked Sendable {
  private let filePath: String
  private var opened: OpaquePointer?
  private var statements: [String: OpaquePointer] = [:]

  private let report: (Error) -> Void

  init(filePath: String, report: @escaping (Error) -> Void) {
    self.filePath = filePath
    self.report = report
  }

  /// Reports the error of a call of SQLite.
  private func failed(_ action: String) {
    let cause = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
    report(DflatError(code: DFLAT_IO.code, message: "cannot \(action): \(cause)"))
  }

  /// The handle of SQLite; nil if the file cannot be opened.
  public var sqlite: OpaquePointer? {
    if opened == nil {
      // Opens a file that cannot be written for reading.
      if sqlite3_open_v2(filePath, &opened, SQLITE_OPEN_READWRITE, nil) != SQLITE_OK {
        failed("open a connection to the file \(filePath)")
        sqlite3_close_v2(opened)
        opened = nil
      } else {
        sqlite3_busy_timeout(opened, 30_000)
      }
    }
    return opened
  }

  /// Prepares a statement, or resets the one that was prepared before.
  public func prepareStatement(_ statement: String) -> OpaquePointer? {
    if let prepared = statements[statement] {
      sqlite3_reset(prepared)
      sqlite3_clear_bindings(prepared)
      return prepared
    }
    var prepared: OpaquePointer?
    guard let sqlite = sqlite else { return nil }
    guard sqlite3_prepare_v2(sqlite, statement, -1, &prepared, nil) == SQLITE_OK else {
      failed("prepare the statement `\(statement)`")
      return nil
    }
    statements[statement] = prepared
    return prepared
  }

  /// As `prepareStatement`.
  public func prepareStaticStatement(_ statement: StaticString) -> OpaquePointer? {
    prepareStatement(statement.description)
  }

  deinit {
    guard opened != nil else { return }
    statements.values.forEach { sqlite3_finalize($0) }
    sqlite3_close_v2(opened)
  }
}

extension SQLiteConnection {
  /// Does nothing: the engine knows the state of its indexes.
  public func clearIndexStatus(for table: String) {}

  /// The indexes of a table: the engine excludes incomplete ones from its plans by itself, so each
  /// is listed as complete.
  public func indexSurvey<S: Sequence>(_ existingIndexes: S, table: String) -> IndexSurvey
  where S.Element == String {
    var survey = IndexSurvey()
    survey.full = Set(existingIndexes)
    return survey
  }
}

/// An expression without its type.
public final class AnySQLiteExpr<ResultType, Element: Atom>: Expr, SQLiteExpr {
  private let base: any Expr & SQLiteExpr
  private let ofObject: (Element) -> ResultType?
  private let ofBytes: (ByteBuffer) -> ResultType?

  public init<T: Expr & SQLiteExpr>(_ base: T)
  where T.ResultType == ResultType, T.Element == Element {
    self.base = base
    ofObject = { base.evaluate(object: $0) }
    ofBytes = { base.evaluate(byteBuffer: $0) }
  }

  public func evaluate(object: Element) -> ResultType? { ofObject(object) }
  public func evaluate(byteBuffer: ByteBuffer) -> ResultType? { ofBytes(byteBuffer) }

  public func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness {
    base.canUsePartialIndex(indexSurvey)
  }

  public func existingIndex(_ existingIndexes: inout Set<String>) {
    base.existingIndex(&existingIndexes)
  }

  public func buildWhereQuery(
    indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32
  ) {
    base.buildWhereQuery(
      indexSurvey: indexSurvey, query: &query, parameterCount: &parameterCount)
  }

  public func bindWhereQuery(
    indexSurvey: IndexSurvey, query: OpaquePointer, parameterCount: inout Int32
  ) {
    base.bindWhereQuery(indexSurvey: indexSurvey, query: query, parameterCount: &parameterCount)
  }
}
