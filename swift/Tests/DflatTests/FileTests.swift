import Dflat
@testable import SQLiteDflat
import DflatC
import Foundation
import Generated_bench_doc
import Generated_monster
import XCTest

private typealias Monster = MyGame.Sample.Monster
private typealias MonsterChangeRequest = MyGame.Sample.MonsterChangeRequest

/// The JSON of a payload, as the engine, which is Rust, reads it.
private func json<T: SQLiteAtom>(_ type: T.Type, _ payload: Data) throws -> String {
  try payload.withUnsafeBytes { bytes in
    try Handle(release: dflat_buffer_release) {
      dflat_json_write(type._table.pointer, bytes.lent, $0, $1)
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
      dflat_json_read(type._table.pointer, json, $0, $1)
    }
  }
  var bytes = dflat_bytes()
  _ = dflat_buffer_bytes(made.pointer, &bytes)
  return withExtendedLifetime(made) { Data(bytes) }
}

/// Files and payloads of the original, of Rust and of Swift are the same.
final class FileTests: FileTestCase {
  /// Copies a file that the original has written, and files beside it, and returns the name.
  private func original(_ name: String = "checkpointed.db", _ ends: [String] = []) throws -> String {
    let data = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../crates/dflat-sqlite/tests/data").standardizedFileURL
    let source = data.appendingPathComponent(name)
    for end in [".db"] + ends {
      let from = source.deletingPathExtension().path + end
      let target = folder.appendingPathComponent(URL(fileURLWithPath: from).lastPathComponent)
      try FileManager.default.copyItem(atPath: from, toPath: target.path)
    }
    return source.lastPathComponent
  }

