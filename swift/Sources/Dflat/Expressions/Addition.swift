import FlatBuffers

/// The sum of two numbers; nil if one is missing or the sum has no room in the type.
public struct AdditionExpr<L: Expr, R: Expr, Element>: Expr
where L.ResultType == R.ResultType, L.ResultType: AdditiveArithmetic, L.Element == R.Element, L.Element == Element {
  public typealias ResultType = L.ResultType
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
    return sum(left, right)
  }

  public func evaluate(byteBuffer: ByteBuffer) -> ResultType? {
    guard let left = left.evaluate(byteBuffer: byteBuffer), let right = right.evaluate(byteBuffer: byteBuffer) else {
      return nil
    }
    return sum(left, right)
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

extension AdditionExpr: EngineExpression {
  func encodeValue(_ bytes: inout QueryBytes) -> Bool {
    bytes.byte(2)
    bytes.byte(0)
    bytes.domain(of: L.ResultType.self)
    return Dflat.encodeValue(left, &bytes) && Dflat.encodeValue(right, &bytes)
  }
}

extension AdditionExpr: SQLiteExpr where L: SQLiteExpr, R: SQLiteExpr {
  public func buildWhereQuery(
    indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32
  ) {
    query.append("(")
    left.buildWhereQuery(
      indexSurvey: indexSurvey, query: &query, parameterCount: &parameterCount)
    query.append(") + (")
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

/// The sum of two numbers.
public func + <L, R, Element: Atom>(left: L, right: R) -> AdditionExpr<L, R, Element>
where L: Expr, R: Expr, L.ResultType == R.ResultType, L.ResultType: AdditiveArithmetic, L.Element == R.Element, L.Element == Element {
  AdditionExpr(left, right)
}

/// The sum of two numbers.
public func + <L, R, Element: Atom>(left: L, right: R) -> AdditionExpr<
  L, ValueExpr<R, Element>, Element
> where L: Expr, R: DflatFriendlyValue, L.ResultType == R, R: AdditiveArithmetic, L.Element == Element {
  AdditionExpr(left, ValueExpr(right))
}

/// The sum of two numbers.
public func + <L, R, Element: Atom>(left: L, right: R) -> AdditionExpr<
  ValueExpr<L, Element>, R, Element
> where L: DflatFriendlyValue, R: Expr, L == R.ResultType, L: AdditiveArithmetic, R.Element == Element {
  AdditionExpr(ValueExpr(left), right)
}
