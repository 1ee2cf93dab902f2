import Dflat
import Foundation
import Generated_bench_doc
import Generated_monster
import SQLiteDflat
import XCTest

/// The errors of a program that end it, as in the original. Each runs in a process of its own.
final class TrapTests: FileTestCase {
  private static let variable = "DFLAT_SWIFT_TRAP"

  /// Runs this test again in another process, which is to end by a trap, and returns its output.
  private func output(of trap: String) throws -> String {
    let process = Process()
    process.executableURL = try FileManager.default.executable()
    process.arguments = ["DflatTests.TrapTests/testTrapOfTheChild"]
    var environment = ProcessInfo.processInfo.environment
    environment[Self.variable] = trap
    process.environment = environment
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    XCTAssertEqual(process.terminationReason, .uncaughtSignal, "\(trap)")
    return String(decoding: data, as: UTF8.self)
  }

  func testTrapOfTheChild() {
    let workspace = open()
    switch ProcessInfo.processInfo.environment[Self.variable] {
    case "undeclared fetch":
      workspace.wait([BenchDoc.self]) { _ in
        _ = workspace.fetch(for: MyGame.Sample.Monster.self).all()
      }
    case "undeclared submission":
      workspace.wait([MyGame.Sample.Monster.self]) { context in
        context.try(submit: BenchDocChangeRequest.creationRequest())
      }
    case "conflict":
      workspace.insert(["a"])
      workspace.insert(["a"])
    case "no type": workspace.performChanges([], changesHandler: { _ in })
    default: return
    }
  }

  func testErrorsOfTheProgramEndIt() throws {
    try XCTSkipUnless(ProcessInfo.processInfo.environment[Self.variable] == nil)
    for (trap, message) in [
      ("undeclared fetch", "Monster"), ("undeclared submission", "BenchDoc"),
      ("conflict", "an object with this primary key or unique value exists already"),
      ("no type", "a transaction needs at least one type"),
    ] {
      let output = try output(of: trap)
      XCTAssertTrue(output.contains(message), "\(trap): \(output)")
    }
  }
}

extension FileManager {
  /// The program that runs.
  fileprivate func executable() throws -> URL {
    URL(fileURLWithPath: try destinationOfSymbolicLink(atPath: "/proc/self/exe"))
  }
}
