import FlatBuffers

/// How much of a condition an index can decide. The engine plans queries by itself; these types
/// exist for programs that name them.
public enum IndexUsefulness {
  case none
  case partial
  case full
}

/// The indexes of a table by their state.
public struct IndexSurvey {
  public var full = Set<String>()
  public var partial = Set<String>()
  public var unavailable = Set<String>()
  public init() {}
}

/// A value that is computed from an object.
public protocol Expr {
  associatedtype ResultType
  associatedtype Element: Atom
  /// The value for an object; nil if it is missing or cannot be computed.
  func evaluate(object: Element) -> ResultType?
  /// The value for a payload.
  func evaluate(byteBuffer: ByteBuffer) -> ResultType?
  func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness
  func existingIndex(_ existingIndexes: inout Set<String>)
}

/// An expression that can be written as SQL.
public protocol SQLiteExpr {
  func buildWhereQuery(indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32)
  func bindWhereQuery(
    indexSurvey: IndexSurvey, query: OpaquePointer, parameterCount: inout Int32)
}

/// An expression that the engine can evaluate. Any other expression is evaluated in Swift.
protocol EngineExpression {
  /// Writes the expression as a value; false if it has none.
  func encodeValue(_ bytes: inout QueryBytes) -> Bool
  /// Writes the expression as a condition; false if it is none.
  func encodeCondition(_ bytes: inout QueryBytes) -> Bool
}

extension EngineExpression {
  func encodeValue(_ bytes: inout QueryBytes) -> Bool { false }
  func encodeCondition(_ bytes: inout QueryBytes) -> Bool { false }
}

func encodeValue(_ expression: Any, _ bytes: inout QueryBytes) -> Bool {
  (expression as? EngineExpression)?.encodeValue(&bytes) ?? false
}

func encodeCondition(_ expression: Any, _ bytes: inout QueryBytes) -> Bool {
  (expression as? EngineExpression)?.encodeCondition(&bytes) ?? false
}

/// The usefulness of an operation on two values.
func combined(_ left: IndexUsefulness, _ right: IndexUsefulness) -> IndexUsefulness {
  switch (left, right) {
  case (.full, .full): return .full
  case (.none, _), (_, .none): return .none
  default: return .partial
  }
}

/// The usefulness of an operation that needs all of its parts.
func whole(_ parts: IndexUsefulness...) -> IndexUsefulness {
  parts.allSatisfy { $0 == .full } ? .full : .none
}
