import Dflat
import Foundation
import Generated_bench_doc
import Generated_monster
import SQLite3
import SQLiteDflat
import XCTest

private typealias Monster = MyGame.Sample.Monster
private typealias MonsterChangeRequest = MyGame.Sample.MonsterChangeRequest

final class FetchTests: FileTestCase {
  private func titles(
    _ workspace: SQLiteWorkspace, limit: Limit = .noLimit, _ order: OrderBy<BenchDoc>...
  ) -> [String] {
    workspace.fetch(for: BenchDoc.self).all(limit: limit, orderBy: order).map(\.title)
  }

  func testOrderAndLimit() {
    let workspace = open()
    workspace.insert(["a", "b", "c", "d"])
    XCTAssertEqual(titles(workspace, BenchDoc.priority.descending), ["d", "c", "b", "a"])
    XCTAssertEqual(titles(workspace, limit: .limit(2), BenchDoc.priority.descending), ["d", "c"])
    XCTAssertEqual(titles(workspace, BenchDoc.tag.descending), ["a", "b", "c", "d"])
    XCTAssertEqual(titles(workspace, limit: .limit(0)), [])
    let list = ["c", "a", "c"]
    XCTAssertEqual(titles(workspace, list.firstIndex(of: BenchDoc.title)), ["b", "d", "c", "a"])
    XCTAssertEqual(titles(workspace, list.lastIndex(of: BenchDoc.title)), ["b", "d", "a", "c"])
  }

  /// Swift's strings are equal if they show the same characters; those of the engine are not.
  func testOrderByAListTellsStringsOfOtherBytesApart() {
    let workspace = open()
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    workspace.insert([decomposed, "b", composed])
    let list = [composed, decomposed]
    let scalars = { (order: OrderBy<BenchDoc>) in
      self.titles(workspace, order).map { $0.unicodeScalars.count }
    }
    XCTAssertEqual(scalars(list.firstIndex(of: BenchDoc.title)), [1, 1, 2])
    XCTAssertEqual(titles(workspace, list.firstIndex(of: BenchDoc.title)).first, "b")
    XCTAssertEqual(scalars(list.lastIndex(of: BenchDoc.title)), [1, 1, 2])
  }

  func testEveryConditionGivesTheSameAnswerInTheEngineAndInSwift() {
    let workspace = open()
    workspace.wait([BenchDoc.self]) { context in
      for number in 0..<30 {
        let request = BenchDocChangeRequest.creationRequest()
        request.title = "doc \(number)"
        request.priority = Int32(number % 7 - 3)
        request.tag = number % 3 == 0 ? nil : "tag \(number % 4)"
        request.color = [.red, .green, .blue][number % 3]
        request.pos = number % 2 == 0 ? Vec3(x: Float(number), y: 1) : nil
        switch number % 4 {
        case 0: request.content = .textContent(TextContent(text: "text \(number % 8)"))
        case 1: request.content = .imageContent(ImageContent(images: ["i"]))
        default: break
        }
        context.try(submit: request)
      }
    }
    let all = workspace.fetch(for: BenchDoc.self).all()
    XCTAssertEqual(all.count, 30)
    func check<T: Expr & SQLiteExpr>(_ condition: T, line: UInt = #line)
    where T.ResultType == Bool, T.Element == BenchDoc {
      let found = workspace.fetch(for: BenchDoc.self).where(condition).map(\.title)
      let objects = all.filter { condition.evaluate(object: $0) == true }.map(\.title)
      let bytes = all.filter {
        condition.evaluate(byteBuffer: $0._payload!.byteBuffer) == true
      }.map(\.title)
      XCTAssertEqual(found, objects, line: line)
      XCTAssertEqual(found, bytes, line: line)
      XCTAssertFalse(found.isEmpty, line: line)
      XCTAssertLessThan(found.count, 30, line: line)
    }
    check(BenchDoc.priority == 2)
    check(BenchDoc.priority != 2)
    check(BenchDoc.priority < 0)
    check(BenchDoc.priority <= 0)
    check(BenchDoc.priority > 0)
    check(0 >= BenchDoc.priority)
    check(BenchDoc.priority + 1 > 3)
    check(BenchDoc.priority - 1 < -2)
    check(BenchDoc.priority % 2 == 1)
    check(BenchDoc.color == .green)
    check(BenchDoc.color.in([.green, .blue]))
    check(BenchDoc.color.notIn([.green]))
    check(BenchDoc.tag.isNull)
    check(BenchDoc.tag.isNotNull && BenchDoc.priority > 0)
    check(BenchDoc.tag == "tag 1" || BenchDoc.priority == 3)
    check(!(BenchDoc.tag == "tag 1"))
    check(BenchDoc.pos.x > 10)
    check(BenchDoc.pos.y.isNull)
    check(BenchDoc.content.match(TextContent.self))
    check(!BenchDoc.content.match(TextContent.self))
    check(BenchDoc.content.as(TextContent.self).text == "text 4")
    check(BenchDoc.content.as(TextContent.self).text.isNull)
    check(BenchDoc.content._type == 0)
    check((BenchDoc.priority == 2) == (BenchDoc.color == .green))
  }

  func testEmptyListsAndLargeLists() {
    let workspace = open()
    workspace.insert(["a", "b", "c"])
    let fetch = { workspace.fetch(for: BenchDoc.self) }
    XCTAssertEqual(fetch().where(BenchDoc.title.in([])).count, 0)
    XCTAssertEqual(fetch().where(BenchDoc.title.notIn([])).count, 3)
    XCTAssertEqual(fetch().where(BenchDoc.priority.in(1...100_000)).count, 2)
    let long = (0..<200_000).map { "another \($0)" } + ["b"]
    XCTAssertEqual(fetch().where(BenchDoc.title.in(long)).map(\.title), ["b"])
  }

  func testHandMadeFieldIsEvaluatedInSwift() {
    let workspace = open()
    workspace.insert(["a", "bb", "ccc", "dd"])
    let length = FieldExpr<Int64, BenchDoc>(
      name: "length", primaryKey: false, hasIndex: false, tableReader: { _ in nil },
      objectReader: { Int64($0.title.count) })
    let found = workspace.fetch(for: BenchDoc.self).where(
      length >= 2, limit: .limit(2), orderBy: [length.descending])
    XCTAssertEqual(found.map(\.title), ["ccc", "bb"])
  }

  func testSnapshotShowsTheStateOfTheFirstFetch() {
    let workspace = open()
    workspace.insert(["a"])
    let counts = workspace.fetchWithinASnapshot { () -> [Int] in
      workspace.insert(["b"])
      let first = workspace.fetch(for: BenchDoc.self).all().count
      workspace.insert(["c"])
      let inner = workspace.fetchWithinASnapshot { workspace.fetch(for: BenchDoc.self).all().count }
      return [first, inner, workspace.fetch(for: BenchDoc.self).all().count]
    }
    XCTAssertEqual(counts, [2, 2, 2])
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 3)
  }

