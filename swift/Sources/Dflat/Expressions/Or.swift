import FlatBuffers

/// Whether at least one of two conditions holds. If neither does, and one of them has no value, nil.
public struct OrExpr<L: Expr, R: Expr, Element>: Expr
where L.ResultType == Bool, R.ResultType == Bool, L.Element == R.Element, L.Element == Element {
  public typealias ResultType = Bool
  public typealias Element = Element
  let left: L
  let right: R

  init(_ left: L, _ right: R) {
    self.left = left
    self.right = right
  }

  public func evaluate(object: Element) -> ResultType? {
    let left = left.evaluate(object: object)
    let right = right.evaluate(object: object)
    if left == true || right == true { return true }
    return left == nil || right == nil ? nil : false
  }

  public func evaluate(byteBuffer: ByteBuffer) -> ResultType? {
    let left = left.evaluate(byteBuffer: byteBuffer)
    let right = right.evaluate(byteBuffer: byteBuffer)
    if left == true || right == true { return true }
    return left == nil || right == nil ? nil : false
  }

  public func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness {
    whole(
      left.canUsePartialIndex(indexSurvey), right.canUsePartialIndex(indexSurvey))
  }

  public func existingIndex(_ existingIndexes: inout Set<String>) {
    left.existingIndex(&existingIndexes)
    right.existingIndex(&existingIndexes)
  }
}

extension OrExpr: EngineExpression {
  func encodeCondition(_ bytes: inout QueryBytes) -> Bool {
    bytes.byte(7)
    bytes.number(2)
    return Dflat.encodeCondition(left, &bytes) && Dflat.encodeCondition(right, &bytes)
  }
}

extension OrExpr: SQLiteExpr where L: SQLiteExpr, R: SQLiteExpr {
  public func buildWhereQuery(
    indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32
  ) {
    query.append("(")
    left.buildWhereQuery(
      indexSurvey: indexSurvey, query: &query, parameterCount: &parameterCount)
    query.append(") OR (")
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

/// Whether one of two conditions holds.
public func || <L, R, Element: Atom>(left: L, right: R) -> OrExpr<L, R, Element>
where
  L: Expr, R: Expr, L.ResultType == Bool, R.ResultType == Bool, L.Element == R.Element,
  L.Element == Element
{
  OrExpr(left, right)
}

/// Whether one of two conditions holds.
public func || <L, Element: Atom>(left: L, right: Bool) -> OrExpr<
  L, ValueExpr<Bool, Element>, Element
> where L: Expr, L.ResultType == Bool, L.Element == Element {
  OrExpr(left, ValueExpr(right))
}

/// Whether one of two conditions holds.
public func || <R, Element: Atom>(left: Bool, right: R) -> OrExpr<
  ValueExpr<Bool, Element>, R, Element
> where R: Expr, R.ResultType == Bool, R.Element == Element {
  OrExpr(ValueExpr(left), right)
}
