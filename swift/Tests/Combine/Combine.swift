// The part of Apple's module Combine that the publishers use, so that they are compiled and run on
// systems that have no Combine. The tests of the package build it, and no program does.

import Dispatch

public struct CombineIdentifier: Hashable, Sendable {
  private let object: ObjectIdentifier
  public init(_ object: AnyObject) { self.object = ObjectIdentifier(object) }
}

public protocol CustomCombineIdentifierConvertible {
  var combineIdentifier: CombineIdentifier { get }
}

extension CustomCombineIdentifierConvertible where Self: AnyObject {
  public var combineIdentifier: CombineIdentifier { CombineIdentifier(self) }
}

public protocol Cancellable {
  func cancel()
}

public protocol Subscription: Cancellable, CustomCombineIdentifierConvertible {
  func request(_ demand: Subscribers.Demand)
}

public enum Subscribers {
  public struct Demand: Equatable, Sendable {
    private let count: Int
    public static let none = Demand(count: 0)
    public static let unlimited = Demand(count: .max)
    public static func max(_ count: Int) -> Demand { Demand(count: count) }
  }

  public enum Completion<Failure: Error> {
    case finished
    case failure(Failure)
  }
}

public protocol Subscriber<Input, Failure>: CustomCombineIdentifierConvertible {
  associatedtype Input
  associatedtype Failure: Error
  func receive(subscription: Subscription)
  func receive(_ input: Input) -> Subscribers.Demand
  func receive(completion: Subscribers.Completion<Failure>)
}

public protocol Publisher<Output, Failure> {
  associatedtype Output
  associatedtype Failure: Error
  func receive<S: Subscriber>(subscriber: S) where Failure == S.Failure, Output == S.Input
}

public final class AnyCancellable: Cancellable, Hashable {
  private let ended: () -> Void
  public init(_ ended: @escaping () -> Void) { self.ended = ended }
  public func cancel() { ended() }
  public static func == (lhs: AnyCancellable, rhs: AnyCancellable) -> Bool { lhs === rhs }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  deinit { ended() }
}

private final class Sink<Input, Failure: Error>: Subscriber, @unchecked Sendable {
  let value: (Input) -> Void
  let completion: (Subscribers.Completion<Failure>) -> Void
  private var subscription: Subscription?
  private var isCancelled = false

  init(
    _ value: @escaping (Input) -> Void,
    _ completion: @escaping (Subscribers.Completion<Failure>) -> Void
  ) {
    self.value = value
    self.completion = completion
  }

  func receive(subscription: Subscription) {
    self.subscription = subscription
    subscription.request(.unlimited)
  }

  func receive(_ input: Input) -> Subscribers.Demand {
    value(input)
    return .none
  }

  func receive(completion: Subscribers.Completion<Failure>) { self.completion(completion) }

  func cancel() { subscription?.cancel() }
}

extension Publisher {
  public func subscribe<S: Subscriber>(_ subscriber: S)
  where Failure == S.Failure, Output == S.Input {
    receive(subscriber: subscriber)
  }

  public func sink(
    receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
    receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    let sink = Sink<Output, Failure>(receiveValue, receiveCompletion)
    subscribe(sink)
    return AnyCancellable { sink.cancel() }
  }

  public func subscribe(on queue: DispatchQueue) -> SubscribeOn<Self> {
    SubscribeOn(upstream: self, queue: queue)
  }
}

extension Publisher where Failure == Never {
  public func sink(receiveValue: @escaping (Output) -> Void) -> AnyCancellable {
    sink(receiveCompletion: { _ in }, receiveValue: receiveValue)
  }
}

/// Subscribes on a queue, and waits for that.
public struct SubscribeOn<Upstream: Publisher>: Publisher {
  public typealias Output = Upstream.Output
  public typealias Failure = Upstream.Failure
  let upstream: Upstream
  let queue: DispatchQueue

  public func receive<S: Subscriber>(subscriber: S) where Failure == S.Failure, Output == S.Input {
    queue.sync { upstream.receive(subscriber: subscriber) }
  }
}
