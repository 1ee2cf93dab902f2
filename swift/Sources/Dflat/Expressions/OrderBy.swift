/// The relation of two objects in an order.
public enum SortingOrder {
  case ascending
  case same
  case descending
}

/// An order of objects.
public class OrderBy<Element: Atom>: @unchecked Sendable {
  /// The name of the column that the order is by.
  public var name: String { "" }

  /// The direction of the order.
  public var sortingOrder: SortingOrder { .ascending }

  init() {}

  /// The relation of two objects in this order.
  public func areInSortingOrder(_ lhs: Element, _ rhs: Element) -> SortingOrder { .same }

  public func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness { .none }
  public func existingIndex(_ existingIndexes: inout Set<String>) {}

  /// Writes the order; false if the engine cannot use it.
  func encode(_ bytes: inout QueryBytes) -> Bool { false }
}

/// The order by the values of a field.
final class FieldOrder<T: DflatFriendlyValue, Element: Atom>: OrderBy<Element>, @unchecked Sendable {
  private let field: FieldExpr<T, Element>
  private let direction: SortingOrder

  init(_ field: FieldExpr<T, Element>, _ direction: SortingOrder) {
    self.field = field
    self.direction = direction
  }

  override var name: String { field.name }
  override var sortingOrder: SortingOrder { direction }

  override func areInSortingOrder(_ lhs: Element, _ rhs: Element) -> SortingOrder {
    let ascending = relation(field.evaluate(object: lhs), field.evaluate(object: rhs))
    guard direction == .descending else { return ascending }
    return ascending.reversed
  }

  override func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness {
    field.canUsePartialIndex(indexSurvey)
  }

  override func existingIndex(_ existingIndexes: inout Set<String>) {
    field.existingIndex(&existingIndexes)
  }

  override func encode(_ bytes: inout QueryBytes) -> Bool {
    guard field.encodeValue(&bytes) else { return false }
    bytes.byte(direction == .descending ? 1 : 0)
    bytes.byte(0)
    return true
  }
}

/// The order by the positions of a field's values in a list.
final class ListOrder<T: DflatFriendlyValue, Element: Atom>: OrderBy<Element>, @unchecked Sendable {
  private let field: FieldExpr<T, Element>
  private let list: [T]

  init(_ field: FieldExpr<T, Element>, _ list: [T]) {
    self.field = field
    self.list = list
  }

  override var name: String { field.name }

  override func areInSortingOrder(_ lhs: Element, _ rhs: Element) -> SortingOrder {
    relation(position(lhs), position(rhs))
  }

  /// The position from 1; 0 for a value that is not in the list.
  private func position(_ object: Element) -> Int? {
    field.evaluate(object: object).map { value in
      list.firstIndex { areEqual($0, value) }.map { $0 + 1 } ?? 0
    }
  }

  override func canUsePartialIndex(_ indexSurvey: IndexSurvey) -> IndexUsefulness { .none }

  override func existingIndex(_ existingIndexes: inout Set<String>) {
    field.existingIndex(&existingIndexes)
  }

  /// The engine's position of a value that is not in the list is the length of the list. So the
  /// order is by (position + 1) % (length + 1).
  override func encode(_ bytes: inout QueryBytes) -> Bool {
    bytes.byte(2)
    bytes.byte(4)
    bytes.byte(0)
    bytes.byte(2)
    bytes.byte(0)
    bytes.byte(0)
    bytes.byte(5)
    guard field.encodeValue(&bytes) else { return false }
    bytes.number(list.count)
    guard list.allSatisfy({ bytes.value($0) }) else { return false }
    bytes.byte(1)
    _ = bytes.value(1)
    bytes.byte(1)
    _ = bytes.value(list.count + 1)
    bytes.byte(0)
    bytes.byte(0)
    return true
  }
}

extension SortingOrder {
  var reversed: SortingOrder {
    switch self {
    case .ascending: return .descending
    case .same: return .same
    case .descending: return .ascending
    }
  }
}

/// The relation of two values; a missing value is the smallest.
private func relation<T: Comparable>(_ left: T?, _ right: T?) -> SortingOrder {
  guard let left = left else { return right == nil ? .same : .ascending }
  guard let right = right else { return .descending }
  if isLess(left, right) { return .ascending }
  return isLess(right, left) ? .descending : .same
}

extension Array {
  /// The relation of two objects in several orders, one after the other.
  func relation<Object: Atom>(_ lhs: Object, _ rhs: Object) -> SortingOrder
  where Element == OrderBy<Object> {
    for order in self {
      let relation = order.areInSortingOrder(lhs, rhs)
      if relation != .same { return relation }
    }
    return .same
  }
}
