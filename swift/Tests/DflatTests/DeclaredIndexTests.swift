import Dflat
import Foundation
import Generated_indexes
import SQLiteDflat
import XCTest

private typealias Item = Generated_indexes.Task
private typealias ItemRequest = Generated_indexes.TaskChangeRequest

/// Indexes over several fields and of some objects, which the original does not have.
final class DeclaredIndexTests: FileTestCase {
  private func fill(_ workspace: SQLiteWorkspace) {
    workspace.wait([Item.self]) { context in
      for number in 0..<200 {
        let item = Item(
          id: UInt64(number), list: UInt32(number % 20), title: "t\(number)",
          due: number % 4 == 0 ? nil : Int64(number), state: number % 2 == 0 ? .open : .done,
          slug: "s\(number)")
        context.try(submit: ItemRequest.creationRequest(item))
      }
    }
  }

  func testIndexOverSeveralFieldsIsUsed() throws {
    let workspace = open()
    fill(workspace)
    let query = workspace.fetch(for: Item.self)
    let condition = Item.list == 3 && Item.due > 100
    XCTAssertEqual(query.where(condition).map(\.id), [103, 123, 143, 163, 183])
    let plan = try query.explain(where: condition)
    XCTAssertTrue(plan.contains("list, due"), plan)
  }

  func testIndexOfSomeObjectsIsUsed() throws {
    let workspace = open()
    fill(workspace)
    let query = workspace.fetch(for: Item.self)
    let condition = Item.state == .open && Item.due < 11
    XCTAssertEqual(query.where(condition).map(\.id), [2, 6, 10])
    let plan = try query.explain(where: condition)
    XCTAssertTrue(plan.contains("due where"), plan)
  }

  func testUniqueValuesOfSeveralFields() {
    let workspace = open()
    workspace.wait([Item.self]) { context in
      let same = Item(id: 1, list: 1, title: "a", slug: "x")
      context.try(submit: ItemRequest.creationRequest(same))
      for (id, list, title, slug) in [(2, 1, "a", "y"), (3, 2, "a", "z")] as [(UInt64, UInt32, String, String)] {
        let item = Item(id: id, list: list, title: title, slug: slug)
        _ = try? context.submit(ItemRequest.creationRequest(item))
      }
    }
    XCTAssertEqual(workspace.fetch(for: Item.self).all().map(\.id), [1, 3])
  }
}