  func testAllTypesOfFieldsAreReadBack() {
    let workspace = open()
    let monster = Monster(
      name: "m", color: .green, pos: MyGame.Sample.Vec3(x: 1, y: 2, z: 3), mana: -5,
      inventory: [1, 2, 255],
      bag: [.orb(MyGame.Sample.Orb(name: "o")), .weapon(MyGame.Sample.Weapon(damage: 3))],
      weapons: [MyGame.Sample.Weapon(name: "w"), MyGame.Sample.Weapon()],
      equipped: .weapon(MyGame.Sample.Weapon(name: "e", damage: 9)), colors: [.red, .blue],
      path: [MyGame.Sample.Vec3(x: 1), MyGame.Sample.Vec3(x: 2), MyGame.Sample.Vec3(x: 3)],
      profile: MyGame.Sample.Profile(url: "u"), type: true, truth: false)
    workspace.wait([Monster.self]) { context in
      context.try(submit: MonsterChangeRequest.creationRequest(monster))
    }
    let found = workspace.fetch(for: Monster.self).where(
      Monster.equipped.as(MyGame.Sample.Weapon.self).damage == 9)
    XCTAssertEqual(found.count, 1)
    XCTAssertEqual(found[0], monster)
    XCTAssertEqual(found[0].path.map(\.x), [1, 2, 3])
    XCTAssertEqual(Monster.from(data: found[0].toData()), monster)
    XCTAssertEqual(Monster.from(data: monster.toData()), monster)
    var builder = MyGame.Sample.MonsterBuilder(from: found[0])
    builder.hp = 1
    XCTAssertEqual(builder.build().hp, 1)
    XCTAssertEqual(builder.build().name, "m")
  }

  func testDamagedBytesDoNotCrash() {
    let bytes = Array(Monster(name: "m", color: .red, weapons: [.init(name: "w")]).toData())
    XCTAssertTrue(Monster.verify(byteBuffer: .init(bytes: bytes)))
    var rejected = 0
    for position in bytes.indices {
      for value in [0, 0x7F, 0xFF] as [UInt8] {
        var damaged = bytes
        damaged[position] = value
        _ = Monster.from(byteBuffer: .init(bytes: damaged)) == Monster(name: "m", color: .red)
        rejected += Monster.verify(byteBuffer: .init(bytes: damaged)) ? 0 : 1
      }
      // The last two bytes fill the payload up to a multiple of four.
      guard position < bytes.count - 2 else { continue }
      let cut = Array(bytes[..<position])
      XCTAssertFalse(Monster.verify(byteBuffer: .init(bytes: cut)), "cut at \(position)")
    }
    XCTAssertGreaterThan(rejected, 0)
  }

