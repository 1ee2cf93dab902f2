import Dflat
import DflatC
import Foundation

/// A subscription of a workspace. It ends when it is released.
public final class SQLiteSubscription: WorkspaceSubscription, @unchecked Sendable {
  let gate: Gate
  private let lock = NSLock()
  private var handle: Handle?

  init(_ gate: Gate) {
    self.gate = gate
  }

  /// Keeps the handle until the subscription ends, which it may have done.
  func keep(_ handle: Handle) {
    lock.withLock {
      if gate.enters() { self.handle = handle }
    }
  }

  /// Ends the subscription: no new call of its closure starts afterwards. A call that was about to
  /// start on another thread counts as running. Never waits.
  public func cancel() {
    gate.close()
    let ended: Handle? = lock.withLock {
      defer { handle = nil }
      return handle
    }
    _ = ended
  }

  /// Ends the subscription: when this returns, no call of its closure runs and none follows. In a
  /// handler or a callback, does not wait for a call that runs. Must not be called on the target
  /// queue: the call for which it waits may wait for that queue.
  public func cancelAndWait() {
    gate.close()
    let ended: Handle? = lock.withLock {
      defer { handle = nil }
      return handle
    }
    if let ended = ended {
      _ = dflat_subscription_cancel(ended.pointer, nil)
    }
  }

  deinit {
    gate.close()
  }
}

/// Whether calls of a closure may start.
final class Gate: @unchecked Sendable {
  private let lock = NSLock()
  private var isOpen = true
  private var ending: (() -> Void)?

  func close() {
    let ending: (() -> Void)? = lock.withLock {
      isOpen = false
      defer { self.ending = nil }
      return self.ending
    }
    ending?()
  }

  /// Whether a call starts now.
  func enters() -> Bool {
    lock.withLock { isOpen }
  }

  /// Calls a closure when the gate closes; at once if it is closed.
  func atEnd(_ ending: @escaping () -> Void) {
    let isClosed: Bool = lock.withLock {
      if isOpen { self.ending = ending }
      return !isOpen
    }
    if isClosed { ending() }
  }
}

/// The receiver of a query's results.
final class ResultReceiver: @unchecked Sendable {
  let call: (Result<OpaquePointer, DflatError>) -> Void

  init(_ call: @escaping (Result<OpaquePointer, DflatError>) -> Void) {
    self.call = call
  }
}

func receiveResult(
  _ context: UnsafeMutableRawPointer?, _ code: dflat_code, _ failure: OpaquePointer?,
  _ delivery: OpaquePointer?
) {
  withLent(context, as: ResultReceiver.self) { receiver in
    if code == DFLAT_OK.code, let delivery = delivery {
      receiver.call(.success(delivery))
    } else {
      receiver.call(.failure(DflatError(code, failure)))
    }
  }
}

extension SQLiteWorkspace {
  public func subscribe<Element: Atom & Equatable>(
    object: Element, changeHandler: @escaping (_: SubscribedObject<Element>) -> Void
  ) -> Workspace.Subscription {
    let subscription = SQLiteSubscription(Gate())
    reported { try follow(object, subscription, changeHandler) }
    return subscription
  }

  public func subscribe<Element: Atom & Equatable>(
    fetchedResult: FetchedResult<Element>,
    changeHandler: @escaping (_: FetchedResult<Element>) -> Void
  ) -> Workspace.Subscription {
    let subscription = SQLiteSubscription(Gate())
    reported { try follow(fetchedResult, subscription, changeHandler) }
    return subscription
  }

  public func subscribe<Element: Atom & Equatable>(
    object: Element, bufferingPolicy: AsyncStream<Element>.Continuation.BufferingPolicy
  ) -> AsyncStream<Element> {
    AsyncStream(bufferingPolicy: bufferingPolicy) { continuation in
      let end = StreamEnd(continuation)
      keep(subscribe(object: object) { pass($0, to: end.continuation) }, for: continuation)
    }
  }

