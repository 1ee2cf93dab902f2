import FlatBuffers

/// Whether two values differ; nil if one is missing.
public struct NotEqualToExpr<L: Expr, R: Expr, Element>: Expr
where L.ResultType == R.ResultType, L.ResultType: DflatFriendlyValue, L.Element == R.Element, L.Element == Element {
  public typealias ResultType = Bool
  public typealias Element = Element
  let left: L
  let right: R

  init(_ left: L, _ right: R) {
    self.left = left
    self.right = right
  }

  public func evaluate(object: Element) -> ResultType? {
    guard let left = left.evaluate(object: object), let right = right.evaluate(object: object) else {
      return nil
    }
    return !areEqual(left, right)
  }

  public func evaluate(byteBuffer: ByteBuffer) -> ResultType? {
    guard let left = left.evaluate(byteBuffer: byteBuffer), let right = right.evaluate(byteBuffer: byteBuffer) else {
      return nil
    }
    return !areEqual(left, right)
  }

  public func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness {
    combined(
      left.canUsePartialIndex(indexSurvey), right.canUsePartialIndex(indexSurvey))
  }

  public func existingIndex(_ existingIndexes: inout Set<String>) {
    left.existingIndex(&existingIndexes)
    right.existingIndex(&existingIndexes)
  }
}

extension NotEqualToExpr: EngineExpression {
  func encodeCondition(_ bytes: inout QueryBytes) -> Bool {
    bytes.byte(1)
    guard Dflat.encodeValue(left, &bytes) else { return false }
    bytes.byte(1)
    return Dflat.encodeValue(right, &bytes)
  }
}

extension NotEqualToExpr: SQLiteExpr where L: SQLiteExpr, R: SQLiteExpr {
  public func buildWhereQuery(
    indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32
  ) {
    query.append("(")
    left.buildWhereQuery(
      indexSurvey: indexSurvey, query: &query, parameterCount: &parameterCount)
    query.append(") != (")
    right.buildWhereQuery(
      indexSurvey: indexSurvey, query: &query, parameterCount: &parameterCount)
    query.append(")")
  }

  public func bindWhereQuery(
    indexSurvey: IndexSurvey, query: OpaquePointer, parameterCount: inout Int32
  ) {
    left.bindWhereQuery(
      indexSurvey: indexSurvey, query: query, parameterCount: &parameterCount)
    right.bindWhereQuery(
      indexSurvey: indexSurvey, query: query, parameterCount: &parameterCount)
  }
}

/// Whether two values differ.
public func != <L, R, Element: Atom>(left: L, right: R) -> NotEqualToExpr<L, R, Element>
where L: Expr, R: Expr, L.ResultType == R.ResultType, L.ResultType: DflatFriendlyValue, L.Element == R.Element, L.Element == Element {
  NotEqualToExpr(left, right)
}

/// Whether two values differ.
public func != <L, R, Element: Atom>(left: L, right: R) -> NotEqualToExpr<
  L, ValueExpr<R, Element>, Element
> where L: Expr, R: DflatFriendlyValue, L.ResultType == R, L.Element == Element {
  NotEqualToExpr(left, ValueExpr(right))
}

/// Whether two values differ.
public func != <L, R, Element: Atom>(left: L, right: R) -> NotEqualToExpr<
  ValueExpr<L, Element>, R, Element
> where L: DflatFriendlyValue, R: Expr, L == R.ResultType, R.Element == Element {
  NotEqualToExpr(ValueExpr(left), right)
}
