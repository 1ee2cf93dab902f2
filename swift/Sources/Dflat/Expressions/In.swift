import FlatBuffers

/// Whether a value is in a list; nil if the value is missing.
public struct InExpr<T: Expr, Element>: Expr
where T.ResultType: DflatFriendlyValue, T.Element == Element {
  public typealias ResultType = Bool
  public typealias Element = Element
  let unary: T
  let list: [T.ResultType]

  public func evaluate(object: Element) -> ResultType? {
    unary.evaluate(object: object).map { value in list.contains { areEqual($0, value) } }
  }

  public func evaluate(byteBuffer: ByteBuffer) -> ResultType? {
    unary.evaluate(byteBuffer: byteBuffer).map { value in list.contains { areEqual($0, value) } }
  }

  public func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness {
    whole(unary.canUsePartialIndex(indexSurvey))
  }

  public func existingIndex(_ existingIndexes: inout Set<String>) {
    unary.existingIndex(&existingIndexes)
  }
}

extension InExpr: EngineExpression {
  func encodeCondition(_ bytes: inout QueryBytes) -> Bool {
    bytes.byte(2)
    guard Dflat.encodeValue(unary, &bytes) else { return false }
    bytes.number(list.count)
    return list.allSatisfy { bytes.value($0) }
  }
}

extension InExpr: SQLiteExpr where T: SQLiteExpr, T.ResultType: SQLiteValue {
  public func buildWhereQuery(
    indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32
  ) {
    query.append("(")
    unary.buildWhereQuery(
      indexSurvey: indexSurvey, query: &query, parameterCount: &parameterCount)
    let first = parameterCount
    parameterCount += Int32(list.count)
    let places = list.indices.map { "?\(first + Int32($0) + 1)" }
    query.append(") IN (\(places.joined(separator: ",")))")
  }

  public func bindWhereQuery(
    indexSurvey: IndexSurvey, query: OpaquePointer, parameterCount: inout Int32
  ) {
    unary.bindWhereQuery(
      indexSurvey: indexSurvey, query: query, parameterCount: &parameterCount)
    for value in list {
      parameterCount += 1
      value.bindSQLite(query, parameterId: parameterCount)
    }
  }
}

extension Expr {
  /// Whether the value is in a list.
  public func `in`<S>(_ sequence: S) -> InExpr<Self, Self.Element>
  where S: Sequence, S.Element == Self.ResultType, Self.ResultType: DflatFriendlyValue {
    InExpr(unary: self, list: Array(sequence))
  }
}
