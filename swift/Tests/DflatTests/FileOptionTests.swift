import Dflat
import DflatC
import Foundation
import Generated_bench_doc
import SQLite3
import SQLiteDflat
import XCTest

/// The effects that the options of a workspace have on its file.
final class FileOptionTests: FileTestCase {
  /// Opens the file in the engine with a short limit for locks, which then holds for the workspaces
  /// of this process: the limit of a workspace itself is 30 seconds.
  private func holdWithLimit(milliseconds: Int64) throws -> OpaquePointer {
    var options: OpaquePointer?
    var handle: OpaquePointer?
    XCTAssertEqual(dflat_options_new(&options, nil), Int32(DFLAT_OK))
    defer { dflat_options_release(options) }
    XCTAssertEqual(
      dflat_options_set(options, Int32(DFLAT_OPTION_BUSY_TIMEOUT), milliseconds, nil),
      Int32(DFLAT_OK))
    let bytes = Array(path.utf8)
    let code = bytes.withUnsafeBufferPointer {
      dflat_workspace_open(
        dflat_text(data: $0.baseAddress, length: $0.count), options, &handle, nil)
    }
    XCTAssertEqual(code, Int32(DFLAT_OK))
    return try XCTUnwrap(handle)
  }

  func testTransactionFailsIfTheFileStaysLockedBeyondTheLimit() throws {
    let held = try holdWithLimit(milliseconds: 50)
    defer { dflat_workspace_release(held) }
    let workspace = open()
    workspace.insert(["a"])
    let codes = Shared<[Int32?]>([])
    workspace.onError = { error in codes.change { $0.append((error as? DflatError)?.code) } }
    var other: OpaquePointer?
    XCTAssertEqual(sqlite3_open_v2(path, &other, SQLITE_OPEN_READWRITE, nil), SQLITE_OK)
    defer { sqlite3_close_v2(other) }
    XCTAssertEqual(sqlite3_exec(other, "BEGIN IMMEDIATE", nil, nil, nil), SQLITE_OK)
    let thrown = Shared<[Error]>([])
    let succeeded = workspace.wait([BenchDoc.self]) { context in
      do {
        try context.submit(BenchDocChangeRequest.creationRequest(BenchDoc(title: "b")))
      } catch {
        thrown.change { $0.append(error) }
      }
    }
    XCTAssertFalse(succeeded)
    XCTAssertEqual(thrown.value.map { "\($0)" }, ["others"])
    XCTAssertEqual(codes.value, [Int32(DFLAT_BUSY)])
    // Reads go on while the other program writes, and so does the workspace afterwards.
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.title), ["a"])
    XCTAssertEqual(sqlite3_exec(other, "ROLLBACK", nil, nil, nil), SQLITE_OK)
    workspace.insert(["c"])
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.title), ["a", "c"])
  }

  /// The numbers of the levels are those of the original, which are those of the system.
  func testEachLevelOfFileProtectionMakesAFileThatOnlyItsOwnerReads() throws {
    let levels: [(SQLiteWorkspace.FileProtectionLevel, Int32)] = [
      (.noProtection, 4), (.completeFileProtection, 1), (.completeFileProtectionUnlessOpen, 2),
      (.completeFileProtectionUntilFirstUserAuthentication, 3),
    ]
    for (level, number) in levels {
      XCTAssertEqual(level.rawValue, number)
      let path = folder.appendingPathComponent("level \(number).db").path
      let workspace = SQLiteWorkspace(filePath: path, fileProtectionLevel: level)
      workspace.onError = { XCTFail("\($0)") }
      workspace.insert(["a"])
      XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.title), ["a"])
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      XCTAssertEqual(attributes[.posixPermissions] as? Int, 0o600)
      #if os(iOS) && !targetEnvironment(simulator)
        let classes: [Int32: FileProtectionType] = [
          4: .none, 1: .complete, 2: .completeUnlessOpen, 3: .completeUntilFirstUserAuthentication,
        ]
        XCTAssertEqual(attributes[.protectionKey] as? FileProtectionType, classes[number])
      #endif
      workspace.shutdown()
    }
  }
}
