import Dflat
@testable import SQLiteDflat
import DflatC
import Foundation
import Generated_bench_doc
import Generated_monster
import SQLite3
import XCTest

private typealias Monster = MyGame.Sample.Monster
private typealias MonsterChangeRequest = MyGame.Sample.MonsterChangeRequest

/// The rows of a query of SQL, each as a text.
private func rows(_ path: String, _ sql: String) -> [String] {
  var connection: OpaquePointer?
  var statement: OpaquePointer?
  defer {
    sqlite3_finalize(statement)
    sqlite3_close_v2(connection)
  }
  guard sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, nil) == SQLITE_OK,
    sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK
  else {
    XCTFail("\(sql): \(String(cString: sqlite3_errmsg(connection)))")
    return []
  }
  var found: [String] = []
  while sqlite3_step(statement) == SQLITE_ROW {
    let columns = (0..<sqlite3_column_count(statement)).map { column -> String in
      guard let text = sqlite3_column_text(statement, column) else { return "NULL" }
      return String(cString: text)
    }
    found.append(columns.joined(separator: "|"))
  }
  return found
}

/// The JSON of a payload, as the engine, which is Rust, reads it.
private func json<T: SQLiteAtom>(_ type: T.Type, _ payload: Data) throws -> String {
  try payload.withUnsafeBytes { bytes in
    try Handle(release: dflat_buffer_release) {
      dflat_json_write(type._table.handle.pointer, bytes.lent, $0, $1)
    }.text
  }
}

/// The original stores an empty list, and this library stores none, which means the same.
private func withoutEmptyLists(_ json: String) -> String {
  json.replacingOccurrences(of: #",?"[a-z_]+":\[\]"#, with: "", options: .regularExpression)
    .replacingOccurrences(of: "{,", with: "{")
}

/// A payload that the engine writes.
private func payload<T: SQLiteAtom>(_ type: T.Type, _ json: String) throws -> Data {
  let made = try json.withText { json in
    try Handle(release: dflat_buffer_release) {
      dflat_json_read(type._table.handle.pointer, json, $0, $1)
    }
  }
  var bytes = dflat_bytes()
  _ = dflat_buffer_bytes(made.pointer, &bytes)
  return withExtendedLifetime(made) { Data(bytes) }
}

/// Files and payloads of the original, of Rust and of Swift are the same.
final class FileTests: FileTestCase {
  /// A copy of a file that the original has written.
  private func original() throws -> String {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../crates/dflat-sqlite/tests/data/checkpointed.db")
    let copy = folder.appendingPathComponent("original.db")
    try FileManager.default.copyItem(at: root.standardizedFileURL, to: copy)
    return copy.path
  }

  func testSwiftWritesTheIndexesAndKeysOfTheOriginal() throws {
    let original = try original()
    let theirs = SQLiteWorkspace(filePath: original, fileProtectionLevel: .noProtection)
    let docs = theirs.fetch(for: BenchDoc.self).all()
    let monsters = theirs.fetch(for: Monster.self).all()
    XCTAssertEqual(docs.count, 300)
    XCTAssertEqual(monsters.count, 190)
    let ours = open()
    // Rows that the original has deleted leave gaps in its row ids, which ours has not.
    XCTAssertTrue(
      ours.wait([BenchDoc.self, Monster.self]) { context in
        for doc in docs { context.try(submit: BenchDocChangeRequest.creationRequest(doc)) }
        for monster in monsters {
          context.try(submit: MonsterChangeRequest.creationRequest(monster))
        }
      })
    XCTAssertTrue(ours.fetch(for: BenchDoc.self).all().elementsEqual(docs))
    XCTAssertTrue(ours.fetch(for: Monster.self).all().elementsEqual(monsters))
    ours.shutdown(flags: .truncate)
    let keys = "SELECT __pk0, typeof(__pk0), typeof(p) FROM benchdoc ORDER BY rowid"
    XCTAssertEqual(rows(path, keys), rows(original, keys))
    let ranks = "row_number() OVER (ORDER BY rowid)"
    let table = "mygame__sample__monster_v1_1"
    for column in ["f6", "f26__type", "f26__u2__f4"] {
      let query = """
        SELECT \(ranks), __pk0, __pk1, typeof(__pk1), \(column), typeof(\(column))
        FROM \(table) JOIN \(table)__\(column) USING (rowid) ORDER BY rowid
        """
      XCTAssertEqual(rows(path, query), rows(original, query), column)
      XCTAssertEqual(rows(path, query).count, 190)
    }
    let schema = """
      SELECT name, sql FROM sqlite_master
      WHERE (name LIKE 'benchdoc%' OR name LIKE 'mygame%') AND sql IS NOT NULL ORDER BY name
      """
    XCTAssertEqual(Set(rows(path, schema)).subtracting(rows(original, schema)), [])
  }

  /// Each object of the original is written by Swift and read by Rust, and the other way.
  func testPayloadsOfSwiftAndRustAreReadByEachOther() throws {
    let theirs = SQLiteWorkspace(filePath: try original(), fileProtectionLevel: .noProtection)
    for monster in theirs.fetch(for: Monster.self).all() {
      let rebuilt = MyGame.Sample.MonsterBuilder(from: monster).build()
      XCTAssertNil(rebuilt._payload)
      let text = try json(Monster.self, monster.toData())
      XCTAssertEqual(try json(Monster.self, rebuilt.toData()), withoutEmptyLists(text))
      XCTAssertEqual(Monster.from(data: try payload(Monster.self, text)), monster)
    }
    for doc in theirs.fetch(for: BenchDoc.self).all() {
      let rebuilt = BenchDocBuilder(from: doc).build()
      let text = try json(BenchDoc.self, doc.toData())
      XCTAssertEqual(try json(BenchDoc.self, rebuilt.toData()), withoutEmptyLists(text))
      XCTAssertEqual(BenchDoc.from(data: try payload(BenchDoc.self, text)), doc)
    }
  }

  /// A property list of the dictionary is one that any program of Apple's reads.
  func testPropertyListsAreBinary() throws {
    let workspace = open()
    workspace.dictionary["list"] = ["a", "b"]
    workspace.shutdown(flags: .truncate)
    let item = "SELECT __pk0 FROM dictitem_v_dflat_internal__ WHERE instr(p, CAST('bplist00' AS BLOB)) > 0"
    XCTAssertEqual(rows(path, item), ["list"])
    let again = open()
    XCTAssertEqual(again.dictionary["list", [String].self], ["a", "b"])
  }
}
