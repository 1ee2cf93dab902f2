import Dflat
import Foundation
import Generated_bench_doc
import SQLiteDflat
import XCTest

/// Numbers that follow from a seed.
private struct Numbers: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}

/// The fields of an object of the model.
private struct Row: Equatable {
  var rowid: Int64
  var title: String
  var tag: String?
  var priority: Int32
}

/// Random transactions, queries, subscriptions and dictionary calls, against a model in Swift.
///
/// `DFLAT_SWIFT_PROGRAMS` is the number of programs, 200 by default.
final class RandomProgramTests: FileTestCase {
  func testRandomProgramsAgreeWithTheModel() throws {
    let count = ProcessInfo.processInfo.environment["DFLAT_SWIFT_PROGRAMS"].flatMap(UInt64.init)
    for seed in 0..<(count ?? 200) {
      let name = folder.appendingPathComponent("\(seed).db").path
      try Program(seed, name).run()
      guard testRun?.failureCount == 0 else { return XCTFail("the seed is \(seed)") }
      for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: name + end) }
    }
  }
}

private final class Program {
  private var numbers: Numbers
  private let name: String
  private var workspace: SQLiteWorkspace
  private var rows: [Row] = []
  private var entries: [String: Int] = [:]

  init(_ seed: UInt64, _ name: String) {
    numbers = Numbers(state: seed)
    self.name = name
    workspace = SQLiteWorkspace(filePath: name, fileProtectionLevel: .noProtection)
  }

  private func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &numbers) }
  private func title() -> String { "t\(pick(8))" }
  private func tag() -> String? { [nil, "x", "y"][pick(3)] }

  func run() throws {
    let followed = Shared<[String]>([])
    let first = query(workspace)
    followed.value = first.map(\.title)
    var subscription: WorkspaceSubscription? = workspace.subscribe(fetchedResult: first) { result in
      followed.value = result.map(\.title)
    }
    for _ in 0..<12 {
      switch pick(8) {
      case 0:
        subscription = nil
        workspace.shutdown(flags: pick(2) == 0 ? .truncate : [])
        workspace = SQLiteWorkspace(filePath: name, fileProtectionLevel: .noProtection)
        let again = query(workspace)
        followed.value = again.map(\.title)
        subscription = workspace.subscribe(fetchedResult: again) { result in
          followed.value = result.map(\.title)
        }
      case 1: changeDictionary()
      default: transact()
      }
      check()
      XCTAssertEqual(followed.value, expected().map(\.title), "live query")
    }
    withExtendedLifetime(subscription) {}
    workspace.shutdown()
  }

  /// The query that is followed: a condition, an order with ties, and a limit.
  private func query(_ workspace: SQLiteWorkspace) -> FetchedResult<BenchDoc> {
    workspace.fetch(for: BenchDoc.self).where(
      BenchDoc.priority >= 2 || BenchDoc.tag == "x", limit: .limit(4),
      orderBy: [BenchDoc.tag.descending])
  }

  private func expected() -> [Row] {
    let found = rows.filter { $0.priority >= 2 || $0.tag == "x" }
    let sorted = found.sorted { one, other in
      let (left, right) = (one.tag ?? "", other.tag ?? "")
      return left == right ? one.rowid < other.rowid : left > right
    }
    return Array(sorted.prefix(4))
  }

  private func changeDictionary() {
    switch pick(4) {
    case 0:
      workspace.dictionary.removeAll()
      entries = [:]
    case 1:
      let key = "k\(pick(4))"
      workspace.dictionary[key, Int.self] = nil
      entries[key] = nil
    default:
      let (key, value) = ("k\(pick(4))", pick(100))
      workspace.dictionary[key] = value
      entries[key] = value
    }
  }

  private func transact() {
    var changed = rows
    let steps = (0...pick(4)).map { _ in (pick(4), title(), tag(), Int32(pick(5))) }
    let aborts = pick(6) == 0
    let result = Shared<[Row]>([])
    result.value = changed
    let success = workspace.wait([BenchDoc.self]) { context in
      changed = result.value
      for (kind, title, tag, priority) in steps {
        self.step(context, kind, BenchDoc(title: title, tag: tag, priority: priority), &changed)
      }
      if aborts { XCTAssertTrue(context.abort()) }
      result.value = changed
    }
    XCTAssertEqual(success, !aborts)
    if success { rows = result.value }
  }

  private func step(
    _ context: TransactionContext, _ kind: Int, _ object: BenchDoc, _ rows: inout [Row]
  ) {
    let at = rows.firstIndex { $0.title == object.title }
    switch kind {
    case 0:
      let request = BenchDocChangeRequest.creationRequest(object)
      do {
        guard case .inserted(let made) = try context.submit(request) else { return XCTFail("kind") }
        XCTAssertNil(at, "the key was free")
        rows.append(
          Row(
            rowid: made._rowid, title: object.title, tag: object.tag, priority: object.priority))
      } catch {
        XCTAssertNotNil(at, "a conflict only if the key exists")
      }
    case 1:
      let request = BenchDocChangeRequest.deletionRequest(BenchDoc(title: object.title))
      XCTAssertEqual(request == nil, at == nil)
      guard let request = request, let at = at else { return }
      context.try(submit: request)
      rows.remove(at: at)
    case 2:
      let request = BenchDocChangeRequest.changeRequest(BenchDoc(title: object.title))
      XCTAssertEqual(request == nil, at == nil)
      guard let request = request, let at = at else { return }
      XCTAssertEqual(request.tag, rows[at].tag, "the latest values")
      request.priority = object.priority
      let isIdentity = rows[at].priority == object.priority
      switch context.try(submit: request) {
      case .identity?: XCTAssertTrue(isIdentity)
      case .updated?: XCTAssertFalse(isIdentity)
      default: XCTFail("kind")
      }
      rows[at].priority = object.priority
    default:
      let result = context.try(submit: BenchDocChangeRequest.upsertRequest(object))
      if let at = at {
        rows[at].tag = object.tag
        rows[at].priority = object.priority
      } else if case .inserted(let made)? = result {
        rows.append(
          Row(
            rowid: made._rowid, title: object.title, tag: object.tag, priority: object.priority))
      } else {
        XCTFail("kind")
      }
    }
  }

  private func check() {
    let all = workspace.fetch(for: BenchDoc.self).all()
    let found = all.map {
      Row(rowid: $0._rowid, title: $0.title, tag: $0.tag, priority: $0.priority)
    }
    XCTAssertEqual(found, rows.sorted { $0.rowid < $1.rowid })
    XCTAssertEqual(query(workspace).map(\.title), expected().map(\.title), "query")
    XCTAssertEqual(Set(workspace.dictionary.keys), Set(entries.keys))
    for (key, value) in entries { XCTAssertEqual(workspace.dictionary[key, Int.self], value) }
  }
}
