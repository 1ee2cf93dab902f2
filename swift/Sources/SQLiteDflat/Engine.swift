import DflatC
import Dispatch
import Foundation

/// The open file of a workspace. It is opened when it is used first.
final class Engine: @unchecked Sendable {
  let filePath: String
  private let options: [(Int32, Int64)]
  private let lock = NSLock()
  private var handle: Handle?
  private var isShutDown = false

  init(_ filePath: String, _ options: [(Int32, Int64)]) {
    self.filePath = filePath
    self.options = options
  }

  /// The open workspace.
  func opened() throws -> Handle {
    try lock.withLock {
      if isShutDown {
        throw DflatError(code: DFLAT_SHUT_DOWN.code, message: "the workspace is shut down")
      }
      return try open()
    }
  }

  /// Lets later calls of `opened` fail; false if that was done before.
  func beginShutdown() -> Bool {
    lock.withLock {
      defer { isShutDown = true }
      return !isShutDown
    }
  }

  /// Whether a shutdown has begun.
  var isClosed: Bool { lock.withLock { isShutDown } }

  /// The workspace that is to be shut down; nil if it was never used.
  func closing(opens: Bool) throws -> Handle? {
    try lock.withLock { opens ? try open() : handle }
  }

  private func open() throws -> Handle {
    if let handle = handle { return handle }
    let opened: Handle
    do {
      opened = try Self.open(filePath, options)
    } catch let error as DflatError where error.code == DFLAT_INVALID_ARGUMENT.code {
      // Another workspace has the file open with other options, which hold for this one, too.
      opened = try Self.open(filePath, [])
    }
    handle = opened
    return opened
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
}

/// Releases a workspace on another thread, because the release waits for transactions.
private func releaseLater(_ workspace: OpaquePointer?) -> dflat_code {
  let address = UInt(bitPattern: workspace)
  DispatchQueue.global().async { _ = dflat_workspace_release(OpaquePointer(bitPattern: address)) }
  return DFLAT_OK.code
}
