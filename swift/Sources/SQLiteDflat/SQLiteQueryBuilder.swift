import Dflat
import DflatC
import Foundation

/// The result of a query as the engine holds it.
final class StoredResult: @unchecked Sendable {
  let handle: Handle
  let views: UnsafeBufferPointer<dflat_view>

  init(_ handle: Handle) throws {
    self.handle = handle
    var first: UnsafePointer<dflat_view>?
    var count = 0
    try call { dflat_result_views(handle.pointer, &first, &count, $0) }
    views = UnsafeBufferPointer(start: first, count: count)
  }
}

/// A query, and the result of it that a `FetchedResult` has.
final class QueryOrigin<Element: Atom>: @unchecked Sendable {
  let parts: _QueryParts<Element>
  let query: Handle
  /// The result, if the engine has evaluated all of the query.
  let known: StoredResult?

  init(_ parts: _QueryParts<Element>, _ query: Handle, known: StoredResult?) {
    self.parts = parts
    self.query = query
    self.known = known
  }

  /// The result that the engine has read, with the rest of the query applied.
  func result(_ stored: StoredResult, _ maker: ObjectMaker<Element>) -> FetchedResult<Element> {
    let views = stored.views
    guard !parts.isWhole else {
      let origin = QueryOrigin(parts, query, known: stored)
      return FetchedResult(_count: views.count, origin: origin) { position in
        // The closure keeps `stored`, to which the views belong.
        maker.copy(stored.views[position])
      }
    }
    let objects = parts.apply(views.map { maker.copy($0) })
    return FetchedResult(objects, origin: QueryOrigin(parts, query, known: nil))
  }
}

/// Makes queries of one type in a workspace.
final class SQLiteQueryBuilder<Element: Atom>: QueryBuilder<Element> {
  private let workspace: SQLiteWorkspace

  init(_ workspace: SQLiteWorkspace) {
    self.workspace = workspace
    super.init()
  }

  override func `where`<T: Expr & SQLiteExpr>(
    _ query: T, limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = []
  ) -> FetchedResult<Element> where T.ResultType == Bool, T.Element == Element {
    reported { try results(query, limit, orderBy) }
  }

  override func all(
    limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = []
  ) -> FetchedResult<Element> {
    reported { try results(Optional<ValueOfAll>.none, limit, orderBy) }
  }

  private typealias ValueOfAll = ValueExpr<Bool, Element>

  private func reported(_ fetch: () throws -> FetchedResult<Element>) -> FetchedResult<Element> {
    do {
      return try fetch()
    } catch {
      workspace.report(error)
      return FetchedResult([])
    }
  }

  func results<T: Expr>(
    _ condition: T?, _ limit: Limit, _ orders: [OrderBy<Element>]
  ) throws -> FetchedResult<Element> where T.ResultType == Bool, T.Element == Element {
    let maker = ObjectMaker<Element>(timestamp: workspace.timestampToRead)
    var parts = _QueryParts(condition, limit: limit, orderBy: orders)
    let query: Handle
    do {
      query = try makeQuery(parts, maker.table)
    } catch let error as DflatError where error.code == DFLAT_INVALID_ARGUMENT.code {
      // The query is larger than one may be for the engine.
      parts = _QueryParts(condition, limit: limit, orderBy: orders, inSwift: true)
      query = try makeQuery(parts, maker.table)
    }
    let stored = try workspace.reading { source in
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

extension QueryBuilder {
  /// As `where`, but throws an error instead of giving an empty result.
  public func results<T: Expr & SQLiteExpr>(
    where query: T, limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = []
  ) throws -> FetchedResult<Element> where T.ResultType == Bool, T.Element == Element {
    guard let builder = self as? SQLiteQueryBuilder<Element> else {
      return self.where(query, limit: limit, orderBy: orderBy)
    }
    return try builder.results(query, limit, orderBy)
  }

  /// As `all`, but throws an error instead of giving an empty result.
  public func results(
    limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = []
  ) throws -> FetchedResult<Element> {
    guard let builder = self as? SQLiteQueryBuilder<Element> else {
      return all(limit: limit, orderBy: orderBy)
    }
    return try builder.results(Optional<ValueExpr<Bool, Element>>.none, limit, orderBy)
  }
}