  func testErrorsAreReportedAndThrown() throws {
    try Data("no database, but a text of some length".utf8).write(to: URL(fileURLWithPath: path))
    let workspace = open()
    let errors = Shared<[Error]>([])
    workspace.onError = { error in errors.change { $0.append(error) } }
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 0)
    XCTAssertEqual(errors.value.count, 1)
    XCTAssertThrowsError(try workspace.fetch(for: BenchDoc.self).results())
    XCTAssertFalse(
      workspace.wait([BenchDoc.self]) { context in
        _ = try? context.submit(BenchDocChangeRequest.creationRequest(BenchDoc(title: "a")))
      })
    XCTAssertGreaterThan(errors.value.count, 1)
  }

  func testConnectionOfSQLiteIsOpenOnTheSameFile() {
    let workspace = open()
    workspace.insert(["a", "b"])
    let count = Shared<Int32>(-1)
    workspace.wait([BenchDoc.self]) { context in
      let connection = (context as? SQLiteTransactionContext)?.connection
      let statement = connection?.prepareStatement("SELECT COUNT(*) FROM benchdoc")
      guard let statement = statement, sqlite3_step(statement) == SQLITE_ROW else {
        return XCTFail("no statement")
      }
      count.value = sqlite3_column_int(statement, 0)
      context.try(submit: BenchDocChangeRequest.creationRequest(BenchDoc(title: "c")))
    }
    XCTAssertEqual(count.value, 2)
    var raw: OpaquePointer?
    XCTAssertEqual(sqlite3_open(path, &raw), SQLITE_OK)
    XCTAssertEqual(sqlite3_exec(raw, "SELECT p FROM benchdoc", nil, nil, nil), SQLITE_OK)
    sqlite3_close(raw)
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 3)
  }

  func testEmptyTransactionWaitsForTheIndexesThatAFetchBuilds() {
    var workspace = open()
    workspace.wait([Monster.self]) { context in
      for number in 0..<2_000 {
        let monster = Monster(name: "m\(number)", color: .red, mana: Int16(number % 100))
        context.try(submit: MonsterChangeRequest.creationRequest(monster))
      }
    }
    workspace.shutdown(flags: [.truncate])
    var raw: OpaquePointer?
    XCTAssertEqual(sqlite3_open(path, &raw), SQLITE_OK)
    let drop = "DROP TABLE mygame__sample__monster_v1_1__f6"
    XCTAssertEqual(sqlite3_exec(raw, drop, nil, nil, nil), SQLITE_OK)
    sqlite3_close(raw)
    workspace = open()
    XCTAssertEqual(workspace.fetch(for: Monster.self).where(Monster.mana == 7).count, 20)
    workspace.wait([Monster.self]) { _ in }
    XCTAssertEqual(sqlite3_open(path, &raw), SQLITE_OK)
    var statement: OpaquePointer?
    let count = "SELECT COUNT(*) FROM mygame__sample__monster_v1_1__f6"
    XCTAssertEqual(sqlite3_prepare_v2(raw, count, -1, &statement, nil), SQLITE_OK)
    XCTAssertEqual(sqlite3_step(statement), SQLITE_ROW)
    XCTAssertEqual(sqlite3_column_int(statement, 0), 2_000)
    sqlite3_finalize(statement)
    sqlite3_close(raw)
  }

  func testFilesOfTheOriginalAreRead() throws {
    let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../crates/dflat-sqlite/tests/data")
    let file = fixtures.appendingPathComponent("checkpointed.db")
    try FileManager.default.copyItem(at: file, to: URL(fileURLWithPath: path))
    let workspace = open()
    workspace.onError = { XCTFail("\($0)") }
    let docs = workspace.fetch(for: BenchDoc.self)
    XCTAssertEqual(docs.all().count, 300)
    XCTAssertEqual(docs.where(BenchDoc.tag == "high").count, 33)
    XCTAssertEqual(docs.where(BenchDoc.tag.isNull).count, 66)
    let monsters = workspace.fetch(for: Monster.self)
    XCTAssertEqual(monsters.all().count, 190)
    XCTAssertEqual(monsters.where(Monster.mana > 300).count, 49)
    XCTAssertEqual(
      monsters.where(Monster.equipped.match(MyGame.Sample.Orb.self)).count, 64)
    struct Settings: Codable, Equatable {
      var theme: String
      var size: Int
    }
    XCTAssertEqual(
      workspace.dictionary["settings", Settings.self], Settings(theme: "dark", size: 12))
    XCTAssertEqual(
      workspace.dictionary["content", TextContent.self],
      TextContent(text: "a FlatBuffers value"))
  }

  func testFetchAfterShutdownIsEmpty() {
    let workspace = open()
    workspace.insert(["a"])
    workspace.shutdown(flags: [.truncate])
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 0)
    XCTAssertFalse(workspace.wait([BenchDoc.self]) { _ in XCTFail("the handler ran") })
    XCTAssertFalse(FileManager.default.fileExists(atPath: path + "-wal"))
    let second = DispatchSemaphore(value: 0)
    workspace.shutdown { second.signal() }
    second.wait()
    XCTAssertEqual(open().fetch(for: BenchDoc.self).all().count, 1)
  }
}
