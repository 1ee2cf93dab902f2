import Dflat
import Foundation
import Generated_bench_doc
import Generated_monster
import SQLiteDflat
import XCTest

final class TransactionTests: FileTestCase {
  func testObjectIsInsertedUpdatedAndDeleted() {
    let workspace = open()
    let inserted = Shared<BenchDoc?>(nil)
    XCTAssertTrue(
      workspace.wait([BenchDoc.self]) { context in
        let request = BenchDocChangeRequest.creationRequest()
        request.title = "first"
        request.color = .red
        request.content = .textContent(TextContent(text: "text"))
        guard case .inserted(let object)? = try? context.submit(request) else { return }
        inserted.value = object as? BenchDoc
      })
    XCTAssertEqual(inserted.value?.title, "first")
    XCTAssertEqual(inserted.value?._changesTimestamp, -1)
    XCTAssertGreaterThan(inserted.value?._rowid ?? -1, 0)
    var found = workspace.fetch(for: BenchDoc.self).where(BenchDoc.title == "first")
    XCTAssertEqual(found.count, 1)
    XCTAssertEqual(found[0].content, .textContent(TextContent(text: "text")))
    XCTAssertTrue(found[0] === found[0])
    let first = found[0]
    workspace.wait([BenchDoc.self]) { context in
      guard let request = BenchDocChangeRequest.changeRequest(first) else { return }
      request.color = .green
      guard case .updated? = try? context.submit(request) else { return XCTFail("not updated") }
    }
    found = workspace.fetch(for: BenchDoc.self).all()
    XCTAssertEqual(found[0].color, .green)
    XCTAssertEqual(found[0]._rowid, first._rowid)
    workspace.wait([BenchDoc.self]) { context in
      guard let request = BenchDocChangeRequest.deletionRequest(BenchDoc(title: "first")) else {
        return XCTFail("not found")
      }
      guard case .deleted(let rowid)? = try? context.submit(request) else {
        return XCTFail("not deleted")
      }
      XCTAssertEqual(rowid, first._rowid)
    }
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 0)
    workspace.shutdown()
  }

  func testConflictLeavesTheTransactionUsable() {
    let workspace = open()
    workspace.insert(["a"])
    let failure = Shared<Error?>(nil)
    XCTAssertTrue(
      workspace.wait([BenchDoc.self]) { context in
        let request = BenchDocChangeRequest.creationRequest()
        request.title = "a"
        do { try context.submit(request) } catch { failure.value = error }
        request.title = "b"
        let other = BenchDocChangeRequest.creationRequest(BenchDoc(title: "b"))
        context.try(submit: other)
      })
    guard case TransactionError.objectAlreadyExists? = failure.value else {
      return XCTFail("\(String(describing: failure.value))")
    }
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.title), ["a", "b"])
  }

  func testEqualValuesAreAnIdentity() {
    let workspace = open()
    workspace.insert(["a"])
    let kinds = Shared<[String]>([])
    workspace.wait([BenchDoc.self]) { context in
      let object = BenchDoc(title: "a")
      for request in [
        BenchDocChangeRequest.changeRequest(object), BenchDocChangeRequest.upsertRequest(object),
        BenchDocChangeRequest.upsertRequest(BenchDoc(title: "b")),
        BenchDocChangeRequest.upsertRequest(BenchDoc(title: "b", priority: 5)),
      ] {
        guard let request = request, let result = try? context.submit(request) else { continue }
        switch result {
        case .inserted: kinds.change { $0.append("inserted") }
        case .updated: kinds.change { $0.append("updated") }
        case .identity: kinds.change { $0.append("identity") }
        case .deleted: kinds.change { $0.append("deleted") }
        }
      }
    }
    XCTAssertEqual(kinds.value, ["identity", "identity", "inserted", "updated"])
  }

  func testChangeRequestHasTheLatestValues() {
    let workspace = open()
    workspace.insert(["a"])
    let old = workspace.fetch(for: BenchDoc.self).all()[0]
    workspace.wait([BenchDoc.self]) { context in
      let request = BenchDocChangeRequest.changeRequest(old)!
      request.tag = "new"
      context.try(submit: request)
      XCTAssertEqual(BenchDocChangeRequest.changeRequest(old)?.tag, "new")
    }
    XCTAssertNil(old.tag)
    XCTAssertNil(BenchDocChangeRequest.changeRequest(old), "outside of a handler")
  }

  func testUpsertOfAnObjectWhoseRowWasReplacedUpdatesTheNewRow() {
    let workspace = open()
    workspace.insert(["a"])
    let old = workspace.fetch(for: BenchDoc.self).all()[0]
    workspace.wait([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.deletionRequest(old)!)
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a", priority: 9)))
      guard case .updated? = context.try(submit: BenchDocChangeRequest.upsertRequest(old)) else {
        return XCTFail("not updated")
      }
    }
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.priority), [0])
  }

  func testAbortUndoesAllChanges() {
    let workspace = open()
    workspace.insert(["a"])
    let aborts = Shared<[Bool]>([])
    let success = workspace.wait([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "b")))
      aborts.value = [context.abort(), context.abort()]
      XCTAssertNil(
        context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "c"))))
    }
    XCTAssertFalse(success)
    XCTAssertEqual(aborts.value, [true, false])
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.title), ["a"])
  }

  func testSecondSubmissionOfARequestFails() {
    let workspace = open()
    let second = Shared<Error?>(nil)
    let success = workspace.wait([BenchDoc.self]) { context in
      let request = BenchDocChangeRequest.creationRequest(BenchDoc(title: "a"))
      context.try(submit: request)
      do { try context.submit(request) } catch { second.value = error }
    }
    XCTAssertFalse(success)
    guard case TransactionError.others? = second.value else { return XCTFail("no error") }
  }

  func testPrimaryKeyOfAnotherObjectIsAConflict() {
    let workspace = open()
    workspace.insert(["a", "b"])
    workspace.wait([BenchDoc.self]) { context in
      let request = BenchDocChangeRequest.changeRequest(BenchDoc(title: "a"))!
      request.title = "b"
      XCTAssertNil(try? context.submit(request))
    }
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.title), ["a", "b"])
  }

  func testHandlersOfDisjointTypesRunTogetherBeforeTheirFirstSubmission() {
    let workspace = open()
    let (one, other) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let done = DispatchGroup()
    done.enter()
    done.enter()
    workspace.performChanges([BenchDoc.self]) { _ in
      other.signal()
      one.wait()
    } completionHandler: { _ in done.leave() }
    workspace.performChanges([MyGame.Sample.Monster.self]) { _ in
      one.signal()
      other.wait()
    } completionHandler: { _ in done.leave() }
    done.wait()
  }

  func testTransactionsThatShareATypeRunInTheOrderOfTheCalls() {
    let workspace = open()
    let order = Shared<[Int]>([])
    let (doc, monster) = (BenchDoc.self, MyGame.Sample.Monster.self)
    let done = DispatchGroup()
    let types: [[Any.Type]] = [
      [doc, monster], [doc], [monster], [doc, monster, doc], [monster, doc],
    ]
    for (position, types) in types.enumerated() {
      done.enter()
      workspace.performChanges(
        types, changesHandler: { _ in order.change { $0.append(position) } },
        completionHandler: { _ in done.leave() })
    }
    done.wait()
    XCTAssertEqual(order.value.first, 0)
    XCTAssertEqual(Set(order.value[1...2]), [1, 2])
    XCTAssertEqual(Array(order.value[3...]), [3, 4])
  }

  func testEmptyTransactionCreatesNoFile() {
    let workspace = open()
    XCTAssertTrue(workspace.wait([BenchDoc.self]) { _ in })
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 0)
    XCTAssertFalse(FileManager.default.fileExists(atPath: path))
  }

  func testHandlerReadsItsOwnChanges() {
    let workspace = open()
    workspace.wait([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
      XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.title), ["a"])
    }
  }

  func testAsynchronousTransactionGivesItsSuccess() async {
    let workspace = open()
    let committed = await workspace.performChanges([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
    }
    XCTAssertTrue(committed)
    let aborted = await workspace.performChanges([BenchDoc.self]) { $0.abort() }
    XCTAssertFalse(aborted)
    await workspace.shutdown()
  }

  func testTwoWorkspacesWithOtherOptionsShareAFile() {
    let (one, other) = (open(), open(.serial))
    one.insert(["a"])
    other.insert(["b"])
    XCTAssertEqual(one.fetch(for: BenchDoc.self).all().count, 2)
    XCTAssertEqual(other.fetch(for: BenchDoc.self).all().count, 2)
  }

  func testReleasedWorkspaceCallsEachCompletion() {
    var workspace: SQLiteWorkspace? = open()
    let (entered, proceed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let done = DispatchGroup()
    let results = Shared<[Bool]>([])
    for number in 0..<3 {
      done.enter()
      workspace?.performChanges([BenchDoc.self]) { _ in
        if number == 0 {
          entered.signal()
          proceed.wait()
        }
      } completionHandler: { success in
        results.change { $0.append(success) }
        done.leave()
      }
    }
    entered.wait()
    workspace = nil
    proceed.signal()
    done.wait()
    XCTAssertEqual(results.value.count, 3)
  }

  func testHandlersRunOnTheTargetQueue() {
    let queue = DispatchQueue(label: "target")
    let key = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: key, value: true)
    let workspace = SQLiteWorkspace(
      filePath: path, fileProtectionLevel: .noProtection, targetQueue: queue)
    let marks = Shared<[Bool?]>([])
    let done = DispatchSemaphore(value: 0)
    workspace.performChanges([BenchDoc.self]) { context in
      marks.change { $0.append(DispatchQueue.getSpecific(key: key)) }
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
    } completionHandler: { _ in
      marks.change { $0.append(DispatchQueue.getSpecific(key: key)) }
      done.signal()
    }
    done.wait()
    XCTAssertEqual(marks.value, [true, true])
  }
}
