import Dflat
import DflatC
import Foundation
import Generated_bench_doc
import SQLiteDflat
import XCTest

/// Transactions while another process writes to the same file.
final class ProcessTests: FileTestCase {
  func testInsertionOfTheChild() throws {
    try XCTSkipUnless(Child.task == "insert", "a part of other tests")
    let workspace = SQLiteWorkspace(filePath: Child.path, fileProtectionLevel: .noProtection)
    workspace.insert(["child"])
    workspace.shutdown()
  }

  /// Lets another process insert an object.
  private func overtake() {
    do {
      let (_, status, output) = try Child.run(
        "ProcessTests/testInsertionOfTheChild", "insert", path: path)
      XCTAssertEqual(status, 0, output)
    } catch {
      XCTFail("\(error)")
    }
  }

  /// docs/swift-moving.md: the transaction fails, the error has the code `DFLAT_BUSY`, and the
  /// handler is not run again.
  func testTransactionThatAnotherProcessOvertakesFailsAndIsNotRepeated() {
    let workspace = open()
    workspace.insert(["a"])
    let codes = Shared<[Int32?]>([])
    workspace.onError = { error in codes.change { $0.append((error as? DflatError)?.code) } }
    let thrown = Shared<[Error]>([])
    let runs = Shared(0)
    let outcome = Shared<Result<Void, Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    workspace.performChanges([BenchDoc.self]) { context in
      runs.change { $0 += 1 }
      XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 1)
      self.overtake()
      for title in ["b", "c"] {
        do {
          try context.submit(BenchDocChangeRequest.creationRequest(BenchDoc(title: title)))
        } catch {
          thrown.change { $0.append(error) }
        }
      }
    } resultHandler: { result in
      outcome.value = result
      done.signal()
    }
    done.wait()
    XCTAssertEqual(thrown.value.map { "\($0)" }, ["others", "aborted"])
    XCTAssertEqual(runs.value, 1)
    XCTAssertEqual(codes.value, [Int32(DFLAT_BUSY)])
    guard case .failure(let error)? = outcome.value else { return XCTFail("it was committed") }
    XCTAssertEqual((error as? DflatError)?.code, Int32(DFLAT_BUSY))
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.title), ["a", "child"])
    workspace.insert(["again"])
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 3)
  }

  func testTransactionThatOnlyReadsOrChangesFirstIsNotOvertaken() {
    let workspace = open()
    workspace.insert(["a"])
    workspace.onError = { XCTFail("\($0)") }
    let reads = workspace.wait([BenchDoc.self]) { _ in
      XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 1)
      self.overtake()
      XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 1, "one state")
    }
    XCTAssertTrue(reads)
    let changes = workspace.wait([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "b")))
      XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 3)
    }
    XCTAssertTrue(changes)
  }

  /// The original never notices the changes of another process.
  func testChangesOfAnotherProcessAreDelivered() {
    let workspace = open()
    workspace.insert(["a"])
    let delivered = DispatchSemaphore(value: 0)
    let titles = Shared<[String]>([])
    let subscription = workspace.subscribe(
      fetchedResult: workspace.fetch(for: BenchDoc.self).all()
    ) { result in
      titles.value = result.map(\.title)
      delivered.signal()
    }
    overtake()
    delivered.wait()
    XCTAssertEqual(titles.value, ["a", "child"])
    subscription.cancel()
  }
}
