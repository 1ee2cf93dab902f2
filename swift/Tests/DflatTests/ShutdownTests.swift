import Dflat
import Foundation
import Generated_bench_doc
import SQLiteDflat
import XCTest

/// The rules of the end of a workspace, and of snapshots.
final class ShutdownTests: FileTestCase {
  func testShutdownFinishesTheTransactionsBefore() {
    let workspace = open()
    let results = Shared<[Bool]>([])
    for number in 0..<20 {
      workspace.performChanges([BenchDoc.self]) { context in
        let object = BenchDoc(title: "\(number)")
        context.try(submit: BenchDocChangeRequest.creationRequest(object))
      } completionHandler: { success in results.change { $0.append(success) } }
    }
    workspace.shutdown()
    XCTAssertEqual(results.value, Array(repeating: true, count: 20))
    XCTAssertEqual(open().fetch(for: BenchDoc.self).all().count, 20)
  }

  func testTruncationLeavesOneFileWithARollbackJournal() throws {
    let workspace = open()
    workspace.insert((0..<500).map { "\($0)" })
    workspace.wait([BenchDoc.self]) { context in
      for object in workspace.fetch(for: BenchDoc.self).where(BenchDoc.priority > 0) {
        context.try(submit: BenchDocChangeRequest.deletionRequest(object)!)
      }
    }
    workspace.shutdown(flags: [.truncate])
    let large = try Data(contentsOf: URL(fileURLWithPath: path))
    XCTAssertEqual([UInt8](large[18..<20]), [1, 1])
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.path), ["test.db"])
    open().shutdown(flags: [.truncate, .vacuum])
    let small = try Data(contentsOf: URL(fileURLWithPath: path))
    XCTAssertLessThan(small.count, large.count)
    XCTAssertEqual([UInt8](small[18..<20]), [1, 1])
    XCTAssertEqual(open().fetch(for: BenchDoc.self).all().map(\.title), ["0"])
  }

  func testCompletionOfAShutdownRunsOnTheTargetQueue() {
    let queue = DispatchQueue(label: "target")
    let key = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: key, value: true)
    let workspace = SQLiteWorkspace(
      filePath: path, fileProtectionLevel: .noProtection, targetQueue: queue)
    workspace.insert(["a"])
    let done = DispatchSemaphore(value: 0)
    workspace.shutdown {
      XCTAssertEqual(DispatchQueue.getSpecific(key: key), true)
      done.signal()
    }
    done.wait()
  }

  func testDictionaryAnswersWhileAShutdownReadsIt() {
    for _ in 0..<20 {
      let workspace = open()
      for number in 0..<300 { workspace.dictionary["key \(number)", Int.self] = number }
      let (isOver, wrong, set) = (Shared(false), Shared(0), Shared(0))
      let readers = DispatchGroup()
      for reader in 0..<3 {
        DispatchQueue.global().async(group: readers) {
          var dictionary = workspace.dictionary
          while !isOver.value {
            if dictionary["key 7", Int.self] != 7 { wrong.change { $0 += 1 } }
            let subscription = dictionary.subscribe("key 8", of: Int.self) { change in
              if case .initial(let value) = change, value != 8 { wrong.change { $0 += 1 } }
            }
            subscription.cancel()
            if reader == 0 {
              dictionary["last", Int.self] = set.change { $0 += 1; return $0 }
            }
          }
        }
      }
      workspace.shutdown()
      isOver.value = true
      readers.wait()
      XCTAssertEqual(wrong.value, 0)
      XCTAssertEqual(workspace.dictionary["last", Int.self], set.value == 0 ? nil : set.value)
    }
  }

  /// The original hangs.
  func testShutdownInAHandlerOrACallbackDoesNotHang() {
    let workspace = open()
    let errors = Shared(0)
    workspace.onError = { _ in errors.change { $0 += 1 } }
    XCTAssertTrue(
      workspace.wait([BenchDoc.self]) { context in
        context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
        workspace.shutdown()
      })
    XCTAssertEqual(errors.value, 1)
    XCTAssertFalse(workspace.wait([BenchDoc.self]) { _ in XCTFail("a handler ran") })
    XCTAssertEqual(open().fetch(for: BenchDoc.self).all().map(\.title), ["a"])
  }

  func testSubscriptionsEndWithTheShutdown() {
    let workspace = open()
    let calls = Shared(0)
    let found = workspace.fetch(for: BenchDoc.self).all()
    let subscription = workspace.subscribe(fetchedResult: found) { _ in
      calls.change { $0 += 1 }
    }
    workspace.insert(["a"])
    workspace.shutdown()
    open().insert(["b"])
    subscription.cancel()
    XCTAssertEqual(calls.value, 1)
  }

  func testStreamsOfObjectsAndResultsEndWithTheShutdown() throws {
    let workspace = open()
    workspace.insert(["a"])
    let found = workspace.fetch(for: BenchDoc.self).all()
    let objects = [
      workspace.subscribe(object: found[0], bufferingPolicy: .unbounded),
      try workspace.subscribeOrThrow(object: found[0], bufferingPolicy: .unbounded),
      workspace.subscribe(object: BenchDoc(title: "a"), bufferingPolicy: .unbounded),
    ]
    let results = [
      workspace.subscribe(fetchedResult: found, bufferingPolicy: .unbounded),
      try workspace.subscribeOrThrow(fetchedResult: found, bufferingPolicy: .unbounded),
    ]
    let lengths = Shared<[Int]>([])
    let ended = DispatchSemaphore(value: 0)
    func count<T>(_ stream: AsyncStream<T>) {
      let stream = Passed(value: stream)
      Task {
        var length = 0
        for await _ in stream.value { length += 1 }
        lengths.change { $0.append(length) }
        ended.signal()
      }
    }
    objects.forEach(count)
    results.forEach(count)
    workspace.wait([BenchDoc.self]) { context in
      guard let request = BenchDocChangeRequest.changeRequest(found[0]) else { return }
      request.priority = 7
      context.try(submit: request)
    }
    workspace.shutdown()
    count(workspace.subscribe(object: found[0], bufferingPolicy: .unbounded))
    count(workspace.subscribe(fetchedResult: found, bufferingPolicy: .unbounded))
    for _ in 0..<7 { XCTAssertEqual(ended.wait(timeout: .now() + 10), .success) }
    XCTAssertEqual(lengths.value.sorted(), [0, 0, 1, 1, 1, 1, 1])
  }

  func testSnapshotAfterTheShutdownRunsItsClosureAndIsEmpty() {
    let workspace = open()
    workspace.insert(["a"])
    workspace.shutdown()
    let count = workspace.fetchWithinASnapshot { workspace.fetch(for: BenchDoc.self).all().count }
    XCTAssertEqual(count, 0)
  }

  func testSnapshotInAHandlerIsTheTransaction() {
    let workspace = open()
    workspace.wait([BenchDoc.self]) { context in
      workspace.fetchWithinASnapshot {
        XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 0)
        context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
        XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 1)
      }
    }
  }

  func testSnapshotIsSharedByTheFetchesOfItsThreadOnly() {
    let workspace = open()
    workspace.insert(["a"])
    workspace.fetchWithinASnapshot {
      XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 1)
      workspace.insert(["b"])
      let elsewhere = DispatchSemaphore(value: 0)
      Thread {
        XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 2)
        elsewhere.signal()
      }.start()
      elsewhere.wait()
      XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 1)
    }
  }

  func testShutdownThatThrows() throws {
    let workspace = open()
    workspace.insert(["a"])
    try workspace.shutdownOrThrow(flags: .truncate)
    XCTAssertThrowsError(try workspace.fetch(for: BenchDoc.self).results())
    try workspace.shutdownOrThrow()
    let missing = folder.appendingPathComponent("test.db/none").path
    let other = SQLiteWorkspace(filePath: missing, fileProtectionLevel: .noProtection)
    XCTAssertThrowsError(try other.shutdownOrThrow(flags: .vacuum))
  }
}

private struct Passed<Value>: @unchecked Sendable {
  let value: Value
}
