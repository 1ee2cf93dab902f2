import Dflat
import DflatC
import Foundation
import Generated_bench_doc
import Generated_scalars
import SQLiteDflat
import XCTest

/// The functions that the original does not have.
final class AdditionTests: FileTestCase {
  private struct Failure: Error {}

  /// The error of a closure.
  private func failure(_ body: () throws -> Void) -> Error? {
    do {
      try body()
      return nil
    } catch {
      return error
    }
  }

  func testSumThatIsNoInt64IsAnError() throws {
    let workspace = open()
    workspace.wait([Scalars.self]) { context in
      let scalars = Scalars(id: 1, h: .min, i: .max, needed: "")
      context.try(submit: ScalarsChangeRequest.creationRequest(scalars))
    }
    let query = workspace.fetch(for: Scalars.self)
    XCTAssertEqual(try query.sum(of: Scalars.h), .min)
    XCTAssertEqual(try query.largest(of: Scalars.i), .max)
    let error = failure { _ = try query.sum(of: Scalars.i) } as? DflatError
    XCTAssertEqual(error?.code, Int32(DFLAT_INVALID_ARGUMENT))
  }

  func testCountsAndComputedValues() throws {
    let workspace = open()
    let query = workspace.fetch(for: BenchDoc.self)
    XCTAssertNil(try query.sum(of: BenchDoc.priority))
    workspace.insert(["a", "b", "c", "d"])
    XCTAssertEqual(try query.count(), 4)
    XCTAssertEqual(try query.count(where: BenchDoc.priority > 1), 2)
    XCTAssertEqual(try query.sum(of: BenchDoc.priority), 6)
    XCTAssertEqual(try query.sum(of: BenchDoc.priority, where: BenchDoc.priority > 1), 5)
    XCTAssertEqual(try query.mean(of: BenchDoc.priority), 1.5)
    XCTAssertEqual(try query.smallest(of: BenchDoc.title), "a")
    XCTAssertEqual(try query.largest(of: BenchDoc.title, where: BenchDoc.title != "d"), "c")
    XCTAssertEqual(try query.largest(of: BenchDoc.color), .red)
    XCTAssertEqual(try query.largest(of: BenchDoc.priority), Int32(3))
    let plan = try query.explain(where: BenchDoc.title == "a")
    XCTAssertTrue(plan.contains("primary key"), plan)
  }

  func testOffset() throws {
    let workspace = open()
    workspace.insert(["a", "b", "c", "d"])
    let query = workspace.fetch(for: BenchDoc.self)
    let order = [BenchDoc.priority.descending]
    XCTAssertEqual(try query.results(offset: 1, orderBy: order).map(\.title), ["c", "b", "a"])
    let some = try query.results(
      where: BenchDoc.priority < 3, limit: .limit(1), offset: 1, orderBy: order)
    XCTAssertEqual(some.map(\.title), ["b"])
    XCTAssertEqual(try query.results(offset: 9).count, 0)
  }

  /// The engine and Swift, which evaluates conditions with a hand-made field, give one answer.
  func testTestsOfTexts() throws {
    let workspace = open()
    workspace.insert(["Anna", "banana", "100%", "ÄRGER", "a_b", ""])
    let byHand = FieldExpr<String, BenchDoc>(
      name: "title", primaryKey: false, hasIndex: false, tableReader: { _ in nil },
      objectReader: { $0.title })
    let query = workspace.fetch(for: BenchDoc.self)
    let cases: [(String, Bool, [String])] = [
      ("%an%", false, ["banana"]), ("%AN%", true, ["Anna", "banana"]), ("%\\%", false, ["100%"]),
      ("ä%", true, ["ÄRGER"]), ("a\\_b", false, ["a_b"]), ("_n__", true, ["Anna"]),
      ("%a%n%a", false, ["banana"]), ("", false, [""]), ("%", false, query.all().map(\.title)),
    ]
    for (pattern, ignores, expected) in cases {
      for field in [BenchDoc.title, byHand] {
        let found = query.where(field.like(pattern, ignoringCase: ignores)).map(\.title)
        XCTAssertEqual(found, expected, "\(pattern)")
      }
    }
    for field in [BenchDoc.title, byHand] {
      XCTAssertEqual(query.where(field.startsWith("ba")).map(\.title), ["banana"])
      XCTAssertEqual(query.where(field.endsWith("NA", ignoringCase: true)).count, 2)
      XCTAssertEqual(query.where(field.contains("00")).map(\.title), ["100%"])
    }
    XCTAssertEqual(query.where(BenchDoc.tag.like("%")).count, 0, "a missing text is unknown")
  }

