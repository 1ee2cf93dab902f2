import FlatBuffers

/// Whether a value is missing.
public struct IsNullExpr<T: Expr, Element>: Expr
where T.Element == Element {
  public typealias ResultType = Bool
  public typealias Element = Element
  let unary: T

  public func evaluate(object: Element) -> ResultType? {
    unary.evaluate(object: object) == nil
  }

  public func evaluate(byteBuffer: ByteBuffer) -> ResultType? {
    unary.evaluate(byteBuffer: byteBuffer) == nil
  }

  public func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness {
    whole(unary.canUsePartialIndex(indexSurvey))
  }

  public func existingIndex(_ existingIndexes: inout Set<String>) {
    unary.existingIndex(&existingIndexes)
  }
}

extension IsNullExpr: EngineExpression {
  func encodeCondition(_ bytes: inout QueryBytes) -> Bool {
    bytes.byte(3)
    return Dflat.encodeValue(unary, &bytes)
  }
}

extension IsNullExpr: SQLiteExpr where T: SQLiteExpr {
  public func buildWhereQuery(
    indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32
  ) {
    query.append("(")
    unary.buildWhereQuery(
      indexSurvey: indexSurvey, query: &query, parameterCount: &parameterCount)
    query.append(") ISNULL")
  }

  public func bindWhereQuery(
    indexSurvey: IndexSurvey, query: OpaquePointer, parameterCount: inout Int32
  ) {
    unary.bindWhereQuery(
      indexSurvey: indexSurvey, query: query, parameterCount: &parameterCount)
  }
}

extension Expr {
  /// Whether the value is missing.
  public var isNull: IsNullExpr<Self, Self.Element> { IsNullExpr(unary: self) }
}
