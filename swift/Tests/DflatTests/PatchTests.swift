import Dflat
import Foundation
import Generated_scalars
import SQLiteDflat
import XCTest

/// Updates that set numbers only, which write these into a copy of the stored payload.
final class PatchTests: FileTestCase {
  /// A change of a request, and whether an object has the value that was set.
  private typealias Change = (set: (ScalarsChangeRequest) -> Void, isSet: (Scalars) -> Bool)

  /// Each number gets a value, its default, and a value again.
  private let changes: [Change] = [
    ({ $0.a = false }, { !$0.a }), ({ $0.a = true }, { $0.a }), ({ $0.a = false }, { !$0.a }),
    ({ $0.b = 7 }, { $0.b == 7 }), ({ $0.b = -128 }, { $0.b == -128 }),
    ({ $0.b = 8 }, { $0.b == 8 }), ({ $0.b = 9 }, { $0.b == 9 }),
    ({ $0.f = -5 }, { $0.f == -5 }), ({ $0.f = 6 }, { $0.f == 6 }),
    ({ $0.i = 1 }, { $0.i == 1 }), ({ $0.i = .max }, { $0.i == .max }),
    ({ $0.j = 1.5 }, { $0.j == 1.5 }), ({ $0.j = -1.5 }, { $0.j == -1.5 }),
    ({ $0.l = 2 }, { $0.l == 2 }), ({ $0.l = 3 }, { $0.l == 3 }), ({ $0.l = .nan }, { $0.l.isNaN }),
    ({ $0.m = 0 }, { $0.m == 0 }), ({ $0.m = -0.0 }, { $0.m.sign == .minus }),
    ({ $0.maybeBool = false }, { $0.maybeBool == false }),
    ({ $0.maybeBool = true }, { $0.maybeBool == true }),
    ({ $0.maybeInt = 0 }, { $0.maybeInt == 0 }), ({ $0.maybeInt = 1 }, { $0.maybeInt == 1 }),
    ({ $0.maybeInt = nil }, { $0.maybeInt == nil }), ({ $0.maybeInt = 2 }, { $0.maybeInt == 2 }),
    ({ $0.maybeFloat = 0 }, { $0.maybeFloat == 0 }),
    ({ $0.maybeFloat = 1 }, { $0.maybeFloat == 1 }),
    ({ $0.maybeLevel = .mid }, { $0.maybeLevel == .mid }),
    ({ $0.maybeLevel = .low }, { $0.maybeLevel == .low }),
    ({ $0.maybeLevel = nil }, { $0.maybeLevel == nil }),
    ({ $0.level = .low }, { $0.level == .low }), ({ $0.level = .high }, { $0.level == .high }),
    ({ $0.level = .mid }, { $0.level == .mid }),
    ({ ($0.b, $0.f, $0.maybeInt) = (1, 2, 3) }, { $0.b == 1 && $0.f == 2 && $0.maybeInt == 3 }),
    ({ ($0.b, $0.text) = (2, "new") }, { $0.b == 2 && $0.text == "new" }),
    ({ ($0.b, $0.floats) = (3, [1]) }, { $0.b == 3 && $0.floats == [1] }),
    ({ _ in }, { $0.b == 3 && $0.text == "new" && $0.floats == [1] }),
  ]

  /// The stored bytes are those that an object with these values has.
  func testUpdateOfNumbersWritesThePayloadOfItsValues() throws {
    let workspace = open()
    workspace.wait([Scalars.self]) { context in
      let scalars = Scalars(id: 1, needed: "needed", bytes: [1, 2, 3])
      context.try(submit: ScalarsChangeRequest.creationRequest(scalars))
    }
    for (number, change) in changes.enumerated() {
      let succeeded = workspace.wait([Scalars.self]) { context in
        let request = ScalarsChangeRequest.changeRequest(Scalars(id: 1, needed: ""))
        request.map(change.set)
        request.map { _ = context.try(submit: $0) }
      }
      XCTAssertTrue(succeeded)
      let stored = try XCTUnwrap(workspace.fetch(for: Scalars.self).all().first)
      XCTAssertTrue(change.isSet(stored), "\(number)")
      XCTAssertEqual(stored.needed, "needed")
      XCTAssertEqual(stored.bytes, [1, 2, 3])
      let bytes = ScalarsBuilder(from: stored).build().toData()
      let expected = bytes.map { String(format: "%02X", $0) }.joined()
      XCTAssertEqual(rows(path, "SELECT hex(p) FROM scalars"), [expected], "\(number)")
    }
  }

  /// A request has the values of the object when it was made, also if another request of the
  /// transaction has changed the object since.
  func testRequestsOfOneObjectOverwriteEachOther() throws {
    let workspace = open()
    workspace.wait([Scalars.self]) { context in
      let scalars = Scalars(id: 1, b: 1, f: 1, needed: "")
      context.try(submit: ScalarsChangeRequest.creationRequest(scalars))
    }
    workspace.wait([Scalars.self]) { context in
      let object = Scalars(id: 1, needed: "")
      let first = ScalarsChangeRequest.changeRequest(object)
      let second = ScalarsChangeRequest.changeRequest(object)
      first?.b = 2
      first.map { _ = context.try(submit: $0) }
      second?.f = 2
      second.map { _ = context.try(submit: $0) }
    }
    let stored = try XCTUnwrap(workspace.fetch(for: Scalars.self).all().first)
    XCTAssertEqual(stored.b, 1)
    XCTAssertEqual(stored.f, 2)
  }
}
