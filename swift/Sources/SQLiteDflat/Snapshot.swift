import Dflat
import DflatC

/// A state of a workspace that does not change. While it is kept, the write-ahead log of the file
/// cannot be cut.
public final class SQLiteSnapshot: Queryable, Sendable {
  let handle: Handle
  let timestamp: Int64
  private let workspace: SQLiteWorkspace

  init(_ workspace: SQLiteWorkspace) throws {
    self.workspace = workspace
    timestamp = workspace.timestamp
    let opened = try workspace.opened()
    handle = try Handle(release: dflat_snapshot_release) {
      dflat_snapshot_new(opened.pointer, $0, $1)
    }
  }

  /// Begins a query of this state.
  public func fetch<Element: Atom>(for ofType: Element.Type) -> QueryBuilder<Element> {
    SQLiteQueryBuilder<Element>(workspace, snapshot: self)
  }

  /// Calls a closure; the fetches of this snapshot see one state anyway.
  public func fetchWithinASnapshot<T>(_ closure: () -> T) -> T { closure() }
}

extension SQLiteWorkspace {
  /// A snapshot of the latest commit.
  public func snapshot() throws -> SQLiteSnapshot { try SQLiteSnapshot(self) }
}
