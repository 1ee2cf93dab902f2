import Dflat
import DflatC
import Foundation
import Generated_newer
import Generated_older
@testable import SQLiteDflat
import XCTest

private typealias New = Generated_newer.Letter
private typealias Old = Generated_older.Letter
private typealias OldRequest = Generated_older.LetterChangeRequest

/// Objects of a newer schema, which a program of an older schema changes.
final class EvolutionTests: FileTestCase {
  private let contents: [Generated_newer.Content] = [
    .extra(.init(extra: "first")), .text(.init(text: "text", note: "hidden")),
    .extra(.init(extra: "second")), .number(.init(number: 3)),
    .group(.init(name: "inner", contents: [.extra(.init(extra: "deep"))], note: "hidden")),
    .extra(.init(extra: "last")),
  ]

  private func newGroup(_ name: String, depth: Int = 1) -> Generated_newer.Group {
    Generated_newer.Group(
      name: name, contents: contents, colors: [.blue, .red, .blue],
      groups: depth == 0 ? [] : [newGroup("a", depth: 0), newGroup("b", depth: 0)], note: "hidden")
  }

  /// Stores an object of the newer schema.
  private func store() -> New {
    let letter = New(
      id: "1", title: "short", color: .blue, mood: .blue, colors: [.red, .blue, .green, .blue],
      paints: [.init(first: .blue, second: .green)], content: .extra(.init(extra: "single")),
      contents: contents, group: newGroup("group"), groups: [newGroup("x"), newGroup("y")],
      note: "hidden")
    let workspace = open()
    XCTAssertTrue(
      workspace.wait([New.self]) { context in
        context.try(submit: Generated_newer.LetterChangeRequest.creationRequest(letter))
      })
    workspace.shutdown()
    return letter
  }

  /// Changes the object in a program of the older schema, and returns it in the newer one.
  private func changed(_ change: @escaping (OldRequest) -> Void) throws -> New {
    let workspace = open()
    XCTAssertTrue(
      workspace.wait([Old.self]) { context in
        guard let request = OldRequest.changeRequest(Old(id: "1")) else { return XCTFail("none") }
        change(request)
        context.try(submit: request)
      })
    workspace.shutdown()
    let reader = open()
    defer { reader.shutdown() }
    return try XCTUnwrap(reader.fetch(for: New.self).all().first)
  }

  /// The object with other values.
  private func expected(
    _ object: New, _ change: (inout Generated_newer.LetterBuilder) -> Void
  ) -> New {
    var builder = Generated_newer.LetterBuilder(from: object)
    change(&builder)
    return builder.build()
  }

  func testUpdateOfAnotherFieldKeepsEverythingThatNewerCodeWrote() throws {
    let stored = store()
    let title = "a title that does not fit into the place of the one before"
    XCTAssertEqual(try changed { $0.title = title }, expected(stored) { $0.title = title })
    XCTAssertEqual(
      try changed { $0.content = $0.content }, expected(stored) { $0.title = title })
  }

  func testChangedVectorsKeepTheMembersOfANewerSchema() throws {
    let stored = store()
    let appended = try changed { $0.contents.append(.number(.init(number: 4))) }
    XCTAssertEqual(
      appended, expected(stored) { $0.contents.append(.number(.init(number: 4))) })
    let removed = try changed { $0.contents.removeAll { $0 == .number(.init(number: 3)) } }
    let kept = contents.filter { $0 != .number(.init(number: 3)) } + [.number(.init(number: 4))]
    XCTAssertEqual(removed.contents, kept)
    let emptied = try changed { $0.contents = [] }
    XCTAssertEqual(emptied.contents, [])
    XCTAssertEqual(emptied.group, stored.group)
  }

