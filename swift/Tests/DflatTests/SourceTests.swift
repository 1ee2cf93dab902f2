import Dflat
import FlatBuffers
import Foundation
import Generated_bench_doc
import Generated_conform
import SQLiteDflat
import XCTest

/// A type that a program has written by hand, with the original's requirements only.
private final class HandMade: Dflat.Atom, SQLiteDflat.SQLiteAtom {
  var _rowid: Int64 = -1
  var _changesTimestamp: Int64 = -1
  static func from(byteBuffer: ByteBuffer) -> Self { Self() }
  static func verify(byteBuffer: ByteBuffer) -> Bool { true }
  static var flatBuffersSchemaVersion: String? { nil }
  static var table: String { "handmade" }
  static var indexFields: [String] { [] }
  static func setUpSchema(_ toolbox: PersistenceToolbox) {}
  static func insertIndex(
    _ toolbox: PersistenceToolbox, field: String, rowid: Int64, table: ByteBuffer
  ) -> Bool { true }
}

/// Source that was written for the original compiles, whatever names it has.
final class SourceTests: FileTestCase {
  func testTypeWrittenByHandConforms() {
    XCTAssertEqual(HandMade.table, "handmade")
    XCTAssertTrue(HandMade.insertIndex(Toolbox(), field: "f4", rowid: 1, table: ByteBuffer(bytes: [])))
    XCTAssertEqual(FetchedResult([HandMade(), HandMade()]).count, 2)
  }

  private struct Toolbox: PersistenceToolbox {}

  func testAddedProtocolsHaveTheirCode() {
    typealias Card = Generated_conform.Conforming.Card
    typealias Text = Generated_conform.Conforming.Text
    let text = Text(text: "hi", options: [.A, .B])
    let card = Card(id: 1, title: "one", color: .default, content: .text(text))
    let other = Card.from(data: card.toData())
    XCTAssertEqual(Set([card, other]).count, 1)
    XCTAssertNotEqual(card.hashValue, Card(id: 2).hashValue)
    XCTAssertEqual("\(Card(id: 1).color)", "red")
    XCTAssertTrue(card.description.hasPrefix("Card(id: 1, title: Optional(\"one\"), color: default"))
    XCTAssertTrue(card.description.contains("text(Text(text: Optional(\"hi\")"))
    func sendable<T: Sendable>(_ value: T) -> T { value }
    XCTAssertEqual(sendable(text), text)
  }

  func testObjectsHaveTheNumberOfTheTransactionsBefore() {
    let workspace = open()
    XCTAssertEqual(BenchDoc(title: "")._changesTimestamp, -1)
    workspace.insert(["a"])
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all()[0]._changesTimestamp, 1)
    workspace.wait([BenchDoc.self]) { _ in }
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all()[0]._changesTimestamp, 2)
    workspace.wait([BenchDoc.self]) { context in
      XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all()[0]._changesTimestamp, 2)
      let request = BenchDocChangeRequest.creationRequest(BenchDoc(title: "b"))
      guard case .inserted(let object)? = context.try(submit: request) else { return XCTFail("") }
      XCTAssertEqual(object._changesTimestamp, -1)
      XCTAssertEqual(request._rowid, object._rowid)
      XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all()[0]._changesTimestamp, 0)
    }
    let inside = workspace.fetchWithinASnapshot {
      _ = workspace.fetch(for: BenchDoc.self).all()
      workspace.insert(["c"])
      return workspace.fetch(for: BenchDoc.self).all()
    }
    XCTAssertEqual(inside.map(\._changesTimestamp), [3, 3])
    XCTAssertEqual(workspace.fetch(for: BenchDoc.self).all()[0]._changesTimestamp, 4)
  }
}
