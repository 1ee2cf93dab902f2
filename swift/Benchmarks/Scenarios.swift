import Dflat
import Dispatch
import Foundation
import Generated_bench_doc
import SQLite3
import SQLiteDflat

/// The times of one run, by the names that the scenarios have in Rust.
typealias Times = [(name: String, nanoseconds: UInt64)]

func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

/// The workspace of one scenario, in a folder of its own.
final class Bench {
  let workspace: SQLiteWorkspace
  let count: Int
  private let folder: URL
  private let path: String

  init(_ directory: String, _ count: Int, filled: Bool) throws {
    self.count = count
    folder = URL(fileURLWithPath: directory).appendingPathComponent("dflat-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.appendingPathComponent("ours.db").path
    workspace = SQLiteWorkspace(filePath: path, fileProtectionLevel: .noProtection)
    workspace.onError = { fatalError("\($0)") }
    // The table and its statements are made before the measured time.
    perform { context in
      try context.submit(BenchDocChangeRequest.creationRequest(BenchDoc(title: "warm")))
    }
    perform { context in
      try context.submit(BenchDocChangeRequest.deletionRequest(BenchDoc(title: "warm"))!)
    }
    if filled { insertAll() }
  }

  func end() {
    workspace.shutdown()
    try? FileManager.default.removeItem(at: folder)
  }

  /// Copies the log into the file, so that a scenario begins with an empty one.
  func settle() {
    var connection: OpaquePointer?
    precondition(sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
    sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    sqlite3_close_v2(connection)
  }

  /// Performs a transaction, waits for its completion, and returns when its handler returned.
  @discardableResult
  func perform(_ handler: @escaping (TransactionContext) throws -> Void) -> UInt64 {
    let done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var returned: UInt64 = 0
    workspace.performChanges([BenchDoc.self]) { context in
      do { try handler(context) } catch { fatalError("\(error)") }
      returned = now()
    } completionHandler: { success in
      precondition(success)
      done.signal()
    }
    done.wait()
    return returned
  }

  func insertAll() {
    let count = count
    perform { context in
      for number in 0..<count {
        try context.submit(BenchDocChangeRequest.creationRequest(document(number, of: count)))
      }
    }
  }

  /// Fetches all objects in a transaction, and changes their priorities. Returns when the handler
  /// returned.
  @discardableResult
  func changeAll(_ change: @escaping (Int32) -> Int32) -> UInt64 {
    perform { [workspace] context in
      for object in workspace.fetch(for: BenchDoc.self).all() {
        let request = BenchDocChangeRequest.changeRequest(object)!
        request.priority = change(request.priority)
        try context.submit(request)
      }
    }
  }
}

/// The object of the original's benchmark, as crates/dflat-bench makes it.
func document(_ number: Int, of count: Int) -> BenchDoc {
  let (half, at) = (Int32(count / 2), Int32(number))
  let (color, priority, content): (Color, Int32, Content?)
  switch number % 3 {
  case 0:
    let images = ImageContent(images: ["image\(number)"])
    (color, priority, content) = (.blue, half - at, .imageContent(images))
  case 1: (color, priority, content) = (.red, at - half, nil)
  default:
    (color, priority, content) = (.green, 0, .textContent(TextContent(text: "text\(number)")))
  }
  return BenchDoc(
    title: "title\(number)", pos: Vec3(), color: color, content: content, tag: "tag\(number)",
    priority: priority)
}

/// Updates of all objects. As in Rust, all runs change the objects of one file, and begin with an
/// empty log and with objects that nothing has changed since they were read.
final class Updates {
  private let together: Bench
  private let individually: Bench

  init(_ directory: String, _ count: Int) throws {
    together = try Bench(directory, count, filled: true)
    individually = try Bench(directory, count, filled: true)
  }

  func run() -> Times {
    together.settle()
    let start = now()
    together.changeAll { $0 + 1 }
    let ofAll = now() - start
    individually.settle()
    let workspace = individually.workspace
    let objects = Array(workspace.fetch(for: BenchDoc.self).all())
    let startOfEach = now()
    let done = DispatchGroup()
    for object in objects {
      done.enter()
      workspace.performChanges([BenchDoc.self]) { context in
        let request = BenchDocChangeRequest.changeRequest(object)!
        request.priority += 1
        context.try(submit: request)
      } completionHandler: { success in
        precondition(success)
        done.leave()
      }
    }
    done.wait()
    return [("update_1tx", ofAll), ("update_individual", now() - startOfEach)]
  }

  func end() {
    together.end()
    individually.end()
  }
}

/// Insertions, reads and deletions of all objects, in a new file.
func plainScenarios(_ directory: String, _ count: Int) throws -> Times {
  var times: Times = []
  func measure(_ name: String, _ work: () -> Void) {
    let start = now()
    work()
    times.append((name, now() - start))
  }
  let empty = try Bench(directory, count, filled: false)
  measure("insert_1tx") { empty.insertAll() }
  let workspace = empty.workspace
  var found = workspace.fetch(for: BenchDoc.self).all()
  measure("fetch_all") { found = workspace.fetch(for: BenchDoc.self).all() }
  precondition(found.count == count)
  var sum = 0
  let start = now()
  for object in found { sum += Int(object.priority) }
  times.append(("first_read_of_an_element", (now() - start) / UInt64(count)))
  let again = now()
  for object in found { sum -= Int(object.priority) }
  times.append(("later_read_of_an_element", (now() - again) / UInt64(count)))
  precondition(sum == 0)
  measure("fetch_scan") {
    found = workspace.fetch(for: BenchDoc.self).where(BenchDoc.priority > Int32(count / 4))
  }
  measure("fetch_key") {
    for number in 0..<count {
      let one = workspace.fetch(for: BenchDoc.self).where(BenchDoc.title == "title\(number)")
      precondition(one.count == 1)
    }
  }
  let current = Array(workspace.fetch(for: BenchDoc.self).all())
  measure("delete_1tx") {
    empty.perform { context in
      for object in current {
        try context.submit(BenchDocChangeRequest.deletionRequest(object)!)
      }
    }
  }
  precondition(workspace.fetch(for: BenchDoc.self).all().isEmpty)
  empty.end()
  return times
}
