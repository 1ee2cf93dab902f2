import FlatBuffers

/// A type of values that queries compare.
public protocol DflatFriendlyValue: Comparable, Hashable {}

#if compiler(>=6)
  extension Bool: @retroactive Comparable {}
#else
  extension Bool: Comparable {}
#endif
extension Bool {
  public static func < (lhs: Bool, rhs: Bool) -> Bool { !lhs && rhs }
}
extension Bool: DflatFriendlyValue {}
extension Int8: DflatFriendlyValue {}
extension UInt8: DflatFriendlyValue {}
extension Int16: DflatFriendlyValue {}
extension UInt16: DflatFriendlyValue {}
extension Int32: DflatFriendlyValue {}
extension UInt32: DflatFriendlyValue {}
extension Int64: DflatFriendlyValue {}
extension UInt64: DflatFriendlyValue {}
extension Float: DflatFriendlyValue {}
extension Double: DflatFriendlyValue {}
extension String: DflatFriendlyValue {}

/// Whether two values are equal, as the engine compares them: strings by their bytes.
func areEqual<T: Equatable>(_ left: T, _ right: T) -> Bool {
  if let left = left as? String, let right = right as? String {
    return left.utf8.elementsEqual(right.utf8)
  }
  return left == right
}

/// Whether a value is less than another, as the engine compares them: strings by their bytes.
func isLess<T: Comparable>(_ left: T, _ right: T) -> Bool {
  if let left = left as? String, let right = right as? String {
    return left.utf8.lexicographicallyPrecedes(right.utf8)
  }
  return left < right
}

/// A value that is written in a query.
public struct ValueExpr<T, Element: Atom>: Expr where T: DflatFriendlyValue {
  public typealias ResultType = T
  public typealias Element = Element
  let value: T

  init(_ value: T) {
    self.value = value
  }

  public func evaluate(object: Element) -> ResultType? { value }
  public func evaluate(byteBuffer: ByteBuffer) -> ResultType? { value }
  public func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness { .full }
  public func existingIndex(_ existingIndexes: inout Set<String>) {}
}

extension ValueExpr: EngineExpression {
  func encodeValue(_ bytes: inout QueryBytes) -> Bool {
    bytes.byte(1)
    return bytes.value(value)
  }

  func encodeCondition(_ bytes: inout QueryBytes) -> Bool {
    guard let value = value as? Bool else { return false }
    bytes.byte(0)
    bytes.byte(value ? 1 : 0)
    return true
  }
}

/// A value that can be bound to a statement of SQLite.
public protocol SQLiteBinding {
  func bindSQLite(_ query: OpaquePointer, parameterId: Int32)
}

/// A value that queries compare and that can be bound to a statement of SQLite.
public protocol SQLiteValue: SQLiteBinding, DflatFriendlyValue {}

extension ValueExpr: SQLiteExpr where T: SQLiteValue {
  public func buildWhereQuery(
    indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32
  ) {
    parameterCount += 1
    query.append("?\(parameterCount)")
  }

  public func bindWhereQuery(
    indexSurvey: IndexSurvey, query: OpaquePointer, parameterCount: inout Int32
  ) {
    parameterCount += 1
    value.bindSQLite(query, parameterId: parameterCount)
  }
}
