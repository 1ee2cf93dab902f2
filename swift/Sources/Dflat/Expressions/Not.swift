import FlatBuffers

/// Whether a condition does not hold; nil if it is missing.
public struct NotExpr<T: Expr, Element>: Expr
where T.ResultType == Bool, T.Element == Element {
  public typealias ResultType = Bool
  public typealias Element = Element
  let unary: T

  public func evaluate(object: Element) -> ResultType? {
    unary.evaluate(object: object).map { !$0 }
  }

  public func evaluate(byteBuffer: ByteBuffer) -> ResultType? {
    unary.evaluate(byteBuffer: byteBuffer).map { !$0 }
  }

  public func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness {
    whole(unary.canUsePartialIndex(indexSurvey))
  }

  public func existingIndex(_ existingIndexes: inout Set<String>) {
    unary.existingIndex(&existingIndexes)
  }
}

extension NotExpr: EngineExpression {
  func encodeCondition(_ bytes: inout QueryBytes) -> Bool {
    bytes.byte(8)
    return Dflat.encodeCondition(unary, &bytes)
  }
}

extension NotExpr: SQLiteExpr where T: SQLiteExpr {
  public func buildWhereQuery(
    indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32
  ) {
    query.append("NOT (")
    unary.buildWhereQuery(
      indexSurvey: indexSurvey, query: &query, parameterCount: &parameterCount)
    query.append(")")
  }

  public func bindWhereQuery(
    indexSurvey: IndexSurvey, query: OpaquePointer, parameterCount: inout Int32
  ) {
    unary.bindWhereQuery(
      indexSurvey: indexSurvey, query: query, parameterCount: &parameterCount)
  }
}

/// Whether a condition does not hold.
public prefix func ! <T, Element: Atom>(unary: T) -> NotExpr<T, Element>
where T: Expr, T.ResultType == Bool, T.Element == Element {
  NotExpr(unary: unary)
}
