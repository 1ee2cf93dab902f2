import FlatBuffers

/// Whether there is a value.
public struct IsNotNullExpr<T: Expr, Element>: Expr
where T.Element == Element {
  public typealias ResultType = Bool
  public typealias Element = Element
  let unary: T

  public func evaluate(object: Element) -> ResultType? {
    unary.evaluate(object: object) != nil
  }

  public func evaluate(byteBuffer: ByteBuffer) -> ResultType? {
    unary.evaluate(byteBuffer: byteBuffer) != nil
  }

  public func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness {
    whole(unary.canUsePartialIndex(indexSurvey))
  }

  public func existingIndex(_ existingIndexes: inout Set<String>) {
    unary.existingIndex(&existingIndexes)
  }
}

extension IsNotNullExpr: EngineExpression {
  func encodeCondition(_ bytes: inout QueryBytes) -> Bool {
    bytes.byte(8)
    bytes.byte(3)
    return Dflat.encodeValue(unary, &bytes)
  }
}

extension IsNotNullExpr: SQLiteExpr where T: SQLiteExpr {
  public func buildWhereQuery(
    indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32
  ) {
    query.append("(")
    unary.buildWhereQuery(
      indexSurvey: indexSurvey, query: &query, parameterCount: &parameterCount)
    query.append(") NOTNULL")
  }

  public func bindWhereQuery(
    indexSurvey: IndexSurvey, query: OpaquePointer, parameterCount: inout Int32
  ) {
    unary.bindWhereQuery(
      indexSurvey: indexSurvey, query: query, parameterCount: &parameterCount)
  }
}

extension Expr {
  /// Whether there is a value.
  public var isNotNull: IsNotNullExpr<Self, Self.Element> { IsNotNullExpr(unary: self) }
}
