import Dflat
import DflatC
import Foundation

/// The result of a query as the engine holds it.
final class StoredResult: @unchecked Sendable {
  let handle: Handle
  /// The number of objects.
  let count: Int

  init(_ handle: Handle) throws {
    self.handle = handle
    var count = 0
    try call { dflat_result_count(handle.pointer, &count, $0) }
    self.count = count
  }

  /// The object at a position, with a count of its own. The views of all objects would be made in
  /// one allocation, which a subscriber that reads few of them does not need.
  func view(_ position: Int) -> dflat_view {
    var view = dflat_view()
    let code = dflat_result_view(handle.pointer, position, &view, nil)
    precondition(code == DFLAT_OK.code, "the result has no object at \(position)")
    return view
  }
}

/// A query, and the result of it that a `FetchedResult` has.
final class QueryOrigin<Element: Atom>: @unchecked Sendable {
  let parts: _QueryParts<Element>
  let query: Handle
  /// The result, if the engine has evaluated all of the query.
  let known: StoredResult?

  /// Whether the fetch has failed.
  let isFailed: Bool

  init(
    _ parts: _QueryParts<Element>, _ query: Handle, known: StoredResult?, isFailed: Bool = false
  ) {
    self.parts = parts
    self.query = query
    self.known = known
    self.isFailed = isFailed
  }

  /// The result that the engine has read, with the rest of the query applied.
  func result(_ stored: StoredResult, _ maker: ObjectMaker<Element>) -> FetchedResult<Element> {
    guard !parts.isWhole else {
      let origin = QueryOrigin(parts, query, known: stored)
      return FetchedResult(_count: stored.count, origin: origin) { maker.make(stored.view($0)) }
    }
    let objects = parts.apply((0..<stored.count).map { maker.make(stored.view($0)) })
    return FetchedResult(objects, origin: QueryOrigin(parts, query, known: nil))
  }
}

/// Makes queries of one type in a workspace.
final class SQLiteQueryBuilder<Element: Atom>: QueryBuilder<Element> {
  let workspace: SQLiteWorkspace
  private let snapshot: SQLiteSnapshot?

  init(_ workspace: SQLiteWorkspace, snapshot: SQLiteSnapshot? = nil) {
    self.workspace = workspace
    self.snapshot = snapshot
    super.init()
  }

  /// Calls a function with the state that this builder reads.
  func reading<T>(_ body: (dflat_source) throws -> T) throws -> T {
    guard let snapshot = snapshot else { return try workspace.reading(body) }
    return try body(
      dflat_source(workspace: nil, snapshot: snapshot.handle.pointer, transaction: nil))
  }

  private func timestamp(_ table: OpaquePointer) -> Int64 {
    snapshot?.timestamp ?? workspace.timestampToRead(table)
  }

  override func `where`<T: Expr & SQLiteExpr>(
    _ query: T, limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = []
  ) -> FetchedResult<Element> where T.ResultType == Bool, T.Element == Element {
    fetched(query, limit, orderBy)
  }

  override func all(
    limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = []
  ) -> FetchedResult<Element> {
    fetched(Optional<ValueOfAll>.none, limit, orderBy)
  }

  private typealias ValueOfAll = ValueExpr<Bool, Element>

  /// The result of a query. If the fetch fails, its error is reported, and the result is empty; a
  /// subscription to it follows the query.
  private func fetched<T: Expr>(
    _ condition: T?, _ limit: Limit, _ orders: [OrderBy<Element>]
  ) -> FetchedResult<Element> where T.ResultType == Bool, T.Element == Element {
    do {
      return try results(condition, limit, orders)
    } catch {
      workspace.report(error)
    }
    let made = try? query(condition, limit, orders)
    let origin = made.map { QueryOrigin($1, $0, known: nil, isFailed: true) }
    return FetchedResult([], origin: origin)
  }

  /// A query, and the parts of it that are evaluated in Swift.
  func query<T: Expr>(
    _ condition: T?, _ limit: Limit, _ orders: [OrderBy<Element>], offset: Int = 0
  ) throws -> (Handle, _QueryParts<Element>) where T.ResultType == Bool, T.Element == Element {
    let table = ObjectMaker<Element>(timestamp: -1).table
    let parts = _QueryParts(condition, limit: limit, orderBy: orders, offset: offset)
    do {
      return (try makeQuery(parts, table), parts)
    } catch let error as DflatError where error.code == DFLAT_INVALID_ARGUMENT.code {
      // The query is larger than one may be for the engine.
      let inSwift = _QueryParts(
        condition, limit: limit, orderBy: orders, offset: offset, inSwift: true)
      return (try makeQuery(inSwift, table), inSwift)
    }
  }

  func results<T: Expr>(
    _ condition: T?, _ limit: Limit, _ orders: [OrderBy<Element>], offset: Int = 0
  ) throws -> FetchedResult<Element> where T.ResultType == Bool, T.Element == Element {
    let maker = ObjectMaker<Element>(timestamp: timestamp)
    let (query, parts) = try query(condition, limit, orders, offset: offset)
    let stored = try reading { source in
      try StoredResult(
        Handle(release: dflat_result_release) { dflat_fetch(source, query.pointer, $0, $1) })
    }
    return QueryOrigin(parts, query, known: nil).result(stored, maker)
  }
}

/// Makes a query of its parts.
private func makeQuery<Element>(
  _ parts: _QueryParts<Element>, _ table: OpaquePointer
) throws -> Handle {
  try parts.encoded.withUnsafeBytes { bytes in
    try Handle(release: dflat_query_release) { dflat_query_new(table, bytes.lent, $0, $1) }
  }
}
