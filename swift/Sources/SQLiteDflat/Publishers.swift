#if canImport(Combine)
  import Combine
  import Dflat
  import FlatBuffers
  import Foundation

  /// A subscription of Combine, which begins with the first demand. Later demands do not count:
  /// every change is published.
  private final class Publication<S: Subscriber>: Combine.Subscription, @unchecked Sendable {
    typealias Begin = (Publication) -> WorkspaceSubscription

    private let lock = NSLock()
    private var subscriber: S?
    private var begin: Begin?
    private var subscription: WorkspaceSubscription?

    init(_ subscriber: S, _ begin: @escaping Begin) {
      self.subscriber = subscriber
      self.begin = begin
    }

    func request(_ demand: Subscribers.Demand) {
      guard demand != .none else { return }
      let begin: Begin? = lock.withLock {
        defer { self.begin = nil }
        return self.begin
      }
      guard let begin = begin else { return }
      let begun = Unchecked(begin(self))
      let isCancelled = lock.withLock {
        if subscriber != nil { subscription = begun.value }
        return subscriber == nil
      }
      if isCancelled { begun.value.cancel() }
    }

    func cancel() {
      let ended: Unchecked<WorkspaceSubscription?> = lock.withLock {
        defer { (subscriber, begin, subscription) = (nil, nil, nil) }
        return Unchecked(subscription)
      }
      ended.value?.cancel()
    }

    func publish(_ value: S.Input) {
      _ = current?.receive(value)
    }

    func finish() {
      let last = current
      cancel()
      last?.receive(completion: .finished)
    }

    private var current: S? { lock.withLock { Unchecked(subscriber) }.value }
  }

  private final class ObjectPublisher<Element: Atom & Equatable>: AtomPublisher<Element> {
    private let workspace: SQLiteWorkspace
    private let object: Element

    init(_ workspace: SQLiteWorkspace, _ object: Element) {
      self.workspace = workspace
      self.object = object
    }

    override func receive<S: Subscriber>(subscriber: S)
    where Failure == S.Failure, Output == S.Input {
      let publication = Publication(subscriber) { [workspace, object] publication in
        workspace.subscribe(object: object) { [weak publication] change in
          publication?.publish(change)
          if case .deleted = change { publication?.finish() }
        }
      }
      subscriber.receive(subscription: publication)
    }
  }

  private final class ResultPublisher<Element: Atom & Equatable>: FetchedResultPublisher<Element> {
    private let workspace: SQLiteWorkspace
    private let result: FetchedResult<Element>

    init(_ workspace: SQLiteWorkspace, _ result: FetchedResult<Element>) {
      self.workspace = workspace
      self.result = result
    }

    override func receive<S: Subscriber>(subscriber: S)
    where Failure == S.Failure, Output == S.Input {
      let publication = Publication(subscriber) { [workspace, result] publication in
        workspace.subscribe(fetchedResult: result) { [weak publication] in
          publication?.publish($0)
        }
      }
      subscriber.receive(subscription: publication)
    }
  }

  /// Fetches once, for all of its subscribers.
  private final class FetchingPublisher<Element: Atom & Equatable>: QueryPublisher<Element> {
    private let workspace: SQLiteWorkspace
    private let fetch: () -> FetchedResult<Element>
    private let lock = NSLock()
    private var known: FetchedResult<Element>?

    init(_ workspace: SQLiteWorkspace, _ fetch: @escaping () -> FetchedResult<Element>) {
      self.workspace = workspace
      self.fetch = fetch
    }

    private var first: FetchedResult<Element> {
      lock.withLock {
        if let known = known { return known }
        let fetched = fetch()
        // The next subscriber tries a fetch that failed again.
        let origin = fetched._origin as? QueryOrigin<Element>
        if origin?.isFailed == false { known = fetched }
        return fetched
      }
    }

    override func receive<S: Subscriber>(subscriber: S)
    where Failure == S.Failure, Output == S.Input {
      let publication = Publication(subscriber) { [self] publication in
        let result = first
        publication.publish(result)
        return workspace.subscribe(fetchedResult: result) { [weak publication] in
          publication?.publish($0)
        }
      }
      subscriber.receive(subscription: publication)
    }
  }

  private final class FetchingPublisherBuilder<Element: Atom & Equatable>:
    QueryPublisherBuilder<Element>
  {
    private let workspace: SQLiteWorkspace

    init(_ workspace: SQLiteWorkspace) {
      self.workspace = workspace
    }

    override func `where`<T: Expr & SQLiteExpr>(
      _ query: T, limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = []
    ) -> QueryPublisher<Element> where T.ResultType == Bool, T.Element == Element {
      FetchingPublisher(workspace) { [workspace] in
        workspace.fetch(for: Element.self).where(query, limit: limit, orderBy: orderBy)
      }
    }

    override func all(
      limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = []
    ) -> QueryPublisher<Element> {
      FetchingPublisher(workspace) { [workspace] in
        workspace.fetch(for: Element.self).all(limit: limit, orderBy: orderBy)
      }
    }
  }

  private final class DictionaryPublisher<Element: Equatable>: DictionaryValuePublisher<Element> {
    typealias Change = (SubscribedDictionaryValue<Element>) -> Void
    private let follow: (@escaping Change) -> WorkspaceSubscription

    init(_ follow: @escaping (@escaping Change) -> WorkspaceSubscription) {
      self.follow = follow
    }

    override func receive<S: Subscriber>(subscriber: S)
    where Failure == S.Failure, Output == S.Input {
      let publication = Publication(subscriber) { [follow] publication in
        follow { [weak publication] in publication?.publish($0) }
      }
      subscriber.receive(subscription: publication)
    }
  }

  extension SQLiteWorkspace {
    public func publisher<Element: Atom & Equatable>(for object: Element) -> AtomPublisher<Element>
    {
      ObjectPublisher(self, object)
    }

    public func publisher<Element: Atom & Equatable>(
      for fetchedResult: FetchedResult<Element>
    ) -> FetchedResultPublisher<Element> {
      ResultPublisher(self, fetchedResult)
    }

    public func publisher<Element: Atom & Equatable>(
      for: Element.Type
    ) -> QueryPublisherBuilder<Element> {
      FetchingPublisherBuilder(self)
    }
  }

  extension SQLiteWorkspaceDictionary {
    func publisher<T: Codable & Equatable>(_ key: String, of type: T.Type) -> DictionaryValuePublisher<T> {
      DictionaryPublisher { follow(key, .codable, $0) }
    }

    func publisher<T: FlatBuffersCodable & Equatable>(_ key: String, of type: T.Type) -> DictionaryValuePublisher<T> {
      DictionaryPublisher { follow(key, .flatBuffers, $0) }
    }

    func publisher(_ key: String, of type: Bool.Type) -> DictionaryValuePublisher<Bool> {
      DictionaryPublisher { follow(key, .bool, $0) }
    }

    func publisher(_ key: String, of type: Int.Type) -> DictionaryValuePublisher<Int> {
      DictionaryPublisher { follow(key, .int, $0) }
    }

    func publisher(_ key: String, of type: UInt.Type) -> DictionaryValuePublisher<UInt> {
      DictionaryPublisher { follow(key, .uint, $0) }
    }

    func publisher(_ key: String, of type: Float.Type) -> DictionaryValuePublisher<Float> {
      DictionaryPublisher { follow(key, .float, $0) }
    }

    func publisher(_ key: String, of type: Double.Type) -> DictionaryValuePublisher<Double> {
      DictionaryPublisher { follow(key, .double, $0) }
    }

    func publisher(_ key: String, of type: String.Type) -> DictionaryValuePublisher<String> {
      DictionaryPublisher { follow(key, .string, $0) }
    }
  }
#endif
