import FlatBuffers

/// The maximum number of objects of a result.
public enum Limit {
  /// All objects.
  case noLimit
  /// At most so many objects, the first ones of the order. A negative number counts as 0.
  case limit(Int)
}

/// Makes queries of one type.
open class QueryBuilder<Element: Atom> {
  public init() {}

  /// The objects that meet a condition, in an order; objects that are equal in the order come in
  /// the order of their insertion, and a missing value is the smallest. An object for which the
  /// condition is unknown, such as because of a missing value, does not meet the condition.
  ///
  /// If the fetch fails, the result is empty, and the workspace reports the error.
  ///
  ///     let urgent = workspace.fetch(for: Note.self).where(
  ///       Note.priority > 1, limit: .limit(10), orderBy: [Note.priority.descending])
  open func `where`<T: Expr & SQLiteExpr>(
    _ query: T, limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = []
  ) -> FetchedResult<Element> where T.ResultType == Bool, T.Element == Element {
    fatalError("a subclass implements this")
  }

  /// All objects, in an order, as `where` returns them.
  open func all(limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = []) -> FetchedResult<Element>
  {
    fatalError("a subclass implements this")
  }
}

/// A condition, an order and a limit: what the engine evaluates, and what is evaluated in Swift.
///
/// For the module SQLiteDflat.
public struct _QueryParts<Element: Atom> {
  /// The bytes of the query for the engine.
  public let encoded: [UInt8]
  /// The condition, if it is evaluated in Swift.
  public let condition: ((Element) -> Bool)?
  /// The orders, if the objects are sorted in Swift.
  public let orders: [OrderBy<Element>]
  /// The limit, if it is applied in Swift.
  public let limit: Int?
  /// The objects to skip, if that is done in Swift.
  public let offset: Int

  /// Divides a query. A condition that the engine cannot evaluate is evaluated in Swift, and then
  /// the order and the limit are applied in Swift, too.
  public init<T: Expr>(
    _ condition: T?, limit: Limit, orderBy orders: [OrderBy<Element>], offset: Int = 0,
    inSwift: Bool = false
  ) where T.ResultType == Bool, T.Element == Element {
    let most: Int?
    switch limit {
    case .noLimit: most = nil
    case .limit(let count): most = max(count, 0)
    }
    var bytes = QueryBytes()
    bytes.byte(1)
    var isWhole = true
    if let condition = condition {
      var encoded = QueryBytes()
      if !inSwift, encodeCondition(condition, &encoded) {
        bytes.byte(1)
        bytes.append(encoded)
      } else {
        isWhole = false
        bytes.byte(0)
      }
    } else {
      bytes.byte(0)
    }
    var order = QueryBytes()
    let ordered = isWhole && !inSwift && orders.allSatisfy { $0.encode(&order) }
    bytes.number(ordered ? orders.count : 0)
    if ordered { bytes.append(order) }
    bytes.byte(0)
    bytes.number(ordered ? max(offset, 0) : 0)
    if let most = most, ordered {
      bytes.byte(1)
      bytes.number(most)
    } else {
      bytes.byte(0)
    }
    encoded = bytes.bytes
    self.condition =
      isWhole ? nil : condition.map { condition in { condition.evaluate(object: $0) == true } }
    self.orders = ordered ? [] : orders
    self.limit = ordered ? nil : most
    self.offset = ordered ? 0 : max(offset, 0)
  }

  /// Whether the engine evaluates all of the query.
  public var isWhole: Bool { condition == nil && orders.isEmpty && limit == nil && offset == 0 }

  /// Applies the part of the query that is evaluated in Swift. `objects` are in the order of
  /// insertion.
  public func apply(_ objects: [Element]) -> [Element] {
    var found = condition.map { objects.filter($0) } ?? objects
    if !orders.isEmpty {
      let ranked = found.enumerated().sorted { one, other in
        switch orders.relation(one.element, other.element) {
        case .ascending: return true
        case .same: return one.offset < other.offset
        case .descending: return false
        }
      }
      found = ranked.map(\.element)
    }
    found.removeFirst(min(offset, found.count))
    return limit.map { Array(found.prefix($0)) } ?? found
  }
}
