import Dflat
import DflatC
import FlatBuffers
import Foundation
import Generated_bench_doc
import SQLiteDflat
import XCTest

/// A value that cannot be encoded.
private struct Stubborn: Codable, Equatable {
  let isStubborn: Bool

  func encode(to encoder: Encoder) throws {
    guard !isStubborn else {
      throw EncodingError.invalidValue(
        self, EncodingError.Context(codingPath: [], debugDescription: "stubborn"))
    }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(isStubborn, forKey: .isStubborn)
  }
}

/// Each error that a call of the original's interface hides is reported.
final class ErrorTests: FileTestCase {
  private func reported(_ workspace: SQLiteWorkspace) -> Shared<[Error]> {
    let errors = Shared<[Error]>([])
    workspace.onError = { error in errors.change { $0.append(error) } }
    return errors
  }

  func testValueThatCannotBeEncodedLeavesTheStoredOne() {
    let workspace = open()
    let errors = reported(workspace)
    workspace.dictionary["key", Stubborn.self] = Stubborn(isStubborn: false)
    workspace.dictionary["key", Stubborn.self] = Stubborn(isStubborn: true)
    XCTAssertEqual(workspace.dictionary["key", Stubborn.self], Stubborn(isStubborn: false))
    XCTAssertEqual(errors.value.count, 1)
    XCTAssertTrue(errors.value.first is EncodingError)
    XCTAssertThrowsError(
      try workspace.throwingDictionary.set("key", Stubborn(isStubborn: true)))
  }

  func testValueOfAnotherTypeIsReported() throws {
    let workspace = open()
    let errors = reported(workspace)
    workspace.dictionary["key"] = "text"
    XCTAssertNil(workspace.dictionary["key", Int.self])
    XCTAssertEqual("\(errors.value[0])", "cannot read Int: the value is a String")
    XCTAssertThrowsError(try workspace.throwingDictionary.get("key", Int.self))
    XCTAssertEqual(try workspace.throwingDictionary.get("key", String.self), "text")
    XCTAssertEqual(try workspace.throwingDictionary.keys(), ["key"])
    try workspace.throwingDictionary.set("key", Int?.none)
    try workspace.throwingDictionary.synchronize()
    try workspace.throwingDictionary.removeAll()
    XCTAssertNil(try workspace.throwingDictionary.get("key", String.self))
  }

  func testFileThatCannotBeOpenedIsTriedAgain() throws {
    let inner = folder.appendingPathComponent("later")
    let path = inner.appendingPathComponent("test.db").path
    let workspace = SQLiteWorkspace(filePath: path, fileProtectionLevel: .noProtection)
    let errors = reported(workspace)
    XCTAssertEqual(errors.value.count, 0, "construction cannot fail")
    try FileManager.default.createSymbolicLink(at: inner, withDestinationURL: inner)
    XCTAssertFalse(workspace.wait([BenchDoc.self]) { _ in XCTFail("no handler runs") })
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 0)
    workspace.dictionary["key"] = 7
    XCTAssertEqual(workspace.dictionary["key", Int.self], 7, "from memory")
    XCTAssertGreaterThanOrEqual(errors.value.count, 3)
    try FileManager.default.removeItem(at: inner)
    try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
    workspace.insert(["a"])
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().map(\.title), ["a"])
    XCTAssertEqual(workspace.dictionary["key", Int.self], 7)
    workspace.shutdown()
    let again = SQLiteWorkspace(filePath: path, fileProtectionLevel: .noProtection)
    XCTAssertEqual(again.dictionary["key", Int.self], 7, "saved once the file was opened")
  }

  func testErrorsAfterTheShutdownAreReportedAndThrown() {
    let workspace = open()
    workspace.insert(["a"])
    let old = workspace.fetch(for: BenchDoc.self).all()
    let errors = reported(workspace)
    workspace.shutdown()
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all().count, 0)
    XCTAssertThrowsError(try workspace.fetch(for: BenchDoc.self).results())
    let onCaller = Shared(false)
    workspace.performChanges([BenchDoc.self], changesHandler: { _ in }) { success in
      onCaller.value = !success
    }
    XCTAssertTrue(onCaller.value, "the completion is called before the return")
    _ = workspace.subscribe(fetchedResult: old) { _ in }
    _ = workspace.subscribe(object: old[0]) { _ in }
    XCTAssertEqual(errors.value.count, 4)
    XCTAssertTrue(errors.value.allSatisfy { ($0 as? DflatError)?.code == Int32(DFLAT_SHUT_DOWN) })
  }

  func testDamagedRowIsReported() throws {
    let workspace = open()
    workspace.insert(["a"])
    workspace.shutdown()
    try execute("UPDATE benchdoc SET p = x'00010203'")
    let again = open()
    let errors = reported(again)
    XCTAssertEqual(again.fetch(for: BenchDoc.self).all().count, 0)
    XCTAssertEqual((errors.value.first as? DflatError)?.code, Int32(DFLAT_CORRUPT))
  }
}