  func testSwiftWritesTheIndexesAndKeysOfTheOriginal() throws {
    let original = file(try original())
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

  /// Runs the program of Rust that copies and compares files, crates/dflat-testkit; nil if the tests
  /// were started without it.
  private func rust(_ arguments: String...) throws -> String? {
    let variable = "DFLAT_SWIFT_FILES"
    guard let program = ProcessInfo.processInfo.environment[variable] else { return nil }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    XCTAssertEqual(process.terminationStatus, 0, "\(arguments): \(output)")
    return output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private func file(_ name: String) -> String { folder.appendingPathComponent(name).path }

  private func workspace(_ name: String) -> SQLiteWorkspace {
    let workspace = SQLiteWorkspace(filePath: file(name), fileProtectionLevel: .noProtection)
    workspace.onError = { XCTFail("\(name): \($0)") }
    return workspace
  }

  /// The objects of a file.
  private struct Contents {
    let docs: FetchedResult<BenchDoc>
    let monsters: FetchedResult<Monster>
    let items: FetchedResult<DictItem>

    init(_ workspace: SQLiteWorkspace) {
      docs = workspace.fetch(for: BenchDoc.self).all()
      monsters = workspace.fetch(for: Monster.self).all()
      items = workspace.fetch(for: DictItem.self).all()
    }

    var count: Int { docs.count + monsters.count + items.count }
  }

  /// Writes the objects into a new file in Swift.
  private func write(_ contents: Contents, _ name: String) {
    let target = workspace(name)
    let success = target.wait([BenchDoc.self, Monster.self, DictItem.self]) { context in
      for doc in contents.docs {
        let rebuilt = BenchDocBuilder(from: doc).build()
        context.try(submit: BenchDocChangeRequest.creationRequest(rebuilt))
      }
      for monster in contents.monsters {
        let rebuilt = MyGame.Sample.MonsterBuilder(from: monster).build()
        context.try(submit: MonsterChangeRequest.creationRequest(rebuilt))
      }
      for item in contents.items {
        context.try(submit: DictItemChangeRequest.creationRequest(item))
      }
    }
    XCTAssertTrue(success)
    target.shutdown(flags: .truncate)
  }

  /// Objects with the extremes of each type of field.
  private func writeExtremes(_ name: String) {
    let target = workspace(name)
    let texts = [nil, "", "a\0b", "\u{E9}", "e\u{301}", "\u{1F600}", String(repeating: "x", count: 70_000)]
    target.wait([BenchDoc.self, Monster.self]) { context in
      for (number, text) in texts.enumerated() {
        let doc = BenchDoc(
          title: "\(number) \(text ?? "none")",
          pos: number % 2 == 0 ? Vec3(x: -.infinity, y: .leastNonzeroMagnitude, z: -0.0) : nil,
          color: [.red, .green, .blue][number % 3],
          content: number % 3 == 0 ? nil : .textContent(TextContent(text: text)), tag: text,
          priority: [.min, -1, 0, 1, .max][number % 5])
        context.try(submit: BenchDocChangeRequest.creationRequest(doc))
        let orb = MyGame.Sample.Equipment.orb(MyGame.Sample.Orb(name: text))
        let monster = Monster(
          name: text ?? "none", color: [.red, .green, .blue][number % 3],
          pos: MyGame.Sample.Vec3(x: .greatestFiniteMagnitude),
          mana: [.min, 0, 150, .max][number % 4], inventory: Array(0...UInt8(number)),
          bag: [orb, .weapon(MyGame.Sample.Weapon(name: text, damage: .min))],
          weapons: Array(repeating: MyGame.Sample.Weapon(damage: Int16(number)), count: number),
          equipped: number % 2 == 0 ? orb : nil, colors: [.blue, .red],
          path: (0..<number).map { MyGame.Sample.Vec3(x: Float($0)) })
        context.try(submit: MonsterChangeRequest.creationRequest(monster))
      }
      context.try(submit: MonsterChangeRequest.deletionRequest(Monster(name: "", color: .green))!)
    }
    target.dictionary["list"] = ["a", "b"]
    target.dictionary["number"] = UInt.max
    target.dictionary["payload", TextContent.self] = TextContent(text: "t")
    target.shutdown(flags: .truncate)
  }

  /// The original, Rust and Swift read each other's files, and write the same rows.
  func testFilesOfTheOriginalOfRustAndOfSwiftAreTheSame() throws {
    guard try rust("--help") != nil else { throw XCTSkip("the program of Rust is not built") }
    for (name, log) in [("checkpointed.db", false), ("unclean/unclean.db", true)] {
      let original = try original(name, log ? [".db-wal"] : [])
      let contents = Contents(workspace(original))
      XCTAssertEqual(contents.docs.count, 300)
      XCTAssertEqual(contents.monsters.count, 190)
      try exchange(original, contents)
    }
    writeExtremes("extremes.db")
    let extremes = workspace("extremes.db")
    let contents = Contents(extremes)
    XCTAssertEqual(contents.count, 7 + 6 + 3)
    XCTAssertEqual(extremes.dictionary["list", [String].self], ["a", "b"])
    try exchange("extremes.db", contents)
  }

  /// Copies a file in Swift and in Rust, and compares all three.
  private func exchange(_ name: String, _ contents: Contents) throws {
    let (swift, rust) = ("swift \(name)", "rust \(name)")
    write(contents, swift)
    _ = try self.rust("copy", file(name), file(rust))
    let ofRust = workspace(rust)
    let copied = Contents(ofRust)
    XCTAssertTrue(copied.docs.elementsEqual(contents.docs), name)
    XCTAssertTrue(copied.monsters.elementsEqual(contents.monsters), name)
    XCTAssertTrue(copied.items.elementsEqual(contents.items), name)
    ofRust.shutdown()
    for (one, other) in [(name, swift), (name, rust), (rust, swift)] {
      let output = try self.rust("compare", file(one), file(other))
      XCTAssertEqual(output, "\(contents.count) objects", "\(one) and \(other)")
    }
    // The indexes answer in each file.
    for file in [name, swift, rust] {
      let found = workspace(file).fetch(for: Monster.self).where(
        Monster.mana > 300, orderBy: [Monster.mana.descending])
      XCTAssertEqual(found.count, contents.monsters.filter { $0.mana > 300 }.count, file)
    }
  }

  /// Each object of the original is written by Swift and read by Rust, and the other way.
  func testPayloadsOfSwiftAndRustAreReadByEachOther() throws {
    let theirs = workspace(try original())
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
