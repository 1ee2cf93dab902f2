import FlatBuffers

/// Whether the left value is less or equal; nil if one is missing.
public struct LessThanOrEqualToExpr<L: Expr, R: Expr, Element>: Expr
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
    return isLess(left, right) || areEqual(left, right)
  }

  public func evaluate(byteBuffer: ByteBuffer) -> ResultType? {
    guard let left = left.evaluate(byteBuffer: byteBuffer), let right = right.evaluate(byteBuffer: byteBuffer) else {
      return nil
    }
    return isLess(left, right) || areEqual(left, right)
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

extension LessThanOrEqualToExpr: EngineExpression {
  func encodeCondition(_ bytes: inout QueryBytes) -> Bool {
    bytes.byte(1)
    guard Dflat.encodeValue(left, &bytes) else { return false }
    bytes.byte(3)
    return Dflat.encodeValue(right, &bytes)
  }
}

extension LessThanOrEqualToExpr: SQLiteExpr where L: SQLiteExpr, R: SQLiteExpr {
  public func buildWhereQuery(
    indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32
  ) {
    query.append("(")
    left.buildWhereQuery(
      indexSurvey: indexSurvey, query: &query, parameterCount: &parameterCount)
    query.append(") <= (")
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

/// Whether the left value is less or equal.
public func <= <L, R, Element: Atom>(left: L, right: R) -> LessThanOrEqualToExpr<L, R, Element>
where L: Expr, R: Expr, L.ResultType == R.ResultType, L.ResultType: DflatFriendlyValue, L.Element == R.Element, L.Element == Element {
  LessThanOrEqualToExpr(left, right)
}

/// Whether the left value is less or equal.
public func <= <L, R, Element: Atom>(left: L, right: R) -> LessThanOrEqualToExpr<
  L, ValueExpr<R, Element>, Element
> where L: Expr, R: DflatFriendlyValue, L.ResultType == R, L.Element == Element {
  LessThanOrEqualToExpr(left, ValueExpr(right))
}

/// Whether the left value is less or equal.
public func <= <L, R, Element: Atom>(left: L, right: R) -> LessThanOrEqualToExpr<
  ValueExpr<L, Element>, R, Element
> where L: DflatFriendlyValue, R: Expr, L == R.ResultType, R.Element == Element {
  LessThanOrEqualToExpr(ValueExpr(left), right)
}

/// Whether the left value is greater or equal.
public func >= <L, R, Element: Atom>(left: L, right: R) -> LessThanOrEqualToExpr<R, L, Element>
where L: Expr, R: Expr, L.ResultType == R.ResultType, L.ResultType: DflatFriendlyValue, L.Element == R.Element, L.Element == Element {
  LessThanOrEqualToExpr(right, left)
}

/// Whether the left value is greater or equal.
public func >= <L, R, Element: Atom>(left: L, right: R) -> LessThanOrEqualToExpr<
  ValueExpr<R, Element>, L, Element
> where L: Expr, R: DflatFriendlyValue, L.ResultType == R, L.Element == Element {
  LessThanOrEqualToExpr(ValueExpr(right), left)
}

/// Whether the left value is greater or equal.
public func >= <L, R, Element: Atom>(left: L, right: R) -> LessThanOrEqualToExpr<
  R, ValueExpr<L, Element>, Element
> where L: DflatFriendlyValue, R: Expr, L == R.ResultType, R.Element == Element {
  LessThanOrEqualToExpr(right, ValueExpr(left))
}
