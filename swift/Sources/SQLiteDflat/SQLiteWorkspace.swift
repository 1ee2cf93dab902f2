import Dflat
import DflatC
import Dispatch
import Foundation

/// A database of objects in a file of SQLite.
///
/// All methods may be called on any thread. The workspaces of one process on one file share one
/// engine. If a workspace is released, its transactions that have not begun fail.
public final class SQLiteWorkspace: Workspace, @unchecked Sendable {
  /// The protection of new files on Apple's systems. On other systems, it has no effect.
  public enum FileProtectionLevel: Int32, Sendable {
    case noProtection = 4
    case completeFileProtection = 1
    case completeFileProtectionUnlessOpen = 2
    case completeFileProtectionUntilFirstUserAuthentication = 3

    /// The value of the option in the C interface.
    fileprivate var option: Int64 {
      switch self {
      case .noProtection: return 1
      case .completeFileProtectionUntilFirstUserAuthentication: return 2
      case .completeFileProtectionUnlessOpen: return 3
      case .completeFileProtection: return 4
      }
    }
  }

  /// Whether transactions of different types run at the same time.
  public enum WriteConcurrency: Sendable {
    /// Handlers of transactions without a common type run at the same time until their first
    /// submission.
    case concurrent
    /// All transactions run one after the other, in the order of the calls.
    case serial
  }

  /// Whether a commit survives the end of the process alone, or also a loss of power.
  public enum Synchronous: Sendable {
    /// A commit survives the end of the process. A loss of power may undo the last commits.
    case normal
    /// A commit also survives a loss of power.
    case full
  }

  let engine: Engine
  private let targetQueue: DispatchQueue?
  /// Whether callbacks run on the main queue.
  let targetsMainQueue: Bool
  private let state = NSLock()
  private var commits: Int64 = 0
  private var errorHandler: ((Error) -> Void)?
  let entries: DictionaryStorage
  /// Like `report`, without a reference to the workspace. All transactions share this function; the
  /// workspace sets the function once.
  private(set) var reportLater: (Error) -> Void = { _ in }

  /// Makes a workspace. Nothing is opened, read or written, and no error shows, before the workspace
  /// is used. If the file cannot be opened, the next use tries again.
  ///
  /// Handlers, completions and callbacks run on `targetQueue`, or else on threads of the library.
  /// Handlers do not run on the main queue: there, completions and callbacks do. A queue whose own
  /// target is the main queue does not work: pass the main queue itself. Calls that wait for
  /// callbacks, such as `shutdown` without a completion and `cancelAndWait`, must not be made on a
  /// serial target queue. If another workspace of this process has the file open, the options of
  /// that workspace hold.
  public required init(
    filePath: String, fileProtectionLevel: FileProtectionLevel,
    synchronous: Synchronous = .normal, writeConcurrency: WriteConcurrency = .concurrent,
    targetQueue: DispatchQueue? = nil
  ) {
    self.targetQueue = targetQueue
    targetsMainQueue = targetQueue === DispatchQueue.main
    let options: [(Int32, Int64)] = [
      (DFLAT_OPTION_FULL_DURABILITY.code, synchronous == .full ? 1 : 0),
      (DFLAT_OPTION_SINGLE_WRITER.code, writeConcurrency == .serial ? 1 : 0),
      (DFLAT_OPTION_FILE_PROTECTION.code, fileProtectionLevel.option),
      (DFLAT_OPTION_INDEX_ON_READ.code, 1),
      // A completion waits for the callbacks of its transaction, however long they take: ten years.
      (DFLAT_OPTION_SUBSCRIBER_PATIENCE.code, 315_360_000_000),
    ]
    engine = Engine(filePath, options)
    entries = DictionaryStorage(engine)
    reportLater = { [weak self] in self?.report($0) }
  }

  /// Gets each error that a call of the original's interface hides, on any thread. If the property
  /// is nil, as it is at first, these errors are hidden.
  public var onError: ((Error) -> Void)? {
    get { state.withLock { errorHandler } }
    set { state.withLock { errorHandler = newValue } }
  }

  func report(_ error: Error) {
    onError?(error)
  }

  /// The number of the transactions so far.
  var timestamp: Int64 { state.withLock { commits } }

  /// Counts a transaction.
  func committed() {
    state.withLock { commits += 1 }
  }

