import Dflat
import Dispatch
import Foundation
import Generated_bench_doc
import Generated_monster
import Generated_scalars
import SQLiteDflat
import XCTest

private typealias Monster = MyGame.Sample.Monster
private typealias MonsterChangeRequest = MyGame.Sample.MonsterChangeRequest
private typealias Vec = MyGame.Sample.Vec3

/// The defects of the original, of which this library has none.
final class DefectTests: FileTestCase {
  func testLimitIsAppliedAfterTheOrderOfAFieldWithoutAnIndex() {
    let workspace = open()
    workspace.wait([BenchDoc.self]) { context in
      for (number, title) in ["d", "c", "b", "a"].enumerated() {
        let object = BenchDoc(title: "\(number)", tag: title)
        context.try(submit: BenchDocChangeRequest.creationRequest(object))
      }
    }
    let found = workspace.fetch(for: BenchDoc.self).all(
      limit: .limit(2), orderBy: [BenchDoc.tag.ascending])
    XCTAssertEqual(found.map(\.tag), ["a", "b"])
  }

  func testVectorOfStructsKeepsItsOrder() {
    let workspace = open()
    let path = (1...3).map { Vec(x: Float($0), y: 0, z: 0) }
    workspace.wait([Monster.self]) { context in
      let monster = Monster(name: "a", color: .red, path: path)
      context.try(submit: MonsterChangeRequest.creationRequest(monster))
    }
    for hp in 1...3 {
      workspace.wait([Monster.self]) { context in
        let request = MonsterChangeRequest.changeRequest(Monster(name: "a", color: .red))!
        request.hp = Int16(hp)
        context.try(submit: request)
      }
      XCTAssertEqual(workspace.fetch(for: Monster.self).all()[0].path, path)
    }
  }

  func testUniqueValueOfAnotherObjectIsAConflict() {
    let workspace = open()
    let failures = Shared<[Error]>([])
    workspace.wait([Scalars.self]) { context in
      for id in 1...2 {
        let scalars = Scalars(id: UInt64(id), g: UInt32(id), needed: "")
        context.try(submit: ScalarsChangeRequest.creationRequest(scalars))
      }
      let request = ScalarsChangeRequest.changeRequest(Scalars(id: 2))!
      request.g = 1
      do { try context.submit(request) } catch { failures.change { $0.append(error) } }
    }
    guard case TransactionError.objectAlreadyExists? = failures.value.first else {
      return XCTFail("\(failures.value)")
    }
    XCTAssertEqual(workspace.fetch(for: Scalars.self).where(Scalars.g == 2).map(\.id), [2])
    XCTAssertEqual(workspace.fetch(for: Scalars.self).where(Scalars.g == 1).map(\.id), [1])
  }

  func testLargeUnsignedNumbersAreFound() {
    let workspace = open()
    workspace.wait([Scalars.self]) { context in
      for id in [1, UInt64(Int64.max) + 1, .max] {
        let scalars = Scalars(id: id, g: UInt32.max - UInt32(id % 11), needed: "")
        context.try(submit: ScalarsChangeRequest.creationRequest(scalars))
      }
    }
    let query = workspace.fetch(for: Scalars.self)
    XCTAssertEqual(query.where(Scalars.id == .max).map(\.id), [.max])
    XCTAssertEqual(query.where(Scalars.id > UInt64(Int64.max)).count, 2)
    XCTAssertEqual(query.where(Scalars.g > 4_000_000_000).count, 3)
  }

  func testComputationsThatHaveNoResultAreUnknown() {
    let workspace = open()
    workspace.insert(["a", "b"])
    let query = workspace.fetch(for: BenchDoc.self)
    XCTAssertEqual(query.where(BenchDoc.priority % 0 == 0).count, 0)
    XCTAssertEqual(query.where((BenchDoc.priority % 0 == 0).isNull).count, 2)
    XCTAssertEqual(query.where(BenchDoc.priority + Int32.max < 0).count, 0, "no overflow")
  }

  func testTextsAreComparedByTheirBytes() {
    let workspace = open()
    workspace.insert(["\u{E9}", "e\u{301}", "a\0b", "a\0c"])
    let query = workspace.fetch(for: BenchDoc.self)
    let byHand = FieldExpr<String, BenchDoc>(
      name: "title", primaryKey: false, hasIndex: false, tableReader: { _ in nil },
      objectReader: { $0.title })
    for field in [BenchDoc.title, byHand] {
      XCTAssertEqual(query.where(field == "\u{E9}").count, 1)
      XCTAssertEqual(query.where(field == "a\0b").count, 1)
      XCTAssertEqual(query.where(field != "a\0b").count, 3)
    }
  }

  func testEmptyUnionHasOneAnswer() {
    let workspace = open()
    let delivered = Shared(0)
    let query = workspace.fetch(for: BenchDoc.self)
    let empty = query.where(!BenchDoc.content.match(TextContent.self))
    let subscription = workspace.subscribe(fetchedResult: empty) { delivered.value = $0.count }
    workspace.insert(["a"])
    XCTAssertEqual(delivered.value, 1)
    XCTAssertEqual(query.where(!BenchDoc.content.match(TextContent.self)).count, 1)
    let object = query.all()[0]
    XCTAssertEqual((!BenchDoc.content.match(TextContent.self)).evaluate(object: object), true)
    subscription.cancel()
  }

