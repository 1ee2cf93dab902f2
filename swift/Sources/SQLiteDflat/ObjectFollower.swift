import Dflat
import DflatC
import Foundation

/// A subscription to an object, from the call of `subscribe` on.
final class ObjectFollower<Element: Atom & Equatable>: @unchecked Sendable {
  private weak var workspace: SQLiteWorkspace?
  private weak var subscription: SQLiteSubscription?
  private let gate: Gate
  private let change: (SubscribedObject<Element>) -> Void
  private let maker = ObjectMaker<Element>(timestamp: -1)
  /// One call at a time, and the first one before all others.
  private let calls = NSRecursiveLock()
  private var first: SubscribedObject<Element>?
  private var isRegistered = false

  init(
    _ workspace: SQLiteWorkspace, _ subscription: SQLiteSubscription,
    _ change: @escaping (SubscribedObject<Element>) -> Void
  ) {
    self.workspace = workspace
    self.subscription = subscription
    gate = subscription.gate
    self.change = change
  }

  /// Follows an object as the engine has read it: `known` is that of `object`.
  func follow(_ known: dflat_object, of object: Element) throws {
    guard let workspace = workspace, let subscription = subscription else { return }
    let handle = try workspace.opened()
    let receiver = ObjectReceiver { [maker] event, view in
      self.deliver(event == DFLAT_DELETED.code ? .deleted : .updated(maker.copy(view)))
    }
    let callback = dflat_object_callback(
      context: context(receiver), call: receiveObject, drop: released)
    let made = try Handle(release: dflat_subscription_release) {
      dflat_subscribe_object(handle.pointer, maker.table, known, callback, $0, $1)
    }
    subscription.keep(made)
    withExtendedLifetime(object) {}
  }

  /// Follows an object that the engine has not read: that of its row, or else of its primary key.
  /// If the stored object is another one, it is delivered first.
  func lookUp(_ object: Element) throws {
    guard let workspace = workspace else { return }
    let found = try workspace.reading { source in try self.find(object, source) }
    guard let stored = found, let known = stored.stored else {
      // A transaction that is queued may insert it, so it is looked up in its turn.
      let object = Unchecked(object)
      return inTurn { self.lookUpAgain(object.value) }
    }
    let isOther = !isSame(stored, object)
    if isOther { first = .updated(stored) }
    try follow(known, of: stored)
    if isOther { inTurn { self.calls.withLock { self.isRegistered = true } } }
  }

  /// Calls a closure after the transactions of the type so far, and delivers the first change.
  private func inTurn(_ work: @escaping () -> Void) {
    let ended = Completion.outcome { [self] _ in deliver(nil) }
    workspace?.perform([Element.self], { _ in work() }, ended, isInternal: true)
  }

  private func lookUpAgain(_ object: Element) {
    guard gate.enters(), let current = SQLiteTransactionContext.current else { return }
    isRegistered = true
    do {
      let source = dflat_source(
        workspace: nil, snapshot: nil, transaction: current.transaction)
      guard let stored = try find(object, source), let known = stored.stored else {
        first = .deleted
        return
      }
      if !isSame(stored, object) { first = .updated(stored) }
      try follow(known, of: stored)
    } catch {
      workspace?.report(error)
    }
  }

  private func find(_ object: Element, _ source: dflat_source) throws -> Element? {
    var view = dflat_view()
    if object._rowid >= 0 {
      try call { dflat_find(source, maker.table, object._rowid, &view, $0) }
    } else if let atom = object as? any SQLiteAtom {
      try withKey(atom._primaryKey) { key in
        try call { dflat_get(source, maker.table, key, key.count, &view, $0) }
      }
    }
    return maker.optional(view)
  }

  /// Calls the closure with the first change, if there is one, and with another one. A change from
  /// before the turn of the registration takes the place of the first one.
  private func deliver(_ event: SubscribedObject<Element>?) {
    workspace?.onTarget {
      calls.lock()
      defer { calls.unlock() }
      let before = event == nil || isRegistered ? first : nil
      first = nil
      for event in [before, event] {
        if let event = event, gate.enters() { change(event) }
      }
    }
  }
}

/// The receiver of an object's changes.
private final class ObjectReceiver: @unchecked Sendable {
  let call: (Int32, dflat_view) -> Void

  init(_ call: @escaping (Int32, dflat_view) -> Void) {
    self.call = call
  }
}

private func receiveObject(
  _ context: UnsafeMutableRawPointer?, _ event: Int32, _ view: dflat_view
) {
  withLent(context, as: ObjectReceiver.self) { $0.call(event, view) }
}
