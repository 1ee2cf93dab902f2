import Dflat
import Foundation
import Generated_bench_doc
import Generated_monster
import Generated_scalars
import SQLite3
import SQLiteDflat
import XCTest

private typealias Monster = MyGame.Sample.Monster
private typealias MonsterChangeRequest = MyGame.Sample.MonsterChangeRequest

/// Indexes and tables that vanish while a workspace is open, and the table names of a file.
final class IndexTests: FileTestCase {
  private let index = "mygame__sample__monster_v1_1__f6"

  private func insert(_ workspace: SQLiteWorkspace, _ count: Int) {
    workspace.wait([Monster.self]) { context in
      for number in 0..<count {
        let monster = Monster(name: "m\(number)", color: .red, mana: Int16(number % 10))
        context.try(submit: MonsterChangeRequest.creationRequest(monster))
      }
    }
  }

  func testNamesOfTablesAndColumns() {
    XCTAssertEqual(Monster.table, "mygame__sample__monster_v1_1")
    XCTAssertEqual(Set(Monster.indexFields), ["f6", "f26__type", "f26__u2__f4"])
    XCTAssertEqual(Monster.flatBuffersSchemaVersion, "1.1")
    XCTAssertEqual(BenchDoc.table, "benchdoc")
    XCTAssertEqual(DictItem.table, "dictitem_v_dflat_internal__")
  }

  func testEachObjectHasARowInEachIndex() throws {
    let workspace = open()
    workspace.wait([Monster.self]) { context in
      for (name, equipped) in [
        ("a", nil), ("b", MyGame.Sample.Equipment.orb(MyGame.Sample.Orb(name: "o"))),
        ("c", .orb(MyGame.Sample.Orb())),
      ] {
        let monster = Monster(name: name, color: .green, equipped: equipped)
        context.try(submit: MonsterChangeRequest.creationRequest(monster))
      }
    }
    let table = Monster.table
    XCTAssertEqual(rows(path, "SELECT rowid, f6 FROM \(table)__f6"), ["1|150", "2|150", "3|150"])
    XCTAssertEqual(
      rows(path, "SELECT rowid, f26__type FROM \(table)__f26__type"), ["1|NULL", "2|2", "3|2"])
    XCTAssertEqual(
      rows(path, "SELECT rowid, f26__u2__f4 FROM \(table)__f26__u2__f4"),
      ["1|NULL", "2|o", "3|NULL"])
    XCTAssertEqual(
      rows(path, "SELECT __pk0, __pk1, typeof(p) FROM \(table)"),
      ["a|1|blob", "b|1|blob", "c|1|blob"])
    workspace.wait([Monster.self]) { context in
      context.try(
        submit: MonsterChangeRequest.deletionRequest(Monster(name: "b", color: .green))!)
    }
    for column in Monster.indexFields {
      XCTAssertEqual(rows(path, "SELECT rowid FROM \(table)__\(column)"), ["1", "3"], column)
    }
  }

  /// Statements that remove rows of an index, or the index, or make it wrong.
  private var damages: [String] {
    [
      "DELETE FROM \(index) WHERE rowid % 2 = 0", "DELETE FROM \(index)", "DROP TABLE \(index)",
      "ALTER TABLE \(index) RENAME TO elsewhere", "UPDATE \(index) SET f6 = 99",
    ]
  }

  /// The fetch begins the build, for which an empty transaction waits. Each index was read before.
  func testIndexRowsAndTablesThatVanishComeBackAfterAFetch() throws {
    let workspace = open()
    insert(workspace, 200)
    let query = { workspace.fetch(for: Monster.self).where(Monster.mana == 7).count }
    XCTAssertEqual(query(), 20)
    for statement in damages {
      try execute(statement)
      XCTAssertEqual(query(), 20, statement)
      XCTAssertTrue(workspace.wait([Monster.self]) { _ in })
      let good = "SELECT COUNT(*) FROM \(index) WHERE f6 < 10"
      XCTAssertEqual(rows(path, good), ["200"], statement)
      XCTAssertEqual(query(), 20, statement)
    }
  }

