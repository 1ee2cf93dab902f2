import Dflat
import DflatC
import Foundation

/// The functions that the original does not have. Each throws its errors.
extension QueryBuilder {
  /// The builder of this library.
  private func builder() throws -> SQLiteQueryBuilder<Element> {
    guard let builder = self as? SQLiteQueryBuilder<Element> else {
      throw DflatError(
        code: DFLAT_INVALID_ARGUMENT.code, message: "the query was not made by a workspace")
    }
    return builder
  }

  /// As `where`, but throws an error instead of giving an empty result. Skips `offset` objects.
  public func results<T: Expr & SQLiteExpr>(
    where query: T, limit: Limit = .noLimit, offset: Int = 0, orderBy: [OrderBy<Element>] = []
  ) throws -> FetchedResult<Element> where T.ResultType == Bool, T.Element == Element {
    try builder().results(query, limit, orderBy, offset: offset)
  }

  /// As `all`, but throws an error instead of giving an empty result. Skips `offset` objects.
  public func results(
    limit: Limit = .noLimit, offset: Int = 0, orderBy: [OrderBy<Element>] = []
  ) throws -> FetchedResult<Element> {
    try builder().results(Optional<Everything>.none, limit, orderBy, offset: offset)
  }

  typealias Everything = ValueExpr<Bool, Element>

  /// The number of objects that meet a condition, without reading them where an index suffices.
  public func count<T: Expr & SQLiteExpr>(where query: T) throws -> Int
  where T.ResultType == Bool, T.Element == Element {
    try builder().count(query)
  }

  /// The number of all objects.
  public func count() throws -> Int { try builder().count(Optional<Everything>.none) }

  /// How a query would be run now, as a line of text.
  public func explain<T: Expr & SQLiteExpr>(
    where query: T, limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = []
  ) throws -> String where T.ResultType == Bool, T.Element == Element {
    try builder().explain(query, limit, orderBy)
  }

  /// The exact sum of a field of whole numbers; nil if no object has a value. A sum that is no
  /// `Int64` is an error.
  public func sum<N: BinaryInteger, T: Expr & SQLiteExpr>(
    of field: FieldExpr<N, Element>, where query: T
  ) throws -> Int64? where T.ResultType == Bool, T.Element == Element {
    try builder().aggregate(DFLAT_SUM.code, field._schemaName, query)
  }

  /// The exact sum of a field of whole numbers; nil if no object has a value. A sum that is no
  /// `Int64` is an error.
  public func sum<N: BinaryInteger>(of field: FieldExpr<N, Element>) throws -> Int64? {
    try builder().aggregate(DFLAT_SUM.code, field._schemaName, Optional<Everything>.none)
  }

  /// The sum of a field, rounded once; nil if no object has a value.
  public func sum<N: BinaryFloatingPoint, T: Expr & SQLiteExpr>(
    of field: FieldExpr<N, Element>, where query: T
  ) throws -> Double? where T.ResultType == Bool, T.Element == Element {
    try builder().aggregate(DFLAT_SUM.code, field._schemaName, query)
  }

  /// The sum of a field, rounded once; nil if no object has a value.
  public func sum<N: BinaryFloatingPoint>(of field: FieldExpr<N, Element>) throws -> Double? {
    try builder().aggregate(DFLAT_SUM.code, field._schemaName, Optional<Everything>.none)
  }

  /// The mean of a field; nil if no object has a value.
  public func mean<N: DflatFriendlyValue, T: Expr & SQLiteExpr>(
    of field: FieldExpr<N, Element>, where query: T
  ) throws -> Double? where T.ResultType == Bool, T.Element == Element {
    try builder().aggregate(DFLAT_MEAN.code, field._schemaName, query)
  }

  /// The mean of a field; nil if no object has a value.
  public func mean<N: DflatFriendlyValue>(of field: FieldExpr<N, Element>) throws -> Double? {
    try builder().aggregate(DFLAT_MEAN.code, field._schemaName, Optional<Everything>.none)
  }

  /// The smallest value of a field; nil if no object has a value.
  public func smallest<N: DflatFriendlyValue, T: Expr & SQLiteExpr>(
    of field: FieldExpr<N, Element>, where query: T
  ) throws -> N? where T.ResultType == Bool, T.Element == Element {
    try builder().aggregate(DFLAT_SMALLEST.code, field._schemaName, query)
  }

