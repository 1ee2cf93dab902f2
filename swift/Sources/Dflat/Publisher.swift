#if canImport(Combine)
  import Combine

  /// Publishes the changes of an object, and finishes when it is deleted.
  open class AtomPublisher<Element: Atom & Equatable>: Publisher {
    public typealias Output = SubscribedObject<Element>
    public typealias Failure = Never
    public init() {}
    open func receive<S: Subscriber>(subscriber: S) where Failure == S.Failure, Output == S.Input {
      fatalError("a subclass implements this")
    }
  }

  /// Publishes the values of a key of the dictionary, the present one first. Never finishes.
  open class DictionaryValuePublisher<Element: Equatable>: Publisher {
    public typealias Output = SubscribedDictionaryValue<Element>
    public typealias Failure = Never
    public init() {}
    open func receive<S: Subscriber>(subscriber: S) where Failure == S.Failure, Output == S.Input {
      fatalError("a subclass implements this")
    }
  }

  /// Publishes the new results of a query. Never finishes.
  open class FetchedResultPublisher<Element: Atom & Equatable>: Publisher {
    public typealias Output = FetchedResult<Element>
    public typealias Failure = Never
    public init() {}
    open func receive<S: Subscriber>(subscriber: S) where Failure == S.Failure, Output == S.Input {
      fatalError("a subclass implements this")
    }
  }

  /// Publishes the results of a query, beginning with one that is fetched when the first subscriber
  /// requests values. A later subscriber begins with that result too, and then gets the present one,
  /// if it differs. Never finishes.
  open class QueryPublisher<Element: Atom & Equatable>: Publisher {
    public typealias Output = FetchedResult<Element>
    public typealias Failure = Never
    public init() {}
    open func receive<S: Subscriber>(subscriber: S) where Failure == S.Failure, Output == S.Input {
      fatalError("a subclass implements this")
    }
  }

  /// Makes publishers of queries of one type.
  open class QueryPublisherBuilder<Element: Atom & Equatable> {
    public init() {}

    /// The objects that meet a condition, in an order.
    open func `where`<T: Expr & SQLiteExpr>(
      _ query: T, limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = []
    ) -> QueryPublisher<Element> where T.ResultType == Bool, T.Element == Element {
      fatalError("a subclass implements this")
    }

    /// All objects, in an order.
    open func all(
      limit: Limit = .noLimit, orderBy: [OrderBy<Element>] = []
    ) -> QueryPublisher<Element> {
      fatalError("a subclass implements this")
    }
  }
#endif
