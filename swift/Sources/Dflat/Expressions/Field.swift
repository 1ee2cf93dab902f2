import FlatBuffers

/// A field of an object.
public final class FieldExpr<T, Element>: Expr, @unchecked Sendable
where T: DflatFriendlyValue, Element: Atom {
  public typealias ResultType = T
  public typealias Element = Element
  /// Reads the field of a payload.
  public typealias TableReader = (_ table: ByteBuffer) -> T?
  /// Reads the field of an object.
  public typealias ObjectReader = (_ object: Element) -> T?

  /// The name of the field's column, such as `f6` or `__pk0`.
  public let name: String
  let path: _FieldPath?
  private let primaryKey: Bool
  private let hasIndex: Bool
  private let tableReader: TableReader
  private let objectReader: ObjectReader

  /// Creates a field, which is evaluated in Swift.
  public required init(
    name: String, primaryKey: Bool, hasIndex: Bool, tableReader: @escaping TableReader,
    objectReader: @escaping ObjectReader
  ) {
    self.name = name
    self.primaryKey = primaryKey
    self.hasIndex = hasIndex
    self.tableReader = tableReader
    self.objectReader = objectReader
    path = nil
  }

  /// Creates a field that the engine evaluates, too. For generated code.
  public init(
    name: String, primaryKey: Bool, hasIndex: Bool, tableReader: @escaping TableReader,
    objectReader: @escaping ObjectReader, path: _FieldPath
  ) {
    self.name = name
    self.primaryKey = primaryKey
    self.hasIndex = hasIndex
    self.tableReader = tableReader
    self.objectReader = objectReader
    self.path = path
  }

  /// The name in the schema, such as `pos.x`, if the engine evaluates the field.
  public var _schemaName: String? { path?.name }

  public func evaluate(object: Element) -> ResultType? { objectReader(object) }
  public func evaluate(byteBuffer: ByteBuffer) -> ResultType? { tableReader(byteBuffer) }

  public func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness {
    if primaryKey || indexSurvey.full.contains(name) { return .full }
    return hasIndex && indexSurvey.partial.contains(name) ? .partial : .none
  }

  public func existingIndex(_ existingIndexes: inout Set<String>) {
    if hasIndex { existingIndexes.insert(name) }
  }

  /// The order by this field, the smallest value first and missing values before it.
  public var ascending: OrderBy<Element> { FieldOrder(self, .ascending) }

  /// The order by this field, the largest value first and missing values last.
  public var descending: OrderBy<Element> { FieldOrder(self, .descending) }
}

extension FieldExpr: EngineExpression {
  func encodeValue(_ bytes: inout QueryBytes) -> Bool {
    guard let path = path else { return false }
    bytes.byte(0)
    bytes.field(path)
    return true
  }

  func encodeCondition(_ bytes: inout QueryBytes) -> Bool {
    guard let path = path, path.kind == .bool else { return false }
    bytes.byte(1)
    bytes.byte(0)
    bytes.field(path)
    bytes.byte(0)
    bytes.byte(1)
    return bytes.value(true)
  }
}

extension FieldExpr: SQLiteExpr {
  public func buildWhereQuery(
    indexSurvey: IndexSurvey, query: inout String, parameterCount: inout Int32
  ) {
    query.append(name)
  }

  public func bindWhereQuery(
    indexSurvey: IndexSurvey, query: OpaquePointer, parameterCount: inout Int32
  ) {}
}

extension Collection where Element: DflatFriendlyValue {
  /// The order by the first position of a field's value in this list. Missing values come first,
  /// then values that are not in the list.
  public func firstIndex<AtomElement: Atom>(
    of field: FieldExpr<Element, AtomElement>
  ) -> OrderBy<AtomElement> {
    var seen = Set<AnyHashable>()
    return ListOrder(field, filter { seen.insert(exact($0)).inserted })
  }

  /// The order by the last position of a field's value in this list. Missing values come first,
  /// then values that are not in the list.
  public func lastIndex<AtomElement: Atom>(
    of field: FieldExpr<Element, AtomElement>
  ) -> OrderBy<AtomElement> {
    var seen = Set<AnyHashable>()
    return ListOrder(field, reversed().filter { seen.insert(exact($0)).inserted }.reversed())
  }
}

/// A value that equals others as the engine compares them: strings by their bytes. Swift's strings
/// are equal if they show the same characters.
private func exact<T: Hashable>(_ value: T) -> AnyHashable {
  guard let text = value as? String else { return AnyHashable(value) }
  return AnyHashable(Array(text.utf8))
}
