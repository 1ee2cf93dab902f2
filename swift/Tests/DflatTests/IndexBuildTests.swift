import Dflat
import Generated_monster
import SQLiteDflat
import XCTest

private typealias Monster = MyGame.Sample.Monster
private typealias MonsterChangeRequest = MyGame.Sample.MonsterChangeRequest

/// Builds of an incomplete index that the fetches of handlers, snapshots and subscriptions begin.
final class IndexBuildTests: FileTestCase {
  private let index = "mygame__sample__monster_v1_1__f6"

  /// A workspace with 200 objects, whose index was read before it was removed.
  private func withoutIndex() throws -> SQLiteWorkspace {
    let workspace = open()
    workspace.wait([Monster.self]) { context in
      for number in 0..<200 {
        let monster = Monster(name: "m\(number)", color: .red, mana: Int16(number % 10))
        context.try(submit: MonsterChangeRequest.creationRequest(monster))
      }
    }
    XCTAssertEqual(count(workspace), 20)
    try execute("DROP TABLE \(index)")
    return workspace
  }

  private func count(_ queryable: Queryable) -> Int {
    queryable.fetch(for: Monster.self).where(Monster.mana == 7).count
  }

  /// An empty transaction waits for the build.
  private func assertIndexIsBuilt(_ workspace: SQLiteWorkspace, rows count: Int = 200) {
    XCTAssertTrue(workspace.wait([Monster.self]) { _ in })
    XCTAssertEqual(rows(path, "SELECT COUNT(*) FROM \(index)"), ["\(count)"])
  }

  func testFetchInAHandlerBeginsTheBuild() throws {
    let workspace = try withoutIndex()
    let found = Shared(0)
    workspace.wait([Monster.self]) { _ in found.value = self.count(workspace) }
    XCTAssertEqual(found.value, 20)
    assertIndexIsBuilt(workspace)
  }

  func testFetchOfASnapshotBeginsTheBuild() throws {
    let workspace = try withoutIndex()
    XCTAssertEqual(workspace.fetchWithinASnapshot { count(workspace) }, 20)
    assertIndexIsBuilt(workspace)
    try execute("DROP TABLE \(index)")
    XCTAssertEqual(try count(workspace.snapshot()), 20)
    assertIndexIsBuilt(workspace)
  }

  /// The subscription fetches the result again, because a transaction has changed the table since.
  func testFetchForASubscriptionBeginsTheBuild() throws {
    let workspace = try withoutIndex()
    XCTAssertEqual(count(workspace), 20)
    assertIndexIsBuilt(workspace)
    let known = workspace.fetch(for: Monster.self).where(Monster.mana == 7)
    XCTAssertEqual(known.count, 20)
    workspace.wait([Monster.self]) { context in
      context.try(submit: MonsterChangeRequest.creationRequest(Monster(name: "n", color: .red)))
    }
    try execute("DROP TABLE \(index)")
    let subscription = workspace.subscribe(fetchedResult: known) { _ in }
    assertIndexIsBuilt(workspace, rows: 201)
    subscription.cancel()
    try execute("DROP TABLE \(index)")
    let delivered = Shared(0)
    let another = try workspace.fetch(for: Monster.self).subscribe(where: Monster.mana == 7) {
      result, _ in delivered.value = result.count
    }
    assertIndexIsBuilt(workspace, rows: 201)
    XCTAssertEqual(delivered.value, 20)
    another.cancel()
  }
}
