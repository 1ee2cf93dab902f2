import Dflat
import FlatBuffers
import Generated_recursive
import XCTest

/// Payloads that a hostile program has made: verification ends, and refuses them.
final class HostilePayloadTests: XCTestCase {
  private typealias Tree = Generated_recursive.Tree
  private typealias Document = Generated_recursive.Document

  /// Bytes that are written from the front to the back.
  private struct Payload {
    var bytes: [UInt8] = []

    mutating func add<T: FixedWidthInteger>(_ number: T) {
      withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// A vtable and a table with one field, whose value is `value`.
    mutating func table(field: Int, of slots: Int, value: UInt32) {
      add(UInt16(4 + 2 * slots))
      add(UInt16(8))
      for slot in 0..<slots { add(UInt16(slot == field ? 4 : 0)) }
      add(Int32(4 + 2 * slots))
      add(value)
    }

    /// A vtable and a table without fields.
    mutating func emptyTable() {
      add(UInt16(4))
      add(UInt16(4))
      add(Int32(4))
    }
  }

  private func verify(_ payload: Payload) -> Bool {
    Tree.verify(byteBuffer: .init(bytes: payload.bytes))
  }

  /// A tree whose field `left` is a tree, and so on: `depth` tables.
  private func chain(_ depth: Int) -> Payload {
    var payload = Payload()
    // The root stands behind its vtable, of two fields or none.
    payload.add(UInt32(depth == 1 ? 8 : 12))
    for level in 1..<depth {
      payload.table(field: 1, of: 2, value: level == depth - 1 ? 8 : 12)
    }
    payload.emptyTable()
    return payload
  }

  func testTreeIsVerifiedAsDeepAsTheEngineDoes() {
    XCTAssertTrue(verify(chain(1)))
    XCTAssertTrue(verify(chain(2)))
    XCTAssertTrue(verify(chain(64)))
    XCTAssertFalse(verify(chain(65)))
    XCTAssertFalse(verify(chain(1_000_000)))
  }

  /// A tree with `count` children, all of which are one tree with a name of `length` bytes.
  private func shared(_ count: Int, _ length: Int) -> Payload {
    var payload = Payload()
    payload.add(UInt32(16))
    payload.table(field: 3, of: 4, value: 4)
    payload.add(UInt32(count))
    // The child's table stands behind the vector and its own vtable of 6 bytes.
    for index in 0..<count { payload.add(UInt32(4 * (count - index) + 6)) }
    payload.table(field: 0, of: 1, value: 4)
    payload.add(UInt32(length))
    payload.bytes.append(contentsOf: repeatElement(UInt8(ascii: "a"), count: length))
    payload.add(UInt8(0))
    return payload
  }

  func testPartsThatAreSharedTooOftenAreRefused() {
    XCTAssertTrue(verify(shared(100, 100_000)))
    XCTAssertFalse(verify(shared(100_000, 100_000)))
  }

  func testObjectsInsideAnObjectAreVerified() {
    func parent(_ offset: UInt32) -> Bool {
      var payload = Payload()
      payload.add(UInt32(18))
      // The parent of a document, and the tree of that parent.
      payload.table(field: 4, of: 5, value: 12)
      payload.table(field: 1, of: 2, value: offset)
      payload.emptyTable()
      return Document.verify(byteBuffer: .init(bytes: payload.bytes))
    }
    XCTAssertTrue(parent(8))
    XCTAssertFalse(parent(0x7FFF_FFFF))
  }
}