  func testIndexRowsAndTablesThatVanishComeBack() throws {
    let workspace = open()
    insert(workspace, 200)
    let query = { workspace.fetch(for: Monster.self).where(Monster.mana == 7).count }
    for (number, statement) in damages.enumerated() {
      try execute(statement)
      XCTAssertEqual(query(), 20, statement)
      XCTAssertEqual(workspace.fetch(for: Monster.self).where(Monster.mana == 99).count, 0)
      // The next change brings the index back.
      workspace.wait([Monster.self]) { context in
        let monster = Monster(name: "new \(number)", color: .red, mana: 50)
        context.try(submit: MonsterChangeRequest.creationRequest(monster))
      }
      XCTAssertTrue(workspace.wait([Monster.self]) { _ in })
      XCTAssertEqual(query(), 20, statement)
      let good = "SELECT COUNT(*) FROM \(index) WHERE f6 < 10"
      XCTAssertEqual(rows(path, good), ["200"], statement)
    }
  }

  func testTableThatVanishesIsEmptyAndComesBack() throws {
    let workspace = open()
    insert(workspace, 5)
    try execute("ALTER TABLE mygame__sample__monster_v1_1 RENAME TO kept")
    XCTAssertEqual(workspace.fetch(for: Monster.self).all().count, 0)
    insert(workspace, 2)
    XCTAssertEqual(workspace.fetch(for: Monster.self).all().count, 2)
    XCTAssertEqual(workspace.fetch(for: Monster.self).where(Monster.mana == 1).count, 1)
  }

  /// Source for the original writes with the connection of a transaction.
  func testConnectionOfATransactionWritesBeforeItsFirstChange() {
    let workspace = open()
    insert(workspace, 20)
    workspace.wait([Monster.self]) { context in
      let connection = SQLiteTransactionContext.current?.connection
      let done = sqlite3_exec(connection?.sqlite, "DELETE FROM \(self.index)", nil, nil, nil)
      XCTAssertEqual(done, SQLITE_OK)
      connection?.clearIndexStatus(for: Monster.table)
      XCTAssertEqual(
        connection?.indexSurvey(["f6"], table: Monster.table).full, ["f6"])
    }
    XCTAssertEqual(workspace.fetch(for: Monster.self).where(Monster.mana == 3).count, 2)
    workspace.wait([Monster.self]) { context in
      context.try(submit: MonsterChangeRequest.creationRequest(Monster(name: "n", color: .red)))
    }
    XCTAssertEqual(rows(path, "SELECT COUNT(*) FROM \(index)"), ["21"])
  }

  func testIndexIsUsedOnceItIsBuilt() throws {
    let workspace = open()
    insert(workspace, 100)
    try execute("DROP TABLE \(index)")
    XCTAssertEqual(workspace.fetch(for: Monster.self).where(Monster.mana == 7).count, 10)
    workspace.wait([Monster.self]) { _ in }
    let plan = try workspace.fetch(for: Monster.self).explain(where: Monster.mana == 7)
    XCTAssertTrue(plan.contains("index on mana"), plan)
  }

  /// Values of a `unique` field that occur twice, as in a file from before the field was unique.
  func testObjectsWithTheSameUniqueValueStay() throws {
    let workspace = open()
    workspace.wait([Scalars.self]) { context in
      for id in 1...3 {
        let scalars = Scalars(id: UInt64(id), g: UInt32(id), needed: "")
        context.try(submit: ScalarsChangeRequest.creationRequest(scalars))
      }
    }
    let payload = Scalars(id: 2, g: 1, needed: "").toData().map { String(format: "%02x", $0) }
    try execute("UPDATE scalars SET p = x'\(payload.joined())' WHERE rowid = 2")
    for column in Scalars.indexFields { try execute("DROP TABLE scalars__\(column)") }
    let query = workspace.fetch(for: Scalars.self)
    XCTAssertEqual(query.where(Scalars.g == 1).count, 2)
    workspace.wait([Scalars.self]) { _ in }
    XCTAssertEqual(query.where(Scalars.g == 1).count, 2)
    XCTAssertEqual(query.all(orderBy: [Scalars.g.ascending]).count, 3)
  }
}