  public func subscribe<Element: Atom & Equatable>(
    fetchedResult: FetchedResult<Element>,
    bufferingPolicy: AsyncStream<FetchedResult<Element>>.Continuation.BufferingPolicy
  ) -> AsyncStream<FetchedResult<Element>> {
    AsyncStream(bufferingPolicy: bufferingPolicy) { continuation in
      let end = StreamEnd(continuation)
      let subscription = subscribe(fetchedResult: fetchedResult) { end.continuation.yield($0) }
      keep(subscription, for: continuation)
    }
  }

  private func reported(_ work: () throws -> Void) {
    do {
      try work()
    } catch {
      report(error)
    }
  }

  func follow<Element: Atom & Equatable>(
    _ object: Element, _ subscription: SQLiteSubscription,
    _ change: @escaping (SubscribedObject<Element>) -> Void
  ) throws {
    let follower = ObjectFollower(self, subscription, change)
    if let known = object.stored {
      try follower.follow(known, of: object)
    } else {
      try follower.lookUp(object)
    }
  }

  func follow<Element: Atom & Equatable>(
    _ fetchedResult: FetchedResult<Element>, _ subscription: SQLiteSubscription,
    _ change: @escaping (FetchedResult<Element>) -> Void
  ) throws {
    guard let origin = fetchedResult._origin as? QueryOrigin<Element> else {
      throw DflatError(
        code: DFLAT_INVALID_ARGUMENT.code,
        message: "cannot subscribe to a result of \(Element.self): no query belongs to it")
    }
    let handle = try opened()
    let gate = subscription.gate
    let maker = ObjectMaker<Element>(timestamp: -1)
    let last = LastResult(fetchedResult)
    let receiver = ResultReceiver { [weak self] delivery in
      guard let self = self else { return }
      do {
        let delivery = try delivery.get()
        let stored = try StoredResult(
          Handle(release: dflat_result_release) { dflat_delivery_result(delivery, $0, $1) })
        let result = origin.result(stored, maker)
        if !origin.parts.isWhole, isSame(last.value, result) { return }
        if origin.isFailed, last.value.isEmpty, result.isEmpty { return }
        last.value = result
        self.onTarget { if gate.enters() { change(result) } }
      } catch {
        self.report(error)
      }
    }
    let callback = dflat_result_callback(
      context: context(receiver), call: receiveResult, drop: released)
    let known = origin.known?.handle.pointer
    subscription.keep(
      try Handle(release: dflat_subscription_release) {
        dflat_subscribe_query(handle.pointer, origin.query.pointer, known, 0, callback, $0, $1)
      })
  }
}

/// Passes the change of an object to a stream, which its deletion ends.
func pass<Element: Atom>(
  _ change: SubscribedObject<Element>, to continuation: AsyncStream<Element>.Continuation
) {
  switch change {
  case .updated(let object): continuation.yield(Unchecked(object).value)
  case .deleted: continuation.finish()
  }
}

/// Finishes a stream when the closure of its subscription is released, as at the shutdown.
final class StreamEnd<Element> {
  let continuation: AsyncStream<Element>.Continuation

  init(_ continuation: AsyncStream<Element>.Continuation) {
    self.continuation = continuation
  }

  deinit {
    continuation.finish()
  }
}

/// Keeps a subscription until its stream ends.
func keep<Element>(
  _ subscription: WorkspaceSubscription, for continuation: AsyncStream<Element>.Continuation
) {
  let kept = Unchecked(subscription)
  continuation.onTermination = { _ in kept.value.cancel() }
}

/// The result that a subscriber got last; the calls of one subscriber are one after the other.
private final class LastResult<Element: Atom>: @unchecked Sendable {
  var value: FetchedResult<Element>

  init(_ value: FetchedResult<Element>) {
    self.value = value
  }
}

/// A value that the library passes to another thread, which is the only one to use it then.
struct Unchecked<Value>: @unchecked Sendable {
  let value: Value

  init(_ value: Value) {
    self.value = value
  }
}
