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
