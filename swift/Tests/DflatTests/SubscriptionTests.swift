import Dflat
import Foundation
import Generated_bench_doc
import SQLiteDflat
import XCTest

/// Counts its instances, to show that closures are released.
private final class Canary {
  private let count: Shared<Int>

  init(_ count: Shared<Int>) {
    self.count = count
    count.change { $0 += 1 }
  }

  deinit {
    count.change { $0 -= 1 }
  }
}

final class SubscriptionTests: FileTestCase {
  private func update(_ workspace: SQLiteWorkspace, _ title: String, priority: Int32) {
    workspace.wait([BenchDoc.self]) { context in
      guard let request = BenchDocChangeRequest.changeRequest(BenchDoc(title: title)) else {
        return
      }
      request.priority = priority
      context.try(submit: request)
    }
  }

  private func delete(_ workspace: SQLiteWorkspace, _ title: String) {
    workspace.wait([BenchDoc.self]) { context in
      guard let request = BenchDocChangeRequest.deletionRequest(BenchDoc(title: title)) else {
        return
      }
      context.try(submit: request)
    }
  }

  func testObjectIsDeliveredUntilItIsDeleted() {
    let workspace = open()
    workspace.insert(["a", "b"])
    let events = Shared<[String]>([])
    let object = workspace.fetch(for: BenchDoc.self).where(BenchDoc.title == "a")[0]
    let subscription = workspace.subscribe(object: object) { change in
      switch change {
      case .updated(let object): events.change { $0.append("\(object.priority)") }
      case .deleted: events.change { $0.append("deleted") }
      }
    }
    update(workspace, "a", priority: 5)
    update(workspace, "a", priority: 5)
    update(workspace, "b", priority: 7)
    XCTAssertEqual(events.value, ["5"], "delivered before the completion")
    delete(workspace, "a")
    workspace.insert(["a"])
    XCTAssertEqual(events.value, ["5", "deleted"])
    subscription.cancel()
  }

  func testOldObjectIsDeliveredOnceItIsSubscribed() {
    let workspace = open()
    workspace.insert(["a", "b"])
    let old = workspace.fetch(for: BenchDoc.self).all()
    update(workspace, "a", priority: 5)
    delete(workspace, "b")
    let events = Shared<[String]>([])
    let subscriptions = old.map { object in
      workspace.subscribe(object: object) { change in
        switch change {
        case .updated(let object): events.change { $0.append("\(object.priority)") }
        case .deleted: events.change { $0.append("deleted") }
        }
      }
    }
    workspace.wait([BenchDoc.self]) { _ in }
    update(workspace, "a", priority: 6)
    XCTAssertEqual(Set(events.value), ["5", "deleted", "6"])
    XCTAssertEqual(events.value.count, 3)
    subscriptions.forEach { $0.cancel() }
  }

  func testResultIsDeliveredWithItsLimit() {
    let workspace = open()
    workspace.insert(["a", "b", "c", "d"])
    let results = Shared<[[String]]>([])
    let first = workspace.fetch(for: BenchDoc.self).where(
      BenchDoc.priority >= 1, limit: .limit(2), orderBy: [BenchDoc.priority.ascending])
    XCTAssertEqual(first.map(\.title), ["b", "c"])
    let subscription = workspace.subscribe(fetchedResult: first) { result in
      results.change { $0.append(result.map(\.title)) }
    }
    update(workspace, "b", priority: 50)
    delete(workspace, "c")
    workspace.insert(["e"])
    XCTAssertEqual(results.value, [["c", "d"], ["d", "b"]])
    subscription.cancel()
    delete(workspace, "d")
    XCTAssertEqual(results.value.count, 2)
  }

  func testOldResultIsDeliveredOnceItIsSubscribed() {
    let workspace = open()
    workspace.insert(["a"])
    let old = workspace.fetch(for: BenchDoc.self).all()
    workspace.insert(["b"])
    let results = Shared<[[String]]>([])
    let current = Shared(0)
    let subscriptions = [
      workspace.subscribe(fetchedResult: old) { result in
        results.change { $0.append(result.map(\.title)) }
      },
      workspace.subscribe(fetchedResult: workspace.fetch(for: BenchDoc.self).all()) { _ in
        current.change { $0 += 1 }
      },
    ]
    workspace.wait([BenchDoc.self]) { _ in }
    workspace.insert(["c"])
    XCTAssertEqual(results.value, [["a", "b"], ["a", "b", "c"]])
    XCTAssertEqual(current.value, 1)
    subscriptions.forEach { $0.cancel() }
  }

  func testDeliveredResultCanBeSubscribed() {
    let workspace = open()
    let delivered = Shared<FetchedResult<BenchDoc>?>(nil)
    let one = workspace.subscribe(fetchedResult: workspace.fetch(for: BenchDoc.self).all()) {
      delivered.value = $0
    }
    workspace.insert(["a"])
    let counts = Shared<[Int]>([])
    let other = workspace.subscribe(fetchedResult: delivered.value!) { result in
      counts.change { $0.append(result.count) }
    }
    workspace.insert(["b"])
    XCTAssertEqual(counts.value, [2])
    one.cancel()
    other.cancel()
  }

