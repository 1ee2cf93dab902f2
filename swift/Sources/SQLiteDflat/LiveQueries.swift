import Dflat
import DflatC

/// The positions by which a new result differs from the one before.
///
/// To change a list in place, remove the deleted and moved objects from the back to the front,
/// insert the inserted and moved ones from the front to the back, and replace the updated ones.
public struct ResultDifference: Equatable, Sendable {
  /// The positions in the old result of objects that the new one lacks.
  public let deleted: [Int]
  /// The positions in the new result of objects that the old one lacks.
  public let inserted: [Int]
  /// The moves of objects: `from` in the old result, `to` in the new one.
  public let moved: [Move]
  /// The positions in the new result of objects with new values.
  public let updated: [Int]

  /// The move of an object.
  public struct Move: Equatable, Sendable {
    public let from: Int
    public let to: Int
  }

  init(_ delivery: OpaquePointer) throws {
    var found = dflat_difference()
    try call { dflat_delivery_difference(delivery, &found, $0) }
    func list(_ positions: dflat_positions) -> [Int] {
      UnsafeBufferPointer(start: positions.first, count: positions.count).map { Int($0) }
    }
    (deleted, inserted, updated) = (list(found.deleted), list(found.inserted), list(found.updated))
    moved = UnsafeBufferPointer(start: found.moved.first, count: found.moved.count).map {
      Move(from: Int($0.from), to: Int($0.to))
    }
  }
}

extension QueryBuilder {
  /// Subscribes to the query: the closure gets the present result first, and then each new one with
  /// its difference from the one before. An error is reported to the workspace's `onError`.
  public func subscribe<T: Expr & SQLiteExpr>(
    where query: T, limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = [],
    changeHandler: @escaping (FetchedResult<Element>, ResultDifference) -> Void
  ) throws -> Workspace.Subscription where T.ResultType == Bool, T.Element == Element {
    try live().follow(query, limit, orderBy, changeHandler)
  }

  /// As `subscribe(where:)`, for all objects.
  public func subscribe(
    limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = [],
    changeHandler: @escaping (FetchedResult<Element>, ResultDifference) -> Void
  ) throws -> Workspace.Subscription {
    try live().follow(Optional<Everything>.none, limit, orderBy, changeHandler)
  }

  /// Subscribes to the number of objects that meet a condition, the present number first.
  public func subscribeCount<T: Expr & SQLiteExpr>(
    where query: T, changeHandler: @escaping (Int) -> Void
  ) throws -> Workspace.Subscription where T.ResultType == Bool, T.Element == Element {
    try live().followCount(query, changeHandler)
  }

  /// Subscribes to the number of all objects, the present number first.
  public func subscribeCount(
    changeHandler: @escaping (Int) -> Void
  ) throws -> Workspace.Subscription {
    try live().followCount(Optional<Everything>.none, changeHandler)
  }

  private func live() throws -> SQLiteQueryBuilder<Element> {
    guard let builder = self as? SQLiteQueryBuilder<Element> else {
      throw DflatError(
        code: DFLAT_INVALID_ARGUMENT.code, message: "the query was not made by a workspace")
    }
    return builder
  }
}

extension SQLiteQueryBuilder {
  /// The query, which the engine must evaluate.
  private func whole<T: Expr>(
    _ condition: T?, _ limit: Limit, _ orders: [OrderBy<Element>]
  ) throws -> (Handle, _QueryParts<Element>) where T.ResultType == Bool, T.Element == Element {
    let (query, parts) = try query(condition, limit, orders)
    guard parts.isWhole else {
      throw DflatError(
        code: DFLAT_INVALID_ARGUMENT.code,
        message: "cannot follow a query of \(Element.self): a part is evaluated in Swift")
    }
    return (query, parts)
  }

  func follow<T: Expr>(
    _ condition: T?, _ limit: Limit, _ orders: [OrderBy<Element>],
    _ change: @escaping (FetchedResult<Element>, ResultDifference) -> Void
  ) throws -> SQLiteSubscription where T.ResultType == Bool, T.Element == Element {
    let (query, parts) = try whole(condition, limit, orders)
    let handle = try workspace.opened()
    let maker = ObjectMaker<Element>(timestamp: -1)
    let origin = QueryOrigin(parts, query, known: nil)
    let gate = Gate()
    let receiver = ResultReceiver { [weak workspace] delivery in
      guard let workspace = workspace else { return }
      do {
        let delivery = try delivery.get()
        let difference = try ResultDifference(delivery)
        let stored = try StoredResult(
          Handle(release: dflat_result_release) { dflat_delivery_result(delivery, $0, $1) })
        let result = origin.result(stored, maker)
        workspace.onTarget { if gate.enters() { change(result, difference) } }
      } catch {
        workspace.report(error)
      }
    }
    let callback = dflat_result_callback(
      context: context(receiver), call: receiveResult, drop: released)
    let subscription = SQLiteSubscription(gate)
    subscription.keep(
      try Handle(release: dflat_subscription_release) {
        dflat_subscribe_query(handle.pointer, query.pointer, nil, 0, callback, $0, $1)
      })
    return subscription
  }

  func followCount<T: Expr>(
    _ condition: T?, _ change: @escaping (Int) -> Void
  ) throws -> SQLiteSubscription where T.ResultType == Bool, T.Element == Element {
    let (query, _) = try whole(condition, .noLimit, [])
    let handle = try workspace.opened()
    let gate = Gate()
    let receiver = CountReceiver { [weak workspace] count in
      guard let workspace = workspace else { return }
      switch count {
      case .success(let count): workspace.onTarget { if gate.enters() { change(count) } }
      case .failure(let error): workspace.report(error)
      }
    }
    let callback = dflat_count_callback(
      context: context(receiver),
      call: { pointer, code, failure, count in
        withLent(pointer, as: CountReceiver.self) { receiver in
          receiver.call(
            code == DFLAT_OK.code
              ? .success(Int(clamping: count)) : .failure(DflatError(code, failure)))
        }
      },
      drop: released)
    let subscription = SQLiteSubscription(gate)
    subscription.keep(
      try Handle(release: dflat_subscription_release) {
        dflat_subscribe_count(handle.pointer, query.pointer, 0, callback, $0, $1)
      })
    return subscription
  }
}

/// The receiver of a number of objects.
private final class CountReceiver: @unchecked Sendable {
  let call: (Result<Int, DflatError>) -> Void

  init(_ call: @escaping (Result<Int, DflatError>) -> Void) {
    self.call = call
  }
}
