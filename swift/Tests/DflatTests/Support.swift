import Dflat
import Foundation
import Generated_bench_doc
import SQLite3
import SQLiteDflat
import XCTest

/// A folder for the files of one test, which is removed after it.
class FileTestCase: XCTestCase {
  private(set) var folder = URL(fileURLWithPath: "/")
  var path: String { folder.appendingPathComponent("test.db").path }

  override func setUpWithError() throws {
    folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dflat-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  override func tearDown() {
    try? FileManager.default.removeItem(at: folder)
  }

  /// Runs SQL on the file, without the library.
  func execute(_ sql: String) throws {
    var connection: OpaquePointer?
    defer { sqlite3_close_v2(connection) }
    XCTAssertEqual(sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, nil), SQLITE_OK)
    XCTAssertEqual(sqlite3_exec(connection, sql, nil, nil, nil), SQLITE_OK, sql)
  }

  func open(_ concurrency: SQLiteWorkspace.WriteConcurrency = .concurrent) -> SQLiteWorkspace {
    SQLiteWorkspace(
      filePath: path, fileProtectionLevel: .noProtection, synchronous: .normal,
      writeConcurrency: concurrency)
  }
}

/// The rows of a query of SQL, each as a text.
func rows(_ path: String, _ sql: String) -> [String] {
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

/// A value that several threads use.
final class Shared<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var stored: Value

  init(_ value: Value) {
    stored = value
  }

  var value: Value {
    get { lock.withLock { stored } }
    set { lock.withLock { stored = newValue } }
  }

  func change<R>(_ body: (inout Value) -> R) -> R {
    lock.withLock { body(&stored) }
  }
}

extension Workspace {
  /// Performs a transaction, and waits for its completion.
  @discardableResult
  func wait(_ types: [Any.Type], _ handler: @escaping ChangesHandler) -> Bool {
    let done = DispatchSemaphore(value: 0)
    let result = Shared(false)
    performChanges(types, changesHandler: handler) { success in
      result.value = success
      done.signal()
    }
    done.wait()
    return result.value
  }

  /// Inserts documents with these titles and their positions as priorities.
  func insert(_ titles: [String], tag: String? = nil) {
    wait([BenchDoc.self]) { context in
      for (position, title) in titles.enumerated() {
        let request = BenchDocChangeRequest.creationRequest()
        request.title = title
        request.priority = Int32(position)
        request.tag = tag
        context.try(submit: request)
      }
    }
  }
}

/// A test that runs again in a process of its own.
enum Child {
  private static let variable = "DFLAT_SWIFT_CHILD"

  /// The task of this process, if it is a child.
  static var task: String? { ProcessInfo.processInfo.environment[variable] }

  /// Runs a test in another process, and returns how the process ended, and its output.
  static func run(
    _ test: String, _ task: String, path: String = ""
  ) throws -> (Process.TerminationReason, Int32, String) {
    let process = Process()
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = ["DflatTests.\(test)"]
    var environment = ProcessInfo.processInfo.environment
    environment[variable] = task
    environment["DFLAT_SWIFT_CHILD_PATH"] = path
    process.environment = environment
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let output = String(decoding: data, as: UTF8.self)
    return (process.terminationReason, process.terminationStatus, output)
  }

  /// The file that the child works on.
  static var path: String {
    ProcessInfo.processInfo.environment["DFLAT_SWIFT_CHILD_PATH"] ?? ""
  }
}
