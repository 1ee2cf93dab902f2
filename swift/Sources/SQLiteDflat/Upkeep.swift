import Dflat
import DflatC

/// The progress of work: what is done and all there is to do. Returns false to end the work.
public typealias DflatProgress = (_ done: UInt64, _ total: UInt64) -> Bool

private final class ProgressReceiver {
  let call: DflatProgress

  init(_ call: @escaping DflatProgress) {
    self.call = call
  }
}

private func callback(_ progress: DflatProgress?) -> dflat_progress_callback {
  guard let progress = progress else { return dflat_progress_callback() }
  return dflat_progress_callback(
    context: context(ProgressReceiver(progress)),
    call: { pointer, done, total in
      withLent(pointer, as: ProgressReceiver.self) { $0.call(done, total) ? 0 : 1 }
    },
    drop: released)
}

extension SQLiteWorkspace {
  /// Copies the current state into a new file. Returns when the copy is complete.
  public func backup(to path: String, progress: DflatProgress? = nil) throws {
    let handle = try opened()
    try path.withText { path in
      try call { dflat_workspace_backup(handle.pointer, path, callback(progress), $0) }
    }
  }

  /// Checks the file for damage: its pages, the rows and indexes of these types, and the
  /// dictionary. Returns the problems, none for a sound file.
  public func check(_ types: [Any.Type], progress: DflatProgress? = nil) throws -> [String] {
    let handle = try opened()
    var tables: [OpaquePointer?] = []
    for type in types {
      guard let type = type as? any SQLiteAtom.Type else {
        throw DflatError(
          code: DFLAT_INVALID_ARGUMENT.code, message: "\(type) is not a stored type")
      }
      tables.append(type._table.pointer)
    }
    var count: UInt64 = 0
    let text = try Handle(release: dflat_buffer_release) {
      dflat_workspace_check(
        handle.pointer, &tables, tables.count, callback(progress), &count, $0, $1)
    }
    return text.text.split(separator: "\n").map(String.init)
  }
}
