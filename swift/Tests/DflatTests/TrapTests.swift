import Dflat
import Foundation
import Generated_bench_doc
import Generated_monster
import SQLiteDflat
import XCTest

/// The errors of a program that end it, as in the original. Each runs in a process of its own.
final class TrapTests: FileTestCase {
  /// Runs the test below in another process, which is to end by a trap, and returns its output.
  private func output(of trap: String) throws -> String {
    let (reason, _, output) = try Child.run("TrapTests/testTrapOfTheChild", trap)
    XCTAssertEqual(reason, .uncaughtSignal, "\(trap)")
    return output
  }

  func testTrapOfTheChild() {
    let workspace = open()
    switch Child.task {
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
    try XCTSkipUnless(Child.task == nil)
    let isSanitized = ProcessInfo.processInfo.environment["DFLAT_SWIFT_SANITIZED"] != nil
    try XCTSkipIf(isSanitized, "the sanitizer takes signals")
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