  /// The smallest value of a field; nil if no object has a value.
  public func smallest<N: DflatFriendlyValue>(of field: FieldExpr<N, Element>) throws -> N? {
    try builder().aggregate(DFLAT_SMALLEST.code, field._schemaName, Optional<Everything>.none)
  }

  /// The largest value of a field; nil if no object has a value.
  public func largest<N: DflatFriendlyValue, T: Expr & SQLiteExpr>(
    of field: FieldExpr<N, Element>, where query: T
  ) throws -> N? where T.ResultType == Bool, T.Element == Element {
    try builder().aggregate(DFLAT_LARGEST.code, field._schemaName, query)
  }

  /// The largest value of a field; nil if no object has a value.
  public func largest<N: DflatFriendlyValue>(of field: FieldExpr<N, Element>) throws -> N? {
    try builder().aggregate(DFLAT_LARGEST.code, field._schemaName, Optional<Everything>.none)
  }
}

extension SQLiteQueryBuilder {
  func count<T: Expr>(_ condition: T?) throws -> Int
  where T.ResultType == Bool, T.Element == Element {
    let (query, parts) = try query(condition, .noLimit, [])
    guard parts.isWhole else { return try results(condition, .noLimit, []).count }
    return try reading { source in
      var count: UInt64 = 0
      try call { dflat_count(source, query.pointer, &count, $0) }
      return Int(clamping: count)
    }
  }

  func explain<T: Expr>(
    _ condition: T?, _ limit: Limit, _ orders: [OrderBy<Element>]
  ) throws -> String where T.ResultType == Bool, T.Element == Element {
    let (query, parts) = try query(condition, limit, orders)
    let text = try reading { source in
      try Handle(release: dflat_buffer_release) { dflat_explain(source, query.pointer, $0, $1) }
    }
    return parts.isWhole ? text.text : text.text + "; the rest is evaluated in Swift"
  }

  func aggregate<T: Expr, N>(_ aggregate: Int32, _ field: String?, _ condition: T?) throws -> N?
  where T.ResultType == Bool, T.Element == Element {
    let (query, parts) = try query(condition, .noLimit, [])
    guard parts.isWhole, let field = field else {
      throw DflatError(
        code: DFLAT_INVALID_ARGUMENT.code,
        message: "cannot compute a value of \(Element.self): a field is evaluated in Swift")
    }
    return try reading { source in
      var value = dflat_value()
      var text: OpaquePointer?
      try field.withText { field in
        try call {
          dflat_aggregate(source, query.pointer, aggregate, field, &value, &text, $0)
        }
      }
      let kept = text.map { Handle($0, release: dflat_buffer_release) }
      if value.kind == DFLAT_NULL.code { return nil }
      guard let result: N = decoded(value, kept?.text ?? "") else {
        throw DflatError(
          code: DFLAT_INVALID_ARGUMENT.code,
          message: "cannot compute a value of \(Element.self): the value of \(field) is no \(N.self)")
      }
      return result
    }
  }
}

/// A value as the type of a field.
private func decoded<N>(_ value: dflat_value, _ text: String) -> N? {
  if N.self == String.self { return text as? N }
  if N.self == Bool.self { return (value.integer != 0) as? N }
  if let type = N.self as? any BinaryInteger.Type { return whole(value, type).flatMap { $0 as? N } }
  if let type = N.self as? any BinaryFloatingPoint.Type { return number(value, type) as? N }
  if let type = N.self as? any RawRepresentable.Type { return named(value, text, type) as? N }
  return nil
}

private func whole<I: BinaryInteger>(_ value: dflat_value, _: I.Type) -> I? {
  value.kind == DFLAT_UNSIGNED.code
    ? I(exactly: UInt64(bitPattern: value.integer)) : I(exactly: value.integer)
}

private func number<F: BinaryFloatingPoint>(_ value: dflat_value, _: F.Type) -> F {
  F(value.kind == DFLAT_FLOAT.code ? value.number : Double(value.integer))
}

private func named<R: RawRepresentable>(_ value: dflat_value, _ text: String, _: R.Type) -> R? {
  let raw: R.RawValue? = decoded(value, text)
  return raw.flatMap(R.init(rawValue:))
}

extension Handle {
  /// The text of a buffer.
  var text: String {
    var bytes = dflat_bytes()
    _ = dflat_buffer_bytes(pointer, &bytes)
    return String(bytes)
  }
}