  func testNestedSnapshotKeepsTheOuterState() {
    let workspace = open()
    workspace.insert(["a"])
    workspace.fetchWithinASnapshot {
      _ = workspace.fetch(for: BenchDoc.self).all()
      workspace.insert(["b"])
      workspace.fetchWithinASnapshot {
        XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 1)
      }
      XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 1)
    }
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 2)
  }

  func testBuildersMayBeDroppedAndUsedTwice() {
    let workspace = open()
    workspace.insert(["a"])
    for _ in 0..<200 { _ = workspace.fetch(for: BenchDoc.self) }
    let builder = workspace.fetch(for: BenchDoc.self)
    XCTAssertEqual(builder.all().count, 1)
    XCTAssertEqual(builder.all().count, 1)
  }

  func testTypeMayBeNamedTwice() {
    let workspace = open()
    XCTAssertTrue(workspace.wait([BenchDoc.self, BenchDoc.self]) { _ in })
  }

  func testOverlappingTypesFromSeveralThreadsEnd() {
    let workspace = open()
    let done = DispatchGroup()
    for number in 0..<40 {
      done.enter()
      DispatchQueue.global().async {
        let types: [Any.Type] =
          number % 2 == 0 ? [BenchDoc.self, Monster.self] : [Monster.self, BenchDoc.self]
        workspace.performChanges(types) { context in
          let object = BenchDoc(title: "\(number)")
          context.try(submit: BenchDocChangeRequest.creationRequest(object))
        } completionHandler: { success in
          XCTAssertTrue(success)
          done.leave()
        }
      }
    }
    done.wait()
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 40)
  }

  func testSubscriptionToAnObjectOfAnAbortedTransactionDoesNotCrash() {
    let workspace = open()
    let lost = Shared<BenchDoc?>(nil)
    workspace.wait([BenchDoc.self]) { context in
      let request = BenchDocChangeRequest.creationRequest(BenchDoc(title: "a"))
      guard case .inserted(let object)? = context.try(submit: request) else { return }
      lost.value = object as? BenchDoc
      context.abort()
    }
    let events = Shared<[String]>([])
    let subscription = workspace.subscribe(object: lost.value!) { change in
      events.change { $0.append("\(change)") }
    }
    workspace.insert(["b"])
    XCTAssertEqual(events.value, ["deleted"])
    subscription.cancel()
  }

  func testSynchronizeInAHandlerIsReportedAndDoesNotHang() {
    let workspace = open()
    let errors = Shared(0)
    workspace.onError = { _ in errors.change { $0 += 1 } }
    XCTAssertTrue(workspace.wait([BenchDoc.self]) { _ in workspace.dictionary.synchronize() })
    XCTAssertEqual(errors.value, 1)
  }

  /// `cancel` and the release of a subscription return while its closure runs.
  func testCancelDoesNotWaitForACallThatRuns() {
    let workspace = open()
    let (begun, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    var subscription: WorkspaceSubscription? = workspace.subscribe(
      fetchedResult: workspace.fetch(for: BenchDoc.self).all()
    ) { _ in
      begun.signal()
      goOn.wait()
    }
    let done = DispatchSemaphore(value: 0)
    workspace.performChanges([BenchDoc.self]) { context in
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
    } completionHandler: { _ in done.signal() }
    begun.wait()
    subscription?.cancel()
    subscription = nil
    goOn.signal()
    done.wait()
  }

  func testRowWithoutAPayloadIsReported() throws {
    let workspace = open()
    workspace.insert(["a"])
    try execute("UPDATE benchdoc SET p = NULL")
    let errors = Shared(0)
    workspace.onError = { _ in errors.change { $0 += 1 } }
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 0)
    XCTAssertEqual(errors.value, 1)
  }

  func testNegativeLimitIsNone() {
    let workspace = open()
    workspace.insert(["a", "b"])
    let length = FieldExpr<Int64, BenchDoc>(
      name: "length", primaryKey: false, hasIndex: false, tableReader: { _ in nil },
      objectReader: { Int64($0.title.count) })
    let query = workspace.fetch(for: BenchDoc.self)
    XCTAssertEqual(query.all(limit: .limit(-1)).count, 0)
    XCTAssertEqual(query.where(length > 0, limit: .limit(-1)).count, 0)
  }

  /// The space may be found too small at a submission or at the commit.
  func testFullDiskEndsTheTransactionOnly() throws {
    let disk = folder.appendingPathComponent("disk")
    try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: true)
    guard run("mount", "-t", "tmpfs", "-o", "size=2m,mode=777", "tmpfs", disk.path) == 0 else {
      throw XCTSkip("nothing can be mounted here")
    }
    defer { _ = run("umount", "-l", disk.path) }
    let workspace = SQLiteWorkspace(
      filePath: disk.appendingPathComponent("test.db").path, fileProtectionLevel: .noProtection)
    workspace.insert(["a"])
    let thrown = Shared<[String]>([])
    let success = workspace.wait([BenchDoc.self]) { context in
      for number in 0..<200 where thrown.value.count < 2 {
        let text = String(repeating: "x", count: 100_000)
        let object = BenchDoc(title: "\(number)", tag: text)
        do {
          try context.submit(BenchDocChangeRequest.creationRequest(object))
        } catch {
          thrown.change { $0.append("\(error)") }
        }
      }
    }
    XCTAssertFalse(success)
    XCTAssertTrue([[], ["diskFull", "aborted"]].contains(thrown.value), "\(thrown.value)")
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.title), ["a"])
    workspace.insert(["b"])
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.title), ["a", "b"])
    workspace.shutdown()
  }

  /// The exit status of a program; nil if there is none.
  private func run(_ program: String, _ arguments: String...) -> Int32? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    process.waitUntilExit()
    return process.terminationStatus
  }
}
