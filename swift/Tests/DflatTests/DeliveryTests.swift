import Dflat
import Foundation
import Generated_bench_doc
import SQLiteDflat
import XCTest

/// The rules of deliveries to subscribers.
final class DeliveryTests: FileTestCase {
  private func change(
    _ workspace: SQLiteWorkspace, _ title: String, _ changes: @escaping (BenchDocChangeRequest) -> Void
  ) {
    workspace.wait([BenchDoc.self]) { context in
      let request = BenchDocChangeRequest.changeRequest(BenchDoc(title: title))!
      changes(request)
      context.try(submit: request)
    }
  }

  private func follow(
    _ workspace: SQLiteWorkspace, _ result: FetchedResult<BenchDoc>
  ) -> (WorkspaceSubscription, Shared<[[String]]>) {
    let results = Shared<[[String]]>([])
    let subscription = workspace.subscribe(fetchedResult: result) { result in
      results.change { $0.append(result.map { "\($0.title)\($0.priority)" }) }
    }
    return (subscription, results)
  }

  func testSubscriptionTakesItsPlaceAmongTheTransactions() {
    let workspace = open()
    let empty = workspace.fetch(for: BenchDoc.self).all()
    let (begun, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    workspace.performChanges([BenchDoc.self]) { context in
      begun.signal()
      goOn.wait()
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
    }
    begun.wait()
    let (subscription, results) = follow(workspace, empty)
    goOn.signal()
    workspace.insert(["b"])
    XCTAssertEqual(results.value.last, ["a0", "b0"])
    subscription.cancel()
  }

  func testCallbackRunsOnAnotherThread() {
    let workspace = open()
    let caller = Thread.current
    let calls = Shared(0)
    let subscription = workspace.subscribe(
      fetchedResult: workspace.fetch(for: BenchDoc.self).all()
    ) { _ in
      XCTAssertFalse(Thread.current === caller)
      calls.change { $0 += 1 }
    }
    workspace.insert(["a"])
    XCTAssertEqual(calls.value, 1)
    subscription.cancel()
  }

  func testTransactionIsDeliveredOnceWithItsFinalState() {
    let workspace = open()
    workspace.insert(["a"])
    let found = workspace.fetch(for: BenchDoc.self).all()
    let (subscription, results) = follow(workspace, found)
    let priorities = Shared<[Int32]>([])
    let object = workspace.subscribe(object: found[0]) { change in
      if case .updated(let object) = change { priorities.change { $0.append(object.priority) } }
    }
    workspace.wait([BenchDoc.self]) { context in
      for priority in 1...3 {
        let request = BenchDocChangeRequest.changeRequest(found[0])!
        request.priority = Int32(priority)
        context.try(submit: request)
      }
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "b")))
      context.try(submit: BenchDocChangeRequest.deletionRequest(BenchDoc(title: "b"))!)
    }
    XCTAssertEqual(results.value, [["a3"]])
    XCTAssertEqual(priorities.value, [3])
    withExtendedLifetime((subscription, object)) {}
  }

  func testResultIsNotDeliveredWithoutAChange() {
    let workspace = open()
    workspace.insert(["a", "b", "c", "d"])
    let query = workspace.fetch(for: BenchDoc.self)
    let condition = query.where(BenchDoc.priority < 2)
    let limited = query.all(limit: .limit(2), orderBy: [BenchDoc.priority.ascending])
    let (one, ofCondition) = follow(workspace, condition)
    let (other, ofLimit) = follow(workspace, limited)
    // A row that was and stays outside, and one that is stored as it was.
    change(workspace, "d") { $0.priority = 8 }
    change(workspace, "a") { $0.priority = 0 }
    workspace.wait([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.deletionRequest(BenchDoc(title: "c"))!)
    }
    XCTAssertEqual(ofCondition.value, [])
    XCTAssertEqual(ofLimit.value, [])
    withExtendedLifetime((one, other)) {}
  }

  func testObjectsOfSubmissionsAndCallbacksAreFollowedSilently() {
    let workspace = open()
    let made = Shared<[BenchDoc]>([])
    workspace.wait([BenchDoc.self]) { context in
      let request = BenchDocChangeRequest.creationRequest(BenchDoc(title: "a"))
      guard case .inserted(let object)? = context.try(submit: request) else { return }
      made.change { $0.append(object as! BenchDoc) }
      made.change { $0.append(workspace.fetch(for: BenchDoc.self).all()[0]) }
    }
    let priorities = Shared<[Int32]>([])
    let subscriptions = made.value.map { object in
      workspace.subscribe(object: object) { change in
        if case .updated(let object) = change { priorities.change { $0.append(object.priority) } }
      }
    }
    workspace.wait([BenchDoc.self]) { _ in }
    XCTAssertEqual(priorities.value, [], "equal objects")
    change(workspace, "a") { $0.priority = 4 }
    XCTAssertEqual(priorities.value, [4, 4])
    withExtendedLifetime(subscriptions) {}
  }

  func testResultThatTheProgramMadeIsNeverDelivered() {
    let workspace = open()
    let (subscription, results) = follow(workspace, FetchedResult([BenchDoc(title: "a")]))
    workspace.insert(["a"])
    XCTAssertEqual(results.value, [])
    subscription.cancel()
    subscription.cancel()
    let made = FetchedResult([BenchDoc(title: "a")])
    XCTAssertThrowsError(try workspace.subscribeOrThrow(fetchedResult: made) { _ in })
  }

  func testSubscriptionToAResultWhoseFetchFailedFollowsItsQuery() throws {
    let later = folder.appendingPathComponent("later").path
    let workspace = SQLiteWorkspace(filePath: later + "/a.db", fileProtectionLevel: .noProtection)
    let failures = Shared(0)
    workspace.onError = { _ in failures.change { $0 += 1 } }
    let result = workspace.fetch(for: BenchDoc.self).where(BenchDoc.priority > 0)
    XCTAssertEqual(failures.value, 1)
    XCTAssertThrowsError(try workspace.subscribeOrThrow(fetchedResult: result) { _ in })
    _ = workspace.subscribe(fetchedResult: result) { _ in }
    XCTAssertEqual(failures.value, 2)
    try FileManager.default.createDirectory(atPath: later, withIntermediateDirectories: true)
    let (subscription, results) = follow(workspace, result)
    workspace.insert(["a"])
    XCTAssertEqual(results.value, [], "the empty result is not delivered again")
    workspace.insert(["b", "c"])
    XCTAssertEqual(results.value, [["c1"]])
    let (late, lateResults) = follow(workspace, result)
    workspace.wait([BenchDoc.self]) { _ in }
    XCTAssertEqual(lateResults.value, [["c1"]], "the present result first")
    subscription.cancel()
    late.cancel()
  }

  func testOutdatedResultsAndObjectsAreNotDeliveredAfterCancel() {
    let workspace = open()
    workspace.insert(["a"])
    let old = workspace.fetch(for: BenchDoc.self).all()
    change(workspace, "a") { $0.priority = 9 }
    let calls = Shared(0)
    // No transaction ends before both subscriptions are cancelled.
    let (begun, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    workspace.performChanges([BenchDoc.self]) { _ in
      begun.signal()
      goOn.wait()
    }
    begun.wait()
    workspace.subscribe(fetchedResult: old) { _ in calls.change { $0 += 1 } }.cancel()
    workspace.subscribe(object: old[0]) { _ in calls.change { $0 += 1 } }.cancel()
    goOn.signal()
    workspace.wait([BenchDoc.self]) { _ in }
    XCTAssertEqual(calls.value, 0)
  }

  func testChangesOfAnotherWorkspaceAreDelivered() {
    let (one, other) = (open(), open())
    let (subscription, results) = follow(one, one.fetch(for: BenchDoc.self).all())
    other.insert(["a"])
    XCTAssertEqual(results.value, [["a0"]])
    subscription.cancel()
  }

  func testStreamOfAResultGoesOnUntilItsReaderLeaves() async {
    let workspace = open()
    let stream = workspace.subscribe(
      fetchedResult: workspace.fetch(for: BenchDoc.self).all(), bufferingPolicy: .unbounded)
    for title in ["a", "b", "c"] {
      await workspace.performChanges([BenchDoc.self]) { context in
        context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: title)))
      }
    }
    var counts: [Int] = []
    for await result in stream {
      counts.append(result.count)
      if counts.count == 3 { break }
    }
    XCTAssertEqual(counts, [1, 2, 3])
  }

  func testStreamsWithoutAPolicyKeepTheNewestValue() async {
    let workspace = open()
    await workspace.performChanges([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
    }
    let found = workspace.fetch(for: BenchDoc.self).all()
    let (results, objects) = (
      workspace.subscribe(fetchedResult: found), workspace.subscribe(object: found[0]))
    for priority in 1...3 {
      await workspace.performChanges([BenchDoc.self]) { context in
        let request = BenchDocChangeRequest.changeRequest(BenchDoc(title: "a"))!
        request.priority = Int32(priority)
        context.try(submit: request)
      }
    }
    for await result in results {
      XCTAssertEqual(result.map(\.priority), [3])
      break
    }
    for await object in objects {
      XCTAssertEqual(object.priority, 3)
      break
    }
  }

  func testSubscriptionsThatThrowFollowAndThrow() async throws {
    let workspace = open()
    await workspace.performChanges([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
    }
    let found = workspace.fetch(for: BenchDoc.self).all()
    let calls = Shared(0)
    let subscriptions = [
      try workspace.subscribeOrThrow(fetchedResult: found) { _ in calls.change { $0 += 1 } },
      try workspace.subscribeOrThrow(object: found[0]) { _ in calls.change { $0 += 1 } },
    ]
    let results: AsyncStream<FetchedResult<BenchDoc>> = try workspace.subscribeOrThrow(
      fetchedResult: found)
    let objects: AsyncStream<BenchDoc> = try workspace.subscribeOrThrow(object: found[0])
    await workspace.performChanges([BenchDoc.self]) { context in
      let request = BenchDocChangeRequest.changeRequest(found[0])!
      request.priority = 3
      context.try(submit: request)
    }
    XCTAssertEqual(calls.value, 2)
    for await result in results {
      XCTAssertEqual(result[0].priority, 3)
      break
    }
    for await object in objects {
      XCTAssertEqual(object.priority, 3)
      break
    }
    await workspace.shutdown()
    XCTAssertThrowsError(try workspace.subscribeOrThrow(fetchedResult: found) { _ in })
    XCTAssertThrowsError(try workspace.subscribeOrThrow(object: found[0]) { _ in })
    XCTAssertThrowsError(
      try workspace.subscribeOrThrow(fetchedResult: found) as AsyncStream<FetchedResult<BenchDoc>>)
    XCTAssertThrowsError(try workspace.subscribeOrThrow(object: found[0]) as AsyncStream<BenchDoc>)
    withExtendedLifetime(subscriptions) {}
  }

  /// The engine compares texts by their bytes, and Swift by their characters.
  func testChangeOfTheUnicodeFormIsDelivered() {
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
    let workspace = open()
    workspace.insert(["a"], tag: composed)
    let lengths = Shared<[Int]>([])
    let handMade = FieldExpr<Int32, BenchDoc>(
      name: "hand", primaryKey: false, hasIndex: false, tableReader: { _ in nil },
      objectReader: { $0.priority })
    var subscriptions = [
      workspace.subscribe(
        fetchedResult: workspace.fetch(for: BenchDoc.self).where(handMade == 0)
      ) { result in lengths.change { $0.append(result[0].tag?.utf8.count ?? 0) } }
    ]
    change(workspace, "a") { $0.tag = decomposed }
    change(workspace, "a") { $0.tag = decomposed }
    XCTAssertEqual(lengths.value, [6])
    let events = Shared<[Int]>([])
    for tag in [composed, decomposed] {
      let object = BenchDoc(title: "a", tag: tag, priority: 0)
      subscriptions.append(
        workspace.subscribe(object: object) { event in
          guard case .updated(let object) = event else { return }
          events.change { $0.append(object.tag?.utf8.count ?? 0) }
        })
    }
    workspace.wait([BenchDoc.self]) { _ in }
    XCTAssertEqual(events.value, [6], "the object with the stored bytes is not delivered")
    subscriptions.forEach { $0.cancel() }
  }
}