  func testResultOfAHandMadeFieldIsDelivered() {
    let workspace = open()
    workspace.insert(["a", "bb"])
    let length = FieldExpr<Int64, BenchDoc>(
      name: "length", primaryKey: false, hasIndex: false, tableReader: { _ in nil },
      objectReader: { Int64($0.title.count) })
    let results = Shared<[[String]]>([])
    let first = workspace.fetch(for: BenchDoc.self).where(length >= 2)
    let subscription = workspace.subscribe(fetchedResult: first) { result in
      results.change { $0.append(result.map(\.title)) }
    }
    workspace.insert(["c"])
    workspace.insert(["ddd"])
    XCTAssertEqual(results.value, [["bb", "ddd"]])
    subscription.cancel()
  }

  func testNoCallStartsAfterCancel() {
    let workspace = open()
    workspace.insert(["a"])
    let object = workspace.fetch(for: BenchDoc.self).all()[0]
    update(workspace, "a", priority: 1)
    for _ in 0..<50 {
      let isCancelled = Shared(false)
      let subscription = workspace.subscribe(object: object) { _ in
        XCTAssertFalse(isCancelled.value)
      }
      (subscription as? SQLiteSubscription)?.cancelAndWait()
      isCancelled.value = true
    }
    update(workspace, "a", priority: 2)
  }

  func testReleasedSubscriptionEndsAndReleasesItsClosure() {
    let workspace = open()
    workspace.insert(["a"])
    let calls = Shared(0)
    let canaries = Shared(0)
    do {
      let canary = Canary(canaries)
      let subscription = workspace.subscribe(
        fetchedResult: workspace.fetch(for: BenchDoc.self).all()
      ) { _ in
        withExtendedLifetime(canary) { calls.change { $0 += 1 } }
      }
      XCTAssertEqual(canaries.value, 1)
      withExtendedLifetime(subscription) {}
    }
    workspace.insert(["b"])
    workspace.insert(["c"])
    workspace.shutdown()
    XCTAssertEqual(calls.value, 0)
    XCTAssertEqual(canaries.value, 0)
  }

  func testHandlersAndCompletionsAreReleased() {
    let workspace = open()
    let canaries = Shared(0)
    for number in 0..<20 {
      let canary = Canary(canaries)
      workspace.performChanges([BenchDoc.self]) { context in
        withExtendedLifetime(canary) {
          _ = context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "\(number)")))
        }
      } completionHandler: { _ in withExtendedLifetime(canary) {} }
    }
    workspace.shutdown()
    XCTAssertEqual(canaries.value, 0)
  }

  func testStreamOfAnObjectEndsWithItsDeletion() async {
    let workspace = open()
    await workspace.performChanges([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
    }
    let object = workspace.fetch(for: BenchDoc.self).all()[0]
    let stream = workspace.subscribe(object: object, bufferingPolicy: .unbounded)
    await workspace.performChanges([BenchDoc.self]) { context in
      let request = BenchDocChangeRequest.changeRequest(object)!
      request.priority = 4
      context.try(submit: request)
    }
    await workspace.performChanges([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.deletionRequest(object)!)
    }
    var priorities: [Int32] = []
    for await object in stream { priorities.append(object.priority) }
    XCTAssertEqual(priorities, [4])
  }

  /// Collects the changes of an object as texts.
  private func follow(
    _ workspace: SQLiteWorkspace, _ object: BenchDoc, _ events: Shared<[String]>
  ) -> WorkspaceSubscription {
    workspace.subscribe(object: object) { change in
      switch change {
      case .updated(let object): events.change { $0.append("\(object.title) \(object.priority)") }
      case .deleted: events.change { $0.append("deleted") }
      }
    }
  }

  func testObjectThatTheProgramMadeIsFoundByItsRowAndThenByItsKey() {
    let workspace = open()
    workspace.insert(["a", "b"])
    let row = workspace.fetch(for: BenchDoc.self).where(BenchDoc.title == "b")[0]._rowid
    let events = Shared<[String]>([])
    let byRow = BenchDoc(title: "a", priority: 1)
    byRow._rowid = row
    var subscriptions = [follow(workspace, byRow, events)]
    update(workspace, "b", priority: 5)
    XCTAssertEqual(events.value, ["b 1", "b 5"], "the stored object first, then its changes")
    events.value = []
    subscriptions.append(follow(workspace, BenchDoc(title: "a", priority: 0), events))
    update(workspace, "a", priority: 6)
    XCTAssertEqual(events.value.first, "a 6", "an equal object is not delivered")
    events.value = []
    subscriptions.append(follow(workspace, BenchDoc(title: "c"), events))
    workspace.insert(["c"])
    XCTAssertEqual(events.value, ["deleted"])
    let cancelled = Shared<[String]>([])
    let begins = DispatchSemaphore(value: 0)
    workspace.performChanges([BenchDoc.self]) { _ in begins.wait() }
    follow(workspace, BenchDoc(title: "a", priority: 9), cancelled).cancel()
    begins.signal()
    workspace.wait([BenchDoc.self]) { _ in }
    XCTAssertEqual(cancelled.value, [])
    subscriptions.removeAll()
  }

  func testCompletionNeverOvertakesASlowCallback() {
    let workspace = open()
    let events = Shared<[String]>([])
    let subscription = workspace.subscribe(
      fetchedResult: workspace.fetch(for: BenchDoc.self).all()
    ) { _ in
      // Longer than the second for which the engine waits by default.
      Thread.sleep(forTimeInterval: 1.5)
      events.change { $0.append("callback") }
    }
    workspace.insert(["a"])
    events.change { $0.append("completion") }
    XCTAssertEqual(events.value, ["callback", "completion"])
    subscription.cancel()
  }
}
