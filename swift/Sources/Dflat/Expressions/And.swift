import FlatBuffers

/// Whether both conditions hold: false if one is false, and else nil if one is missing.
public struct AndExpr<L: Expr, R: Expr, Element>: Expr
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
    if left == false || right == false { return false }
    return left == nil || right == nil ? nil : true
  }

  public func evaluate(byteBuffer: ByteBuffer) -> ResultType? {
    let left = left.evaluate(byteBuffer: byteBuffer)
    let right = right.evaluate(byteBuffer: byteBuffer)
    if left == false || right == false { return false }
    return left == nil || right == nil ? nil : true
  }

  public func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness {
    let left = left.canUsePartialIndex(indexSurvey)
    let right = right.canUsePartialIndex(indexSurvey)
    if left == .full && right == .full { return .full }
    return left == .none && right == .none ? .none : .partial
  }

  public func existingIndex(_ existingIndexes: inout Set<String>) {
    left.existingIndex(&existingIndexes)
    right.existingIndex(&existingIndexes)
  }
}

extension AndExpr: EngineExpression {
  func encodeCondition(_ bytes: inout QueryBytes) -> Bool {
    bytes.byte(6)
    bytes.number(2)
    return Dflat.encodeCondition(left, &bytes) && Dflat.encodeCondition(right, &bytes)
  }
}

extension AndExpr: SQLiteExpr where L: SQLiteExpr, R: SQLiteExpr {
  public func buildWhereQuery(
    indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32
  ) {
    query.append("(")
    left.buildWhereQuery(
      indexSurvey: indexSurvey, query: &query, parameterCount: &parameterCount)
    query.append(") AND (")
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

/// Whether both conditions hold.
public func && <L, R, Element: Atom>(left: L, right: R) -> AndExpr<L, R, Element>
where
  L: Expr, R: Expr, L.ResultType == Bool, R.ResultType == Bool, L.Element == R.Element,
  L.Element == Element
{
  AndExpr(left, right)
}

/// Whether both conditions hold.
public func && <L, Element: Atom>(left: L, right: Bool) -> AndExpr<
  L, ValueExpr<Bool, Element>, Element
> where L: Expr, L.ResultType == Bool, L.Element == Element {
  AndExpr(left, ValueExpr(right))
}

/// Whether both conditions hold.
public func && <R, Element: Atom>(left: Bool, right: R) -> AndExpr<
  ValueExpr<Bool, Element>, R, Element
> where R: Expr, R.ResultType == Bool, R.Element == Element {
  AndExpr(ValueExpr(left), right)
}
