import Dflat
import DflatC

/// Functions that throw the errors which the calls of the original's interface report to `onError`.
extension SQLiteWorkspace {
  /// As `subscribe(object:changeHandler:)`. A delivery that fails is reported.
  public func subscribeOrThrow<Element: Atom & Equatable>(
    object: Element, changeHandler: @escaping (_: SubscribedObject<Element>) -> Void
  ) throws -> Workspace.Subscription {
    let subscription = SQLiteSubscription(Gate())
    try follow(object, subscription, changeHandler)
    return subscription
  }

  /// As `subscribe(fetchedResult:changeHandler:)`. A delivery that fails is reported.
  public func subscribeOrThrow<Element: Atom & Equatable>(
    fetchedResult: FetchedResult<Element>,
    changeHandler: @escaping (_: FetchedResult<Element>) -> Void
  ) throws -> Workspace.Subscription {
    let subscription = SQLiteSubscription(Gate())
    try follow(fetchedResult, subscription, changeHandler)
    return subscription
  }

  /// As `subscribe(object:bufferingPolicy:)`. A delivery that fails is reported.
  public func subscribeOrThrow<Element: Atom & Equatable>(
    object: Element,
    bufferingPolicy: AsyncStream<Element>.Continuation.BufferingPolicy = .bufferingNewest(1)
  ) throws -> AsyncStream<Element> {
    try stream(bufferingPolicy) { end in
      try subscribeOrThrow(object: object) { pass($0, to: end.continuation) }
    }
  }

  /// As `subscribe(fetchedResult:bufferingPolicy:)`. A delivery that fails is reported.
  public func subscribeOrThrow<Element: Atom & Equatable>(
    fetchedResult: FetchedResult<Element>,
    bufferingPolicy: AsyncStream<FetchedResult<Element>>.Continuation.BufferingPolicy =
      .bufferingNewest(1)
  ) throws -> AsyncStream<FetchedResult<Element>> {
    try stream(bufferingPolicy) { end in
      try subscribeOrThrow(fetchedResult: fetchedResult) { end.continuation.yield($0) }
    }
  }

  private func stream<Element>(
    _ policy: AsyncStream<Element>.Continuation.BufferingPolicy,
    _ subscribe: (StreamEnd<Element>) throws -> WorkspaceSubscription
  ) throws -> AsyncStream<Element> {
    var failure: Error?
    let stream = AsyncStream(Element.self, bufferingPolicy: policy) { continuation in
      do {
        keep(try subscribe(StreamEnd(continuation)), for: continuation)
      } catch {
        failure = error
      }
    }
    if let failure = failure { throw failure }
    return stream
  }

  /// As the asynchronous `performChanges`, but throws the error that the transaction ends with. The
  /// error of a transaction that was aborted has the code `DFLAT_ABORTED`.
  public func performChangesOrThrow(
    _ transactionalObjectTypes: [Any.Type], changesHandler: @escaping Workspace.ChangesHandler
  ) async throws {
    try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<Void, Error>) in
      performChanges(
        transactionalObjectTypes, changesHandler: changesHandler,
        resultHandler: { continuation.resume(with: $0) })
    }
  }

  /// As `shutdown(flags:)`, but throws an error instead of reporting it.
  public func shutdownOrThrow(flags: WorkspaceShutdownFlag = []) throws {
    guard let handle = try beginClosing(flags) else { return }
    let flags = UInt32(truncatingIfNeeded: flags.rawValue)
    try call { dflat_workspace_shutdown(handle.pointer, flags, $0) }
  }
}

extension SQLiteTransactionContext {
  /// The latest state of an object in this transaction, nil if it was deleted: that of its row, or
  /// of its primary key if the program made the object. `changeRequest` and `deletionRequest` give
  /// nil also if the object cannot be read; this function throws the error.
  public func latest<T: Atom & SQLiteAtom>(_ object: T) throws -> T? { try readLatest(object) }
}
