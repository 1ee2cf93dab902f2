import Dflat
import Foundation
import Generated_bench_doc
import Generated_monster
import SQLiteDflat
import XCTest

private typealias Monster = MyGame.Sample.Monster
private typealias MonsterChangeRequest = MyGame.Sample.MonsterChangeRequest

/// The rules of handlers, and of the requests that they submit.
final class HandlerTests: FileTestCase {
  func testTransactionBelongsToTheThreadOfItsHandler() {
    let workspace = open()
    let caller = Thread.current
    XCTAssertNil(SQLiteTransactionContext.current)
    workspace.wait([BenchDoc.self]) { context in
      XCTAssertFalse(Thread.current === caller)
      XCTAssertTrue(SQLiteTransactionContext.current === context as? SQLiteTransactionContext)
      let elsewhere = DispatchSemaphore(value: 0)
      Thread {
        XCTAssertNil(SQLiteTransactionContext.current)
        elsewhere.signal()
      }.start()
      elsewhere.wait()
    }
    XCTAssertNil(SQLiteTransactionContext.current)
  }

  func testRequestOfACreationIsMadeAnywhere() {
    let workspace = open()
    let made = BenchDocChangeRequest.creationRequest(BenchDoc(title: "a", priority: 3))
    workspace.wait([BenchDoc.self]) { context in context.try(submit: made) }
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.priority), [3])
  }

  func testCreationHasTheDefaultsOfTheSchema() {
    let request = MonsterChangeRequest.creationRequest()
    XCTAssertEqual(request._type, .creation)
    XCTAssertEqual(request._rowid, -1)
    XCTAssertEqual(request.name, "")
    XCTAssertEqual(request.mana, 150)
    XCTAssertEqual(request.hp, 100)
    XCTAssertEqual(request.color, .blue)
    XCTAssertTrue(request.truth)
    XCTAssertNil(request.pos)
    XCTAssertEqual(request.weapons, [])
    let stored = Monster(name: "a", color: .red)
    stored._rowid = 7
    XCTAssertEqual(MonsterChangeRequest.creationRequest(stored)._rowid, -1)
  }

  func testTransactionThatSubmitsNothingCreatesNoTable() throws {
    let workspace = open()
    workspace.insert(["a"])
    workspace.wait([Monster.self]) { _ in _ = workspace.fetch(for: Monster.self).all() }
    let tables = rows(path, "SELECT name FROM sqlite_master WHERE name LIKE '%monster%'")
    XCTAssertEqual(tables, [])
    workspace.wait([Monster.self]) { context in
      context.try(submit: MonsterChangeRequest.creationRequest())
    }
    let created = rows(path, "SELECT name FROM sqlite_master WHERE name = '\(Monster.table)'")
    XCTAssertEqual(created, ["mygame__sample__monster_v1_1"])
  }

  func testOrderIsHandlerThenObjectsThenResultsThenCompletion() {
    let workspace = open()
    workspace.insert(["a"])
    let found = workspace.fetch(for: BenchDoc.self).all()
    let events = Shared<[String]>([])
    let result = workspace.subscribe(fetchedResult: found) { _ in
      events.change { $0.append("result") }
    }
    let object = workspace.subscribe(object: found[0]) { _ in
      events.change { $0.append("object") }
    }
    let done = DispatchSemaphore(value: 0)
    workspace.performChanges([BenchDoc.self]) { context in
      let request = BenchDocChangeRequest.changeRequest(found[0])!
      request.priority = 9
      context.try(submit: request)
      events.change { $0.append("handler") }
    } completionHandler: { _ in
      events.change { $0.append("completion") }
      done.signal()
    }
    done.wait()
    XCTAssertEqual(events.value, ["handler", "object", "result", "completion"])
    withExtendedLifetime((result, object)) {}
  }

  func testAbortedTransactionIsNotPublished() {
    let workspace = open()
    let calls = Shared(0)
    let subscription = workspace.subscribe(
      fetchedResult: workspace.fetch(for: BenchDoc.self).all()
    ) { _ in calls.change { $0 += 1 } }
    workspace.wait([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
      context.abort()
    }
    workspace.wait([BenchDoc.self]) { _ in }
    XCTAssertEqual(calls.value, 0)
    subscription.cancel()
  }

  func testTransactionsOfHandlersCompletionsAndCallbacksAreQueued() {
    let workspace = open()
    let events = Shared<[String]>([])
    let done = DispatchGroup()
    done.enter()
    done.enter()
    done.enter()
    let subscription = workspace.subscribe(
      fetchedResult: workspace.fetch(for: BenchDoc.self).all()
    ) { _ in
      workspace.performChanges([BenchDoc.self]) { _ in
        events.change { $0.append("of the callback") }
      } completionHandler: { _ in done.leave() }
    }
    workspace.performChanges([BenchDoc.self]) { context in
      workspace.performChanges([BenchDoc.self]) { _ in
        events.change { $0.append("of the handler") }
      } completionHandler: { _ in done.leave() }
      events.change { $0.append("handler") }
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
    } completionHandler: { _ in
      XCTAssertNil(SQLiteTransactionContext.current)
      workspace.performChanges([BenchDoc.self]) { _ in
        events.change { $0.append("of the completion") }
      } completionHandler: { _ in done.leave() }
    }
    done.wait()
    XCTAssertEqual(events.value.prefix(2), ["handler", "of the handler"])
    XCTAssertEqual(Set(events.value.suffix(2)), ["of the callback", "of the completion"])
    subscription.cancel()
  }

  func testDeletionOfARowThatIsGoneIsADeletion() {
    let workspace = open()
    workspace.insert(["a"])
    let rowids = Shared<[Int64]>([])
    XCTAssertTrue(
      workspace.wait([BenchDoc.self]) { context in
        let requests = (0..<2).map { _ in
          BenchDocChangeRequest.deletionRequest(BenchDoc(title: "a"))!
        }
        for request in requests {
          guard case .deleted(let rowid)? = context.try(submit: request) else { continue }
          rowids.change { $0.append(rowid) }
        }
      })
    XCTAssertEqual(rowids.value, [1, 1])
  }

  func testRequestsSeeTheChangesOfTheirTransaction() {
    let workspace = open()
    workspace.insert(["a", "b"])
    let old = workspace.fetch(for: BenchDoc.self).all()
    workspace.wait([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.deletionRequest(old[0])!)
      XCTAssertNil(BenchDocChangeRequest.changeRequest(old[0]))
      XCTAssertNil(BenchDocChangeRequest.deletionRequest(old[0]))
      let request = BenchDocChangeRequest.changeRequest(old[1])!
      request.title = "c"
      context.try(submit: request)
      XCTAssertEqual(BenchDocChangeRequest.changeRequest(old[1])?.title, "c")
      XCTAssertNil(BenchDocChangeRequest.changeRequest(BenchDoc(title: "b")))
      XCTAssertNotNil(BenchDocChangeRequest.changeRequest(BenchDoc(title: "c")))
    }
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.title), ["c"])
  }

  func testRowIdIsNotUsedTwice() {
    let workspace = open()
    workspace.insert(["a", "b"])
    workspace.wait([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.deletionRequest(BenchDoc(title: "b"))!)
    }
    workspace.insert(["b"])
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\._rowid), [1, 3])
  }

  func testSerialWorkspaceRunsAllTransactionsInOrder() {
    let workspace = open(.serial)
    let order = Shared<[Int]>([])
    let done = DispatchGroup()
    for number in 0..<20 {
      done.enter()
      let type: Any.Type = number % 2 == 0 ? BenchDoc.self : Monster.self
      workspace.performChanges([type]) { _ in
        order.change { $0.append(number) }
      } completionHandler: { _ in done.leave() }
    }
    done.wait()
    XCTAssertEqual(order.value, Array(0..<20))
  }

  func testResultOfATransactionHasItsError() async {
    let workspace = open()
    func code(_ handler: @escaping Workspace.ChangesHandler) async -> Int32? {
      do {
        try await workspace.performChangesOrThrow([BenchDoc.self], changesHandler: handler)
        return nil
      } catch {
        return (error as? DflatError)?.code
      }
    }
    let committed = await code { context in
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
    }
    XCTAssertNil(committed)
    let aborted = await code { $0.abort() }
    XCTAssertEqual(aborted, 6, "DFLAT_ABORTED")
    let twice = await code { context in
      let request = BenchDocChangeRequest.creationRequest(BenchDoc(title: "b"))
      context.try(submit: request)
      context.try(submit: request)
    }
    XCTAssertEqual(twice, 21, "DFLAT_INVALID_ARGUMENT, the error of the second submission")
  }
}