  func testChangeInANestedTableKeepsTheMembersBesideIt() throws {
    let stored = store()
    let result = try changed { request in
      request.group?.name = "another name"
      request.groups[1].groups[0].name = "changed"
      request.contents[1] = .number(.init(number: 9))
    }
    XCTAssertEqual(
      result,
      expected(stored) {
        $0.group?.name = "another name"
        $0.groups[1].groups[0].name = "changed"
        $0.contents[3] = .number(.init(number: 9))
      })
  }

  func testUpsertKeepsTheMembersOfANewerSchema() throws {
    let stored = store()
    let workspace = open()
    XCTAssertTrue(
      workspace.wait([Old.self]) { context in
        let object = workspace.fetch(for: Old.self).all()[0]
        var builder = Generated_older.LetterBuilder(from: object)
        builder.title = "a title of another object, which is longer"
        context.try(submit: OldRequest.upsertRequest(builder.build()))
      })
    workspace.shutdown()
    let found = try XCTUnwrap(open().fetch(for: New.self).all().first)
    XCTAssertEqual(
      found, expected(stored) { $0.title = "a title of another object, which is longer" })
  }

  /// Empty members of a vector, which Swift does not show, stay at their places.
  func testEmptyMembersStay() throws {
    let workspace = open()
    workspace.wait([Old.self]) { context in
      context.try(submit: OldRequest.creationRequest(Old(id: "1")))
    }
    workspace.shutdown()
    let json = """
      {"id":"1","contents_type":["NONE","Text","NONE","Number"],\
      "contents":[null,{"text":"a"},null,{"number":1}]}
      """
    let payload = try json.withText { json in
      try Handle(release: dflat_buffer_release) {
        dflat_json_read(Old._table.pointer, json, $0, $1)
      }
    }
    var bytes = dflat_bytes()
    _ = dflat_buffer_bytes(payload.pointer, &bytes)
    let hex = Data(bytes).map { String(format: "%02X", $0) }.joined()
    try execute("UPDATE letter SET p = x'\(hex)'")
    _ = try changed { $0.title = "a title, for which the payload has no place" }
    let again = open()
    let stored = try XCTUnwrap(again.fetch(for: Old.self).all().first?._payload)
    let written = try Handle(release: dflat_buffer_release) {
      dflat_json_write(Old._table.pointer, stored.bytes.lent, $0, $1)
    }.text
    XCTAssertTrue(written.contains(#"["NONE","Text","NONE","Number"]"#), written)
  }

  func testUpdateThatWouldLoseDataLosesTheTransactionAndChangesNothing() throws {
    let stored = store()
    let workspace = open()
    var reported: [Int32] = []
    workspace.onError = { reported.append(($0 as? DflatError)?.code ?? -1) }
    var outcome: [TransactionError?] = []
    XCTAssertFalse(
      workspace.wait([Old.self]) { context in
        guard let request = OldRequest.changeRequest(Old(id: "1")) else { return XCTFail("none") }
        // The text has a note that this schema does not know, and gets a neighbour.
        request.contents.replaceSubrange(
          0..<1, with: [.text(.init(text: "changed")), .text(.init(text: "new"))])
        let other = OldRequest.creationRequest(Old(id: "2"))
        for submit in [
          { _ = try context.submit(request) }, { _ = try context.submit(other) },
        ] {
          do {
            try submit()
            outcome.append(nil)
          } catch {
            outcome.append(error as? TransactionError)
          }
        }
      })
    XCTAssertEqual(outcome, [.others, .aborted])
    XCTAssertEqual(reported.first, DFLAT_NEWER_SCHEMA.code)
    XCTAssertEqual(Array(workspace.fetch(for: New.self).all()), [stored])
  }

  func testValuesOfANewerSchemaAreReadAsTheDefaultOrAsNone() throws {
    _ = store()
    let object = try XCTUnwrap(open().fetch(for: Old.self).all().first)
    XCTAssertEqual(object.color, .green)
    XCTAssertNil(object.mood)
    XCTAssertEqual(object.colors, [.red, .red, .green, .red])
    XCTAssertNil(object.content)
    XCTAssertEqual(object.contents.count, 3)
  }
}
