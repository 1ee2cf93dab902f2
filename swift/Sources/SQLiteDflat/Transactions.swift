import Dflat
import DflatC
import Dispatch

extension SQLiteWorkspace {
  public func performChanges(
    _ transactionalObjectTypes: [Any.Type],
    changesHandler: @escaping Workspace.ChangesHandler,
    completionHandler: Workspace.CompletionHandler? = nil
  ) {
    // `map` would wrap the closure twice.
    guard let completion = completionHandler else {
      return perform(transactionalObjectTypes, changesHandler, nil)
    }
    perform(transactionalObjectTypes, changesHandler, .success(completion))
  }

  /// Queues a transaction. One of the library itself is not counted.
  func perform(
    _ types: [Any.Type], _ changes: @escaping Workspace.ChangesHandler, _ completion: Completion?,
    isInternal: Bool = false
  ) {
    precondition(!types.isEmpty, "a transaction needs at least one type")
    withTables(of: types) { enqueue($0, changes, completion, isInternal) }
  }

  private func enqueue(
    _ tables: UnsafeBufferPointer<OpaquePointer?>, _ changes: @escaping Workspace.ChangesHandler,
    _ completion: Completion?, _ isInternal: Bool
  ) {
    do {
      let handle = try opened()
      let job = Job(self, changes, completion, isInternal: isInternal)
      let handler = dflat_handler(context: context(job), call: runHandler, drop: released)
      let completion = dflat_completion(
        context: context(job), call: runCompletion, drop: released)
      try call {
        dflat_perform(
          handle.pointer, tables.baseAddress, tables.count, 0, handler, completion, $0)
      }
    } catch {
      report(error)
      guard let completion = completion else { return }
      if (error as? DflatError)?.code == DFLAT_SHUT_DOWN.code {
        completion.call(error)
      } else {
        let failure = Unchecked(error)
        DispatchQueue.global().async { self.onTarget { completion.call(failure.value) } }
      }
    }
  }

  /// As `performChanges` with a completion, which gets the error: that of the submission by which the
  /// transaction was lost, or one with the code `DFLAT_ABORTED` after `abort`.
  public func performChanges(
    _ transactionalObjectTypes: [Any.Type],
    changesHandler: @escaping Workspace.ChangesHandler,
    resultHandler: @escaping (Result<Void, Error>) -> Void
  ) {
    perform(
      transactionalObjectTypes, changesHandler,
      .outcome { error in resultHandler(error.map { .failure($0) } ?? .success(())) })
  }

  fileprivate func perform(_ job: Job, _ transaction: OpaquePointer) -> Int32 {
    let current = SQLiteTransactionContext(
      transaction, of: ObjectIdentifier(self), filePath: engine.filePath, timestamp: timestamp,
      report: reportLater)
    func run() {
      let thread = ThreadState.current
      let outer = thread.transaction
      thread.transaction = current
      job.changes(current)
      thread.transaction = outer
      current.end()
    }
    // A transaction belongs to its thread, which the main queue would change.
    if job.isInternal || targetsMainQueue {
      run()
    } else {
      onTarget(run)
    }
    job.isEmpty = current.isEmpty
    guard current.isAborted else { return DFLAT_OK.code }
    job.failure =
      current.failure
      ?? DflatError(code: DFLAT_ABORTED.code, message: "the transaction was aborted")
    return 1
  }

  fileprivate func finish(_ job: Job, _ failure: DflatError?) {
    if failure == nil {
      if !job.isInternal { committed() }
    } else if let failure = failure, job.failure == nil, failure.code != DFLAT_USER.code {
      report(failure)
    }
    guard let completion = job.completion else { return }
    // A transaction that changes nothing ends after the building of indexes that a fetch began.
    if failure == nil, job.isEmpty, !job.isInternal, let handle = try? opened() {
      let waiting = WaitingCompletion(self, completion)
      let done = dflat_completion(context: context(waiting), call: runWaiting, drop: released)
      if (try? call { dflat_indexes_then(handle.pointer, done, $0) }) != nil { return }
    }
    onTarget { completion.call(job.failure ?? failure) }
  }
}

/// Calls a function with the tables of types, each table once.
private func withTables(
  of types: [Any.Type], _ body: (UnsafeBufferPointer<OpaquePointer?>) -> Void
) {
  let thread = ThreadState.current
  withUnsafeTemporaryAllocation(of: OpaquePointer?.self, capacity: types.count) { tables in
    var count = 0
    for type in types {
      let table = thread.table(of: type)
      guard !tables[..<count].contains(table) else { continue }
      tables[count] = table
      count += 1
    }
    body(UnsafeBufferPointer(rebasing: tables[..<count]))
  }
}

/// A closure that is called with the outcome of a transaction.
enum Completion: @unchecked Sendable {
  /// Gets whether the transaction succeeded.
  case success(Workspace.CompletionHandler)
  /// Gets the error.
  case outcome((Error?) -> Void)

  func call(_ error: Error?) {
    switch self {
    case .success(let completion): completion(error == nil)
    case .outcome(let completion): completion(error)
    }
  }
}

/// A queued transaction.
private final class Job: @unchecked Sendable {
  weak var workspace: SQLiteWorkspace?
  let changes: Workspace.ChangesHandler
  let completion: Completion?
  /// Whether the library itself performs it, to keep an order of calls.
  let isInternal: Bool
  /// Whether the handler has submitted nothing.
  var isEmpty = false
  /// The error that ended the transaction in its handler, which the workspace knows already.
  var failure: DflatError?

  init(
    _ workspace: SQLiteWorkspace, _ changes: @escaping Workspace.ChangesHandler,
    _ completion: Completion?, isInternal: Bool
  ) {
    self.workspace = workspace
    self.changes = changes
    self.completion = completion
    self.isInternal = isInternal
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
  withLent(context, as: WaitingCompletion.self) { waiting in
    waiting.workspace.onTarget { waiting.completion.call(nil) }
  }
}

private func runHandler(
  _ context: UnsafeMutableRawPointer?, _ transaction: OpaquePointer?,
  _ failure: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
  withLent(context, as: Job.self) { job in
    guard let workspace = job.workspace, let transaction = transaction else { return 1 }
    return workspace.perform(job, transaction)
  }
}

private func runCompletion(
  _ context: UnsafeMutableRawPointer?, _ code: dflat_code, _ failure: OpaquePointer?
) {
  withLent(context, as: Job.self) { job in
    let error = code == DFLAT_OK.code ? nil : DflatError(code, failure)
    if let workspace = job.workspace {
      workspace.finish(job, error)
    } else {
      job.completion?.call(error)
    }
  }
}