  /// The open workspace.
  func opened() throws -> Handle { try engine.opened() }

  /// Calls a closure on the target queue, and returns when it has returned.
  func onTarget(_ work: () -> Void) {
    if let queue = targetQueue {
      queue.sync(execute: work)
    } else {
      work()
    }
  }


  // MARK: Reading

  public func fetch<Element: Atom>(for ofType: Element.Type) -> QueryBuilder<Element> {
    SQLiteQueryBuilder<Element>(self)
  }

  public func fetchWithinASnapshot<T>(_ closure: () -> T) -> T {
    let thread = ThreadState.current
    let mine = ObjectIdentifier(self)
    if thread.transaction?.owner == mine || thread.snapshots.contains(where: { $0.owner == mine }) {
      return closure()
    }
    thread.snapshots.append(SharedSnapshot(of: mine, timestamp))
    defer { thread.snapshots.removeLast() }
    return closure()
  }

  /// The number that objects of a table get which this thread reads now: that of the transactions
  /// before the state that it reads, and 0 for a table that the running transaction has changed.
  func timestampToRead(_ table: OpaquePointer) -> Int64 {
    let thread = ThreadState.current
    let mine = ObjectIdentifier(self)
    if let current = thread.transaction, current.owner == mine {
      return current.timestamp(of: table)
    }
    return thread.snapshots.last(where: { $0.owner == mine })?.timestamp ?? timestamp
  }

  /// Calls a function with the state that this thread reads.
  func reading<T>(_ body: (dflat_source) throws -> T) throws -> T {
    let thread = ThreadState.current
    let mine = ObjectIdentifier(self)
    var source = dflat_source(workspace: nil, snapshot: nil, transaction: nil)
    if let current = thread.transaction, current.owner == mine {
      source.transaction = current.transaction
      do {
        return try body(source)
      } catch let error as DflatError where error.code == DFLAT_UNDECLARED_TYPE.code {
        preconditionFailure(error.message)
      }
    }
    let handle = try opened()
    if let shared = thread.snapshots.last(where: { $0.owner == mine }) {
      if shared.handle == nil {
        shared.handle = try Handle(release: dflat_snapshot_release) {
          dflat_snapshot_new(handle.pointer, $0, $1)
        }
      }
      source.snapshot = shared.handle?.pointer
    } else {
      source.workspace = handle.pointer
    }
    return try body(source)
  }

  // MARK: Shutdown

  public func shutdown(flags: WorkspaceShutdownFlag, completion: (() -> Void)?) {
    do {
      guard let handle = try beginClosing(flags) else {
        completion?()
        return
      }
      let flags = UInt32(truncatingIfNeeded: flags.rawValue)
      guard let completion = completion else {
        try call { dflat_workspace_shutdown(handle.pointer, flags, $0) }
        return
      }
      let job = ClosingJob(self, handle, completion)
      let done = dflat_completion(context: context(job), call: runClosing, drop: released)
      try call { dflat_workspace_shutdown_then(handle.pointer, flags, done, $0) }
    } catch {
      report(error)
      completion?()
    }
  }

  /// Lets later calls fail. Returns the workspace to shut down, or nil if that was done before or
  /// there is none: a file that was never used is opened only if it is to be changed.
  func beginClosing(_ flags: WorkspaceShutdownFlag) throws -> Handle? {
    guard engine.beginShutdown() else { return nil }
    do {
      try entries.close()
    } catch {
      report(error)
    }
    return try engine.closing(opens: !flags.isEmpty)
  }

  // MARK: Dictionary

  public var dictionary: WorkspaceDictionary {
    get { SQLiteWorkspaceDictionary(storage: entries, workspace: self) }
    set {}
  }
}

private final class ClosingJob: @unchecked Sendable {
  let workspace: SQLiteWorkspace
  let handle: Handle
  let completion: () -> Void

  init(_ workspace: SQLiteWorkspace, _ handle: Handle, _ completion: @escaping () -> Void) {
    self.workspace = workspace
    self.handle = handle
    self.completion = completion
  }
}

private func runClosing(
  _ context: UnsafeMutableRawPointer?, _ code: dflat_code, _ failure: OpaquePointer?
) {
  withLent(context, as: ClosingJob.self) { job in
    if code != DFLAT_OK.code { job.workspace.report(DflatError(code, failure)) }
    job.workspace.onTarget(job.completion)
  }
}
