import FlatBuffers

/// The remainder of a division; nil if a number is missing or the right one is 0.
public struct ModExpr<L: Expr, R: Expr, Element>: Expr
where L.ResultType == R.ResultType, L.ResultType: BinaryInteger, L.Element == R.Element, L.Element == Element {
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
    return remainder(left, right)
  }

  public func evaluate(byteBuffer: ByteBuffer) -> ResultType? {
    guard let left = left.evaluate(byteBuffer: byteBuffer), let right = right.evaluate(byteBuffer: byteBuffer) else {
      return nil
    }
    return remainder(left, right)
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

extension ModExpr: EngineExpression {
  func encodeValue(_ bytes: inout QueryBytes) -> Bool {
    bytes.byte(2)
    bytes.byte(4)
    bytes.domain(of: L.ResultType.self)
    return Dflat.encodeValue(left, &bytes) && Dflat.encodeValue(right, &bytes)
  }
}

extension ModExpr: SQLiteExpr where L: SQLiteExpr, R: SQLiteExpr {
  public func buildWhereQuery(
    indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32
  ) {
    query.append("(")
    left.buildWhereQuery(
      indexSurvey: indexSurvey, query: &query, parameterCount: &parameterCount)
    query.append(") % (")
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

/// The remainder of a division.
public func % <L, R, Element: Atom>(left: L, right: R) -> ModExpr<L, R, Element>
where L: Expr, R: Expr, L.ResultType == R.ResultType, L.ResultType: BinaryInteger, L.Element == R.Element, L.Element == Element {
  ModExpr(left, right)
}

/// The remainder of a division.
public func % <L, R, Element: Atom>(left: L, right: R) -> ModExpr<
  L, ValueExpr<R, Element>, Element
> where L: Expr, R: DflatFriendlyValue, L.ResultType == R, R: BinaryInteger, L.Element == Element {
  ModExpr(left, ValueExpr(right))
}

/// The remainder of a division.
public func % <L, R, Element: Atom>(left: L, right: R) -> ModExpr<
  ValueExpr<L, Element>, R, Element
> where L: DflatFriendlyValue, R: Expr, L == R.ResultType, L: BinaryInteger, R.Element == Element {
  ModExpr(ValueExpr(left), right)
}
