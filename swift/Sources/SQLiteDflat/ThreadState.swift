import FlatBuffers
import Foundation

/// The state that the library keeps for each thread.
final class ThreadState {
  var transaction: SQLiteTransactionContext?
  /// Writes the payloads of this thread's requests: its memory serves all of its transactions.
  var builder = FlatBufferBuilder()
  /// The snapshots that closures on this thread read, the innermost last.
  var snapshots: [SharedSnapshot] = []
  /// The stored type that was looked up last, and its table. A table is never released.
  private var latestType: (ObjectIdentifier, OpaquePointer)?

  /// The table of a stored type.
  func table(of type: Any.Type) -> OpaquePointer {
    if let (known, table) = latestType, known == ObjectIdentifier(type) { return table }
    guard let stored = type as? any SQLiteAtom.Type else {
      preconditionFailure("\(type) is not a stored type")
    }
    let table = stored._table.pointer
    latestType = (ObjectIdentifier(type), table)
    return table
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key) { state in
      #if canImport(Darwin)
        Unmanaged<ThreadState>.fromOpaque(state).release()
      #else
        if let state = state { Unmanaged<ThreadState>.fromOpaque(state).release() }
      #endif
    }
    return key
  }()

  /// The transaction of this thread. A thread keeps its state until it ends, so the state need not
  /// be counted here.
  static var transaction: SQLiteTransactionContext? {
    guard let known = pthread_getspecific(key) else { return nil }
    return Unmanaged<ThreadState>.fromOpaque(known)._withUnsafeGuaranteedRef { $0.transaction }
  }

  static var current: ThreadState {
    if let known = pthread_getspecific(key) {
      return Unmanaged<ThreadState>.fromOpaque(known).takeUnretainedValue()
    }
    let state = ThreadState()
    pthread_setspecific(key, Unmanaged.passRetained(state).toOpaque())
    return state
  }
}

/// The state that the fetches of a closure read: that of the first fetch.
final class SharedSnapshot {
  let owner: ObjectIdentifier
  var handle: Handle?

  /// The number of the transactions before it.
  let timestamp: Int64

  init(of owner: ObjectIdentifier, _ timestamp: Int64) {
    self.owner = owner
    self.timestamp = timestamp
  }
}
