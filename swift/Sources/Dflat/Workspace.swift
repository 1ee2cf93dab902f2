/// A source of objects.
public protocol Queryable {
  /// Begins a query of a type. The query is run by `where` or `all` of the builder.
  func fetch<Element: Atom>(for ofType: Element.Type) -> QueryBuilder<Element>
  /// Calls a closure and returns its result. All fetches of the closure on this thread see one
  /// state: that of the first fetch. Writers do not wait for the closure.
  func fetchWithinASnapshot<T>(_: () -> T) -> T
}

/// A subscription, which ends when it is released.
public protocol WorkspaceSubscription {
  /// Ends the subscription: no new call of its closure starts afterwards. Never waits, also not
  /// for a call that runs. A second call does nothing.
  func cancel()
}

/// A change of an object.
public enum SubscribedObject<Element: Atom> {
  /// The object has new values.
  case updated(_: Element)
  /// The object was deleted, which ends the subscription.
  case deleted
}

/// The changes that a shutdown makes to the file.
public struct WorkspaceShutdownFlag: OptionSet, Sendable {
  public let rawValue: Int
  public init(rawValue: Int) {
    self.rawValue = rawValue
  }
  /// Leaves one file, without a write-ahead log beside it.
  public static let truncate = WorkspaceShutdownFlag(rawValue: 1 << 0)
  /// Gives unused space back to the file system.
  public static let vacuum = WorkspaceShutdownFlag(rawValue: 2 << 0)
}

/// A database of objects.
public protocol Workspace: Queryable {
  typealias ShutdownFlag = WorkspaceShutdownFlag
  /// Finishes the transactions queued so far, ends all subscriptions, and closes the file. Without
  /// a completion, blocks until that is done.
  ///
  /// Afterwards, fetches are empty, transactions fail, and a second shutdown ends at once.
  func shutdown(flags: ShutdownFlag, completion: (() -> Void)?)

  typealias ChangesHandler = (_ transactionContext: TransactionContext) -> Void
  typealias CompletionHandler = (_ success: Bool) -> Void
  /// Queues a transaction over types, and returns at once.
  ///
  /// The handler runs on another thread. Transactions that share a type run in the order of the
  /// calls. The completion is called once: after the callbacks of subscriptions, or before this
  /// returns if the workspace is shut down. It gets true if the changes were committed.
  ///
  /// At least one type is named. The program ends if the handler submits a change of another type.
  ///
  ///     workspace.performChanges([Note.self]) { transactionContext in
  ///       let note = Note(title: "milk", priority: 2)
  ///       transactionContext.try(submit: NoteChangeRequest.upsertRequest(note))
  ///     } completionHandler: { success in
  ///       print(success)
  ///     }
  func performChanges(
    _ transactionalObjectTypes: [Any.Type], changesHandler: @escaping ChangesHandler,
    completionHandler: CompletionHandler?)

  /// Small values by key, in the same file as the objects.
  var dictionary: WorkspaceDictionary { get set }

  typealias Subscription = WorkspaceSubscription
  /// Subscribes to the query of a result: the closure gets the new result after each transaction
  /// that changes the result, on the workspace's target queue, or else on a thread of the library.
  /// If the result has changed since it was fetched, the closure gets the present one soon.
  ///
  /// A result that the program made has no query: its closure is never called.
  func subscribe<Element: Atom & Equatable>(
    fetchedResult: FetchedResult<Element>,
    changeHandler: @escaping (_: FetchedResult<Element>) -> Void
  ) -> Subscription
  /// Subscribes to an object: the closure gets each change, and at last the deletion, on the
  /// workspace's target queue, or else on a thread of the library. If the object has changed since
  /// it was read, the closure is called soon.
  func subscribe<Element: Atom & Equatable>(
    object: Element, changeHandler: @escaping (_: SubscribedObject<Element>) -> Void
  ) -> Subscription

  /// The new values of an object. The stream ends when the object is deleted, and with the shutdown.
  func subscribe<Element: Atom & Equatable>(
    object: Element, bufferingPolicy: AsyncStream<Element>.Continuation.BufferingPolicy
  ) -> AsyncStream<Element>
  /// The new results of a query. The stream ends with the shutdown.
  func subscribe<Element: Atom & Equatable>(
    fetchedResult: FetchedResult<Element>,
    bufferingPolicy: AsyncStream<FetchedResult<Element>>.Continuation.BufferingPolicy
  ) -> AsyncStream<FetchedResult<Element>>

  #if canImport(Combine)
    /// Publishes the changes of an object, and finishes when it is deleted.
    func publisher<Element: Atom & Equatable>(for: Element) -> AtomPublisher<Element>
    /// Publishes the new results of a query.
    func publisher<Element: Atom & Equatable>(for: FetchedResult<Element>)
      -> FetchedResultPublisher<Element>
    /// Begins the query of a publisher, which fetches when a subscriber asks for values first.
    func publisher<Element: Atom & Equatable>(for: Element.Type) -> QueryPublisherBuilder<Element>
  #endif
}

extension Workspace {
  public func shutdown(flags: ShutdownFlag) {
    shutdown(flags: flags, completion: nil)
  }

  public func shutdown() {
    shutdown(flags: [], completion: nil)
  }

  public func shutdown(completion: (() -> Void)?) {
    shutdown(flags: [], completion: completion)
  }

  public func performChanges(
    _ transactionalObjectTypes: [Any.Type], changesHandler: @escaping ChangesHandler
  ) {
    performChanges(
      transactionalObjectTypes, changesHandler: changesHandler, completionHandler: nil)
  }

  public func shutdown() async {
    await shutdown(flags: [])
  }

  public func shutdown(flags: ShutdownFlag) async {
    await withCheckedContinuation { continuation in
      shutdown(flags: flags, completion: { continuation.resume() })
    }
  }

  /// Performs a transaction, and returns after its end whether the changes were committed.
  @discardableResult
  public func performChanges(
    _ transactionalObjectTypes: [Any.Type], changesHandler: @escaping ChangesHandler
  ) async -> Bool {
    await withCheckedContinuation { continuation in
      performChanges(
        transactionalObjectTypes, changesHandler: changesHandler,
        completionHandler: { continuation.resume(returning: $0) })
    }
  }

  public func subscribe<Element: Atom & Equatable>(object: Element) -> AsyncStream<Element> {
    subscribe(object: object, bufferingPolicy: .bufferingNewest(1))
  }

  public func subscribe<Element: Atom & Equatable>(
    fetchedResult: FetchedResult<Element>
  ) -> AsyncStream<FetchedResult<Element>> {
    subscribe(fetchedResult: fetchedResult, bufferingPolicy: .bufferingNewest(1))
  }
}