  func testSnapshotKeepsItsState() throws {
    let workspace = open()
    workspace.insert(["a"])
    let snapshot = try workspace.snapshot()
    workspace.insert(["b"])
    XCTAssertEqual(snapshot.fetch(for: BenchDoc.self).all().map(\.title), ["a"])
    XCTAssertEqual(try snapshot.fetch(for: BenchDoc.self).count(), 1)
    XCTAssertEqual(try workspace.fetch(for: BenchDoc.self).count(), 2)
  }

  func testNestedChangesAreUndoneTogether() {
    let workspace = open()
    XCTAssertTrue(
      workspace.wait([BenchDoc.self]) { context in
        context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "kept")))
        let lost = self.failure {
          try context.nested {
            try context.submit(BenchDocChangeRequest.creationRequest(BenchDoc(title: "lost")))
            throw Failure()
          }
        }
        XCTAssertTrue(lost is Failure)
        let inner = self.failure {
          try context.nested {
            try context.submit(BenchDocChangeRequest.creationRequest(BenchDoc(title: "inner")))
          }
        }
        XCTAssertNil(inner)
      })
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.title), ["kept", "inner"])
  }

  func testChangeOfAnObjectThatHasChangedIsRefused() {
    let workspace = open()
    workspace.insert(["a", "b"])
    let old = workspace.fetch(for: BenchDoc.self).all()
    func request(_ priority: Int32) -> BenchDocChangeRequest {
      let request = BenchDocChangeRequest.changeRequest(old[0])!
      request.priority = priority
      return request
    }
    let success = workspace.wait([BenchDoc.self]) { context in
      guard case .updated? = try? context.submit(request(8), ifUnchanged: old[0]) else {
        return XCTFail("not updated")
      }
      let refused = self.failure { try context.submit(request(9), ifUnchanged: old[0]) }
      XCTAssertEqual((refused as? DflatError)?.code, Int32(DFLAT_OUT_OF_DATE))
      let deletion = BenchDocChangeRequest.deletionRequest(old[0])!
      XCTAssertNotNil(self.failure { try context.submit(deletion, ifUnchanged: old[0]) })
      let made = BenchDoc(title: "a")
      let unread = self.failure { try context.submit(request(9), ifUnchanged: made) }
      XCTAssertEqual((unread as? DflatError)?.code, Int32(DFLAT_INVALID_ARGUMENT))
      context.try(submit: BenchDocChangeRequest.deletionRequest(old[1])!)
      let other = BenchDocChangeRequest.creationRequest(BenchDoc(title: "c"))
      XCTAssertNotNil(self.failure { try context.submit(other, ifUnchanged: old[1]) }, "deleted")
      let latest = workspace.fetch(for: BenchDoc.self).all()[0]
      XCTAssertEqual(try? (context as? SQLiteTransactionContext)?.latest(old[0]), latest)
      XCTAssertNil(self.failure { try context.submit(request(10), ifUnchanged: latest) })
    }
    XCTAssertTrue(success, "the transaction goes on")
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.priority), [10])
  }

  func testQueriesAreFollowedWithDifferences() throws {
    let workspace = open()
    workspace.insert(["a", "b"])
    let events = Shared<[String]>([])
    let query = workspace.fetch(for: BenchDoc.self)
    let subscription = try query.subscribe(orderBy: [BenchDoc.title.ascending]) { result, change in
      events.change {
        $0.append("\(result.map(\.title)) -\(change.deleted) +\(change.inserted) *\(change.updated)")
      }
    }
    let counts = Shared<[Int]>([])
    let counting = try query.subscribeCount(where: BenchDoc.title >= "b") { count in
      counts.change { $0.append(count) }
    }
    workspace.wait([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.deletionRequest(BenchDoc(title: "a"))!)
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "c")))
    }
    XCTAssertEqual(
      events.value,
      ["[\"a\", \"b\"] -[] +[0, 1] *[]", "[\"b\", \"c\"] -[0] +[1] *[]"])
    XCTAssertEqual(counts.value, [1, 2])
    subscription.cancel()
    counting.cancel()
  }

  func testBackupAndCheck() throws {
    let workspace = open()
    workspace.insert(["a", "b"])
    let copy = folder.appendingPathComponent("copy.db").path
    let steps = Shared(0)
    try workspace.backup(to: copy) { _, _ in
      steps.change { $0 += 1 }
      return true
    }
    XCTAssertGreaterThan(steps.value, 0)
    XCTAssertThrowsError(try workspace.backup(to: copy))
    XCTAssertEqual(try workspace.check([BenchDoc.self]), [])
    let other = SQLiteWorkspace(filePath: copy, fileProtectionLevel: .noProtection)
    XCTAssertEqual(other.fetch(for: BenchDoc.self).all().map(\.title), ["a", "b"])
    workspace.shutdown()
    try execute("UPDATE benchdoc SET p = x'00' WHERE rowid = 1")
    XCTAssertEqual(try open().check([BenchDoc.self]).count, 1)
  }
}
