import Dflat
import DflatC
import Dispatch
import Foundation

/// A database of objects in a file of SQLite.
///
/// All methods may be called on any thread. The workspaces of one process on one file share one
/// engine. If a workspace is released, its transactions that have not begun fail.
public final class SQLiteWorkspace: Workspace, @unchecked Sendable {
  /// The protection of new files on Apple's systems.
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
    case concurrent
    case serial
  }

  /// What a commit survives: the end of the process, or a loss of power.
  public enum Synchronous: Sendable {
    case normal
    case full
  }

  private let filePath: String
  private let targetQueue: DispatchQueue?
  private let state = NSLock()
  private var handle: Handle?
  private var openFailure: DflatError?
  private var isShutDown = false
  private var commits: Int64 = 0
  private var errorHandler: ((Error) -> Void)?
  private let entries: DictionaryStorage

  /// Opens a workspace. Nothing is read or written, and no error shows, before the workspace is
  /// used.
  ///
  /// Handlers, completions and callbacks run on `targetQueue`, or else on threads of the library.
  /// Handlers do not run on the main queue: there, completions and callbacks do. If another
  /// workspace of this process has the file open, the options of that workspace hold.
  public required init(
    filePath: String, fileProtectionLevel: FileProtectionLevel,
    synchronous: Synchronous = .normal, writeConcurrency: WriteConcurrency = .concurrent,
    targetQueue: DispatchQueue? = nil
  ) {
    self.filePath = filePath
    self.targetQueue = targetQueue
    let options: [(Int32, Int64)] = [
      (DFLAT_OPTION_FULL_DURABILITY.code, synchronous == .full ? 1 : 0),
      (DFLAT_OPTION_SINGLE_WRITER.code, writeConcurrency == .serial ? 1 : 0),
      (DFLAT_OPTION_FILE_PROTECTION.code, fileProtectionLevel.option),
      (DFLAT_OPTION_INDEX_ON_READ.code, 1),
    ]
    do {
      do {
        handle = try Self.open(filePath, options)
      } catch let error as DflatError where error.code == DFLAT_INVALID_ARGUMENT.code {
        // Another workspace has the file open with other options, which hold for this one, too.
        handle = try Self.open(filePath, [])
      }
    } catch {
      openFailure = error as? DflatError
    }
    entries = DictionaryStorage(handle)
  }

  private static func open(_ path: String, _ values: [(Int32, Int64)]) throws -> Handle {
    let options = try Handle(release: dflat_options_release) { dflat_options_new($0, $1) }
    for (option, value) in values {
      try call { dflat_options_set(options.pointer, option, value, $0) }
    }
    return try path.withText { path in
      try Handle(release: releaseLater) {
        dflat_workspace_open(path, options.pointer, $0, $1)
      }
    }
  }

  /// Gets each error that a call of the original's interface hides. It is called on any thread.
  public var onError: ((Error) -> Void)? {
    get { state.withLock { errorHandler } }
    set { state.withLock { errorHandler = newValue } }
  }

  func report(_ error: Error) {
    onError?(error)
  }

  /// The number of the transactions so far.
  var timestamp: Int64 { state.withLock { commits } }

  /// The open workspace.
  func opened() throws -> Handle {
    try state.withLock {
      if isShutDown {
        throw DflatError(code: DFLAT_SHUT_DOWN.code, message: "the workspace is shut down")
      }
      if let failure = openFailure { throw failure }
      return handle!
    }
  }

  /// Calls a closure on the target queue, and returns when it has returned.
  func onTarget(_ work: () -> Void) {
    if let queue = targetQueue {
      queue.sync(execute: work)
    } else {
      work()
    }
  }

  // MARK: Transactions

  public func performChanges(
    _ transactionalObjectTypes: [Any.Type],
    changesHandler: @escaping Workspace.ChangesHandler,
    completionHandler: Workspace.CompletionHandler? = nil
  ) {
    perform(
      transactionalObjectTypes, changesHandler,
      completionHandler.map { completion in Completion { completion($0 == nil) } })
  }

  private func perform(
    _ types: [Any.Type], _ changes: @escaping Workspace.ChangesHandler, _ completion: Completion?
  ) {
    precondition(!types.isEmpty, "a transaction needs at least one type")
    var tables: [OpaquePointer?] = []
    for type in types {
      guard let type = type as? any SQLiteAtom.Type else {
        preconditionFailure("\(type) is not a stored type")
      }
      let table = type._table.handle.pointer
      if !tables.contains(table) { tables.append(table) }
    }
    do {
      let handle = try opened()
      let job = Job(self, changes, completion)
      let handler = dflat_handler(context: context(job), call: runHandler, drop: released)
      let completion = dflat_completion(
        context: context(job), call: runCompletion, drop: released)
      try call {
        dflat_perform(handle.pointer, &tables, tables.count, 0, handler, completion, $0)
      }
    } catch {
      report(error)
      completion?.call(error)
    }
  }

  /// As `performChanges` with a completion, which gets the error.
  public func performChanges(
    _ transactionalObjectTypes: [Any.Type],
    changesHandler: @escaping Workspace.ChangesHandler,
    resultHandler: @escaping (Result<Void, Error>) -> Void
  ) {
    perform(
      transactionalObjectTypes, changesHandler,
      Completion { error in resultHandler(error.map { .failure($0) } ?? .success(())) })
  }

  fileprivate func perform(_ job: Job, _ transaction: OpaquePointer) -> Int32 {
    let current = SQLiteTransactionContext(
      transaction, of: ObjectIdentifier(self), filePath: filePath,
      report: { [weak self] in self?.report($0) })
    func run() {
      let thread = ThreadState.current
      let outer = thread.transaction
      thread.transaction = current
      job.changes(current)
      thread.transaction = outer
    }
    // A transaction belongs to its thread, which the main queue would change.
    if targetQueue === DispatchQueue.main {
      run()
    } else {
      onTarget(run)
    }
    job.isEmpty = current.isEmpty
    return current.isAborted ? 1 : DFLAT_OK.code
  }

  fileprivate func finish(_ job: Job, _ failure: DflatError?) {
    if failure == nil {
      state.withLock { commits += 1 }
    } else if let failure = failure, failure.code != DFLAT_USER.code,
      failure.code != DFLAT_ABORTED.code
    {
      report(failure)
    }
    guard let completion = job.completion else { return }
    // A transaction that changes nothing ends after the building of indexes that a fetch began.
    if failure == nil, job.isEmpty, let handle = try? opened() {
      let waiting = WaitingCompletion(self, completion)
      let done = dflat_completion(context: context(waiting), call: runWaiting, drop: released)
      if (try? call { dflat_indexes_then(handle.pointer, done, $0) }) != nil { return }
    }
    onTarget { completion.call(failure) }
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
    thread.snapshots.append(SharedSnapshot(of: mine))
    defer { thread.snapshots.removeLast() }
    return closure()
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
    let open: Handle? = state.withLock {
      if isShutDown { return nil }
      isShutDown = true
      return handle
    }
    guard let handle = open else {
      completion?()
      return
    }
    entries.close()
    let flags = UInt32(truncatingIfNeeded: flags.rawValue)
    do {
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

  // MARK: Dictionary

  public var dictionary: WorkspaceDictionary {
    get { SQLiteWorkspaceDictionary(storage: entries, workspace: self) }
    set {}
  }
}

/// Releases a workspace on another thread, because the release waits for transactions.
private func releaseLater(_ workspace: OpaquePointer?) -> dflat_code {
  let address = UInt(bitPattern: workspace)
  DispatchQueue.global().async { _ = dflat_workspace_release(OpaquePointer(bitPattern: address)) }
  return DFLAT_OK.code
}

/// What is called with the outcome of a transaction.
private final class Completion: @unchecked Sendable {
  let call: (Error?) -> Void

  init(_ call: @escaping (Error?) -> Void) {
    self.call = call
  }
}

/// A queued transaction.
private final class Job: @unchecked Sendable {
  weak var workspace: SQLiteWorkspace?
  let changes: Workspace.ChangesHandler
  let completion: Completion?
  /// Whether the handler has submitted nothing.
  var isEmpty = false

  init(
    _ workspace: SQLiteWorkspace, _ changes: @escaping Workspace.ChangesHandler,
    _ completion: Completion?
  ) {
    self.workspace = workspace
    self.changes = changes
    self.completion = completion
  }
}

private final class WaitingCompletion: @unchecked Sendable {
  let workspace: SQLiteWorkspace
  let completion: Completion

  init(_ workspace: SQLiteWorkspace, _ completion: Completion) {
    self.workspace = workspace
    self.completion = completion
  }
}

private func runWaiting(
  _ context: UnsafeMutableRawPointer?, _ code: dflat_code, _ failure: OpaquePointer?
) {
  let waiting = lent(context, as: WaitingCompletion.self)
  waiting.workspace.onTarget { waiting.completion.call(nil) }
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

/// The object that a callback's context is.
func lent<T: AnyObject>(_ context: UnsafeMutableRawPointer?, as: T.Type) -> T {
  Unmanaged<T>.fromOpaque(context!).takeUnretainedValue()
}

private func runHandler(
  _ context: UnsafeMutableRawPointer?, _ transaction: OpaquePointer?,
  _ failure: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
  let job = lent(context, as: Job.self)
  guard let workspace = job.workspace, let transaction = transaction else { return 1 }
  return workspace.perform(job, transaction)
}

private func runCompletion(
  _ context: UnsafeMutableRawPointer?, _ code: dflat_code, _ failure: OpaquePointer?
) {
  let job = lent(context, as: Job.self)
  let error = code == DFLAT_OK.code ? nil : DflatError(code, failure)
  if let workspace = job.workspace {
    workspace.finish(job, error)
  } else {
    job.completion?.call(error)
  }
}

private func runClosing(
  _ context: UnsafeMutableRawPointer?, _ code: dflat_code, _ failure: OpaquePointer?
) {
  let job = lent(context, as: ClosingJob.self)
  if code != DFLAT_OK.code { job.workspace.report(DflatError(code, failure)) }
  job.workspace.onTarget(job.completion)
}
