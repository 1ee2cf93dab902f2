import Dflat
import Foundation
import Generated_bench_doc
@testable import SQLiteDflat
import XCTest

/// Counts of what is still kept, by weak references.
private final class Kept {
  private struct Weak {
    weak var object: AnyObject?
  }

  private var known: [String: [Weak]] = [:]
  private let lock = NSLock()

  func add(_ kind: String, _ object: AnyObject?) {
    lock.withLock { known[kind, default: []].append(Weak(object: object)) }
  }

  /// The number of objects of each kind that were added.
  var added: [String: Int] { lock.withLock { known.mapValues(\.count) } }

  /// The kinds that are still kept, with their numbers.
  var counts: [String: Int] {
    lock.withLock {
      known.mapValues { $0.filter { $0.object != nil }.count }.filter { $0.value > 0 }
    }
  }
}

/// An object of a closure.
private final class Token {}

/// Nothing is kept once the program has released it and the workspace is shut down.
final class LeakTests: FileTestCase {
  private let rounds = 10

  /// Waits for the end of work on other threads, which releases what it has used.
  private func expectNothing(_ kept: Kept, line: UInt = #line) {
    let end = Date(timeIntervalSinceNow: 60)
    while !kept.counts.isEmpty, Date() < end { Thread.sleep(forTimeInterval: 0.01) }
    XCTAssertEqual(kept.counts, [:], line: line)
  }

  func testObjectsAndResultsAreReleased() throws {
    let kept = Kept()
    let workspace = open()
    workspace.insert((0..<20).map { "\($0)" })
    try Array(0..<rounds).forEach { _ in
      let result = workspace.fetch(for: BenchDoc.self).all()
      kept.add("result", result)
      for object in result {
        kept.add("object", object)
        kept.add("payload", object._payload?.owner)
      }
      let origin = result._origin as? QueryOrigin<BenchDoc>
      kept.add("stored result", origin?.known)
      kept.add("query", origin?.query)
      let snapshot = try workspace.snapshot()
      kept.add("snapshot", snapshot)
      kept.add("handle of a snapshot", snapshot.handle)
      workspace.fetchWithinASnapshot {
        kept.add("object in a snapshot", workspace.fetch(for: BenchDoc.self).all()[0])
      }
      workspace.wait([BenchDoc.self]) { context in
        kept.add("transaction", context as? SQLiteTransactionContext)
        let request = BenchDocChangeRequest.changeRequest(result[0])!
        request.priority += 1
        kept.add("request", request)
        guard case .updated(let object)? = context.try(submit: request) else { return }
        kept.add("submitted object", object)
      }
    }
    XCTAssertEqual(kept.added["object"], 20 * rounds)
    XCTAssertEqual(kept.added["submitted object"], rounds)
    expectNothing(kept)
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 20)
  }

  func testSubscriptionsAndTheirClosuresAreReleased() throws {
    let kept = Kept()
    let workspace = open()
    workspace.insert(["a", "b"])
    func closure() -> Token {
      let token = Token()
      kept.add("closure", token)
      return token
    }
    try Array(0..<rounds).forEach { round in
      let found = workspace.fetch(for: BenchDoc.self).all()
      let tokens = (0..<5).map { _ in closure() }
      let query = workspace.fetch(for: BenchDoc.self)
      let subscriptions: [WorkspaceSubscription] = [
        workspace.subscribe(fetchedResult: found) { _ in withExtendedLifetime(tokens[0]) {} },
        workspace.subscribe(object: found[0]) { _ in withExtendedLifetime(tokens[1]) {} },
        workspace.subscribe(object: BenchDoc(title: "b")) { _ in
          withExtendedLifetime(tokens[2]) {}
        },
        try query.subscribe { _, _ in withExtendedLifetime(tokens[3]) {} },
        try query.subscribeCount { _ in withExtendedLifetime(tokens[4]) {} },
      ]
      let token = closure()
      let ofKey = workspace.dictionary.subscribe("key", of: Int.self) { _ in
        withExtendedLifetime(token) {}
      }
      workspace.dictionary["key"] = round
      workspace.insert(["\(round)"])
      for subscription in subscriptions + [ofKey] {
        kept.add("subscription", subscription as? SQLiteSubscription)
        if round % 2 == 0 { subscription.cancel() }
      }
    }
    XCTAssertEqual(kept.added, ["closure": 6 * rounds, "subscription": 6 * rounds])
    workspace.wait([BenchDoc.self]) { _ in }
    expectNothing(kept)
    workspace.shutdown()
  }

  func testStreamsAreReleased() async {
    let kept = Kept()
    let workspace = open()
    await workspace.performChanges([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
    }
    for round in 0..<rounds {
      let found = workspace.fetch(for: BenchDoc.self).all()
      kept.add("result", found)
      let results = workspace.subscribe(fetchedResult: found, bufferingPolicy: .unbounded)
      let values = workspace.dictionary.subscribe("key", of: Int.self)
      await workspace.performChanges([BenchDoc.self]) { context in
        let request = BenchDocChangeRequest.changeRequest(BenchDoc(title: "a"))!
        request.priority = Int32(round + 1)
        context.try(submit: request)
      }
      for await result in results {
        kept.add("delivered", result)
        break
      }
      for await _ in values { break }
    }
    XCTAssertEqual(kept.added["delivered"], rounds)
    expectNothing(kept)
  }

  func testHandlersCompletionsAndWorkspacesAreReleased() {
    let kept = Kept()
    for round in 0..<rounds {
      let workspace = open()
      let (handler, completion, errors) = (Token(), Token(), Token())
      kept.add("handler", handler)
      kept.add("completion", completion)
      kept.add("handler of errors", errors)
      kept.add("workspace", workspace)
      kept.add("engine", workspace.engine)
      kept.add("dictionary", workspace.entries)
      workspace.onError = { _ in withExtendedLifetime(errors) {} }
      workspace.dictionary["key"] = round
      let done = DispatchSemaphore(value: 0)
      workspace.performChanges([BenchDoc.self]) { context in
        withExtendedLifetime(handler) {
          _ = context.try(
            submit: BenchDocChangeRequest.upsertRequest(BenchDoc(title: "a", priority: Int32(round))))
        }
      } completionHandler: { _ in
        withExtendedLifetime(completion) {}
        done.signal()
      }
      done.wait()
      if round % 2 == 0 { workspace.shutdown() }
    }
    XCTAssertEqual(kept.added["workspace"], rounds)
    expectNothing(kept)
  }

  func testObjectsMayBeReadOnManyThreads() {
    let workspace = open()
    workspace.wait([BenchDoc.self]) { context in
      let object = BenchDoc(
        title: "a", pos: Vec3(x: 1), content: .imageContent(ImageContent(images: ["i", "j"])))
      context.try(submit: BenchDocChangeRequest.creationRequest(object))
    }
    let found = workspace.fetch(for: BenchDoc.self).all()
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<100 {
        XCTAssertEqual(found[0].content, .imageContent(ImageContent(images: ["i", "j"])))
        XCTAssertEqual(found[0].pos?.x, 1)
      }
    }
  }
}
