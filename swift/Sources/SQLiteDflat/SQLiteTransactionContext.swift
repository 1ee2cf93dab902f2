import Dflat
import DflatC
import FlatBuffers
import Foundation

/// The key under which an object is stored.
public enum SQLiteObjectKey {
  /// The number of its row.
  case rowid(Int64)
  /// The values of its primary key, in the order of the schema.
  case primaryKey([SQLiteBinding])
}

/// Finds objects as the running transaction sees them.
public struct SQLiteObjectRepository {
  public init() {}

  /// The object with a key, as the transaction of this thread sees it.
  public mutating func object<Element: Atom>(
    _ reader: SQLiteConnection, ofType: Element.Type, for key: SQLiteObjectKey
  ) -> Element? {
    SQLiteTransactionContext.current?.find(ofType, key)
  }
}

/// What a handler's requests write with.
public final class SQLitePersistenceToolbox: PersistenceToolbox {
  public let connection: SQLiteConnection
  public var flatBufferBuilder = FlatBufferBuilder()
  public var _object: AnyObject? { self }
  fileprivate unowned let context: SQLiteTransactionContext
  fileprivate var failure: DflatError?
  /// The object that must be stored as the program has seen it.
  fileprivate var seen: StoredPayload?

  fileprivate init(_ context: SQLiteTransactionContext, _ connection: SQLiteConnection) {
    self.context = context
    self.connection = connection
  }

  /// Carries out a request. For generated code.
  ///
  /// `patch` writes the new values into a copy of the object's payload; if it returns false, `write`
  /// writes a payload of all values.
  public static func _commit(
    _ toolbox: PersistenceToolbox, _ type: ChangeRequestType, of element: any SQLiteAtom.Type,
    base: (any Atom & SQLiteAtom)?, isUpsert: Bool, patch: (inout _PayloadPatch) -> Bool,
    write: (inout FlatBufferBuilder) -> Offset
  ) -> UpdatedObject? {
    guard let toolbox = toolbox._object as? SQLitePersistenceToolbox else { return nil }
    do {
      return try toolbox.carryOut(type, element, base, isUpsert, patch, write)
    } catch {
      toolbox.failure = error as? DflatError
      return nil
    }
  }

  private func carryOut(
    _ type: ChangeRequestType, _ element: any SQLiteAtom.Type, _ base: (any Atom & SQLiteAtom)?,
    _ isUpsert: Bool, _ patch: (inout _PayloadPatch) -> Bool,
    _ write: (inout FlatBufferBuilder) -> Offset
  ) throws -> UpdatedObject {
    let operation: Int32
    switch type {
    case .none:
      throw DflatError(
        code: DFLAT_INVALID_ARGUMENT.code, message: "the request was submitted before")
    case .creation: operation = isUpsert ? DFLAT_UPSERT.code : DFLAT_CREATE.code
    case .update: operation = DFLAT_UPDATE.code
    case .deletion: operation = DFLAT_DELETE.code
    }
    let stored = base?._payload as? StoredPayload
    let old = (seen ?? stored)?.object ?? dflat_object()
    if type == .deletion {
      do {
        _ = try context.submit(element, operation, old, dflat_bytes())
      } catch let error as DflatError where error.code == DFLAT_NOT_FOUND.code {
        // The row vanished meanwhile, which is what the request is for.
      }
      return .deleted(base?._rowid ?? -1)
    }
    if type == .update, let stored = stored,
      let result = try submitPatched(stored, element, old, patch)
    {
      return result
    }
    let thread = ThreadState.current
    // A large payload leaves no large memory behind.
    if thread.builder.size > 1 << 20 { thread.builder = FlatBufferBuilder() }
    thread.builder.clear()
    let root = write(&thread.builder)
    thread.builder.finish(offset: root)
    let submitted = try thread.builder.withUnsafeBytes {
      try context.submit(element, operation, old, $0.lent)
    }
    return try updated(submitted)
  }

  /// Submits a copy of the object's payload with the new values; nil if these do not fit into it.
  private func submitPatched(
    _ stored: StoredPayload, _ element: any SQLiteAtom.Type, _ old: dflat_object,
    _ patch: (inout _PayloadPatch) -> Bool
  ) throws -> UpdatedObject? {
    let count = stored.bytes.count
    return try withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { memory in
      guard var patched = _PayloadPatch(stored, copyTo: memory), patch(&patched) else { return nil }
      let bytes = UnsafeRawBufferPointer(memory)
      return try updated(context.submit(element, DFLAT_UPDATE.code, old, bytes.lent))
    }
  }

  private func updated(_ submitted: (Int32, Atom?)) throws -> UpdatedObject {
    let (result, atom) = submitted
    guard let atom = atom else {
      throw DflatError(code: DFLAT_NOT_FOUND.code, message: "the object was deleted")
    }
    switch result {
    case DFLAT_INSERTED.code: return .inserted(atom)
    case DFLAT_IDENTITY.code: return .identity(atom)
    default: return .updated(atom)
    }
  }
}

/// A running transaction, valid in its handler only.
public final class SQLiteTransactionContext: TransactionContext {
  public var objectRepository = SQLiteObjectRepository()
  public lazy var connection = SQLiteConnection(filePath: filePath, report: report)
  let owner: ObjectIdentifier
  let transaction: OpaquePointer
  private let filePath: String
  /// The number of the transactions before this one.
  private let start: Int64
  /// The tables that this transaction has changed.
  private var changed: [OpaquePointer] = []
  private let report: (Error) -> Void
  private(set) var isAborted = false
  /// The error by which the transaction was lost.
  private(set) var failure: DflatError?
  /// Whether nothing was submitted.
  private(set) var isEmpty = true
  private lazy var toolbox = SQLitePersistenceToolbox(self, connection)

  init(
    _ transaction: OpaquePointer, of owner: ObjectIdentifier, filePath: String, timestamp: Int64,
    report: @escaping (Error) -> Void
  ) {
    start = timestamp
    self.transaction = transaction
    self.owner = owner
    self.filePath = filePath
    self.report = report
  }

  /// The number that objects of a table get which this transaction reads.
  func timestamp(of table: OpaquePointer) -> Int64 { changed.contains(table) ? 0 : start }

  /// The transaction whose handler runs on this thread.
  public static var current: SQLiteTransactionContext? { ThreadState.current.transaction }

  @discardableResult
  public func submit<T: ChangeRequest>(_ changeRequest: T) throws -> UpdatedObject {
    if isAborted { throw TransactionError.aborted }
    isEmpty = false
    toolbox.failure = nil
    if let result = changeRequest.commit(toolbox) { return result }
    guard let failure = toolbox.failure else { throw TransactionError.others }
    switch failure.code {
    case DFLAT_ALREADY_EXISTS.code: throw TransactionError.objectAlreadyExists
    case DFLAT_OUT_OF_DATE.code: throw failure
    case DFLAT_UNDECLARED_TYPE.code: preconditionFailure(failure.message)
    case DFLAT_ABORTED.code:
      isAborted = true
      throw TransactionError.aborted
    default: break
    }
    report(failure)
    self.failure = failure
    abort()
    throw failure.code == DFLAT_STORAGE_FULL.code ? TransactionError.diskFull : .others
  }

  @discardableResult
  public func abort() -> Bool {
    guard !isAborted else { return false }
    isAborted = true
    do {
      try call { dflat_transaction_abort(transaction, $0) }
    } catch let error as DflatError where error.code != DFLAT_ABORTED.code {
      report(error)
    } catch {}
    return true
  }

  /// As `submit`, but refuses the change unless an object is stored as the program has seen it.
  func submit<T: ChangeRequest>(
    _ changeRequest: T, ifUnchanged object: StoredPayload
  ) throws -> UpdatedObject {
    toolbox.seen = object
    defer { toolbox.seen = nil }
    return try submit(changeRequest)
  }

  fileprivate func submit(
    _ element: any SQLiteAtom.Type, _ operation: Int32, _ base: dflat_object,
    _ payload: dflat_bytes
  ) throws -> (Int32, Atom?) {
    let table = element._table.handle.pointer
    var result: Int32 = 0
    var view = dflat_view()
    let flags = toolbox.seen == nil ? 0 : UInt32(DFLAT_SUBMIT_IF_UNCHANGED.code)
    try call {
      dflat_transaction_submit(
        transaction, table, operation, flags, base, payload, &result, &view, $0)
    }
    if result != DFLAT_IDENTITY.code, !changed.contains(table) { changed.append(table) }
    return (result, view.object.chunk == nil ? nil : view.atom(of: element, timestamp: -1))
  }

  /// The object with a key.
  func read<T: Atom>(_ type: T.Type, _ key: SQLiteObjectKey) throws -> T? {
    let maker = ObjectMaker<T> { self.timestamp(of: $0) }
    let source = dflat_source(workspace: nil, snapshot: nil, transaction: transaction)
    var view = dflat_view()
    switch key {
    case .rowid(let rowid):
      try call { dflat_find(source, maker.table, rowid, &view, $0) }
    case .primaryKey(let key):
      try withKey(key) { values in
        try call { dflat_get(source, maker.table, values, values.count, &view, $0) }
      }
    }
    return maker.optional(view)
  }

  /// As `read`, but reports an error. An undeclared type is an error of the program, and ends it.
  func find<T: Atom>(_ type: T.Type, _ key: SQLiteObjectKey) -> T? {
    found { try read(type, key) }
  }

  private func found<T>(_ look: () throws -> T?) -> T? {
    do {
      return try look()
    } catch {
      let undeclared = (error as? DflatError)?.code == DFLAT_UNDECLARED_TYPE.code
      precondition(!undeclared, "\(error)")
      report(error)
      return nil
    }
  }

  /// The latest state of an object: of the row that it was read from, or else of its primary key.
  /// The engine looks up no object that this transaction has read, and is not changed since.
  func readLatest<T: Atom & SQLiteAtom>(_ object: T) throws -> T? {
    guard let stored = object.stored, stored.rowid == object._rowid else {
      return try lookUp(object)
    }
    let maker = ObjectMaker<T>(ofStored: timestamp(of: T._table.handle.pointer))
    return maker.optional(try latestView(stored, T._table))
  }

  private func lookUp<T: Atom & SQLiteAtom>(_ object: T) throws -> T? {
    if object._rowid >= 0 { return try read(T.self, .rowid(object._rowid)) }
    return try read(T.self, .primaryKey(object._primaryKey))
  }

  private func latestView(_ stored: StoredPayload, _ table: _StoredTable) throws -> dflat_view {
    var view = dflat_view()
    try call {
      dflat_transaction_latest(transaction, table.handle.pointer, stored.object, &view, $0)
    }
    return view
  }

  /// As `readLatest`, for a request: an object that is up to date is its own latest state.
  private func latestForRequest<T: Atom & SQLiteAtom>(_ object: T) throws -> T? {
    guard let stored = object.stored, stored.rowid == object._rowid else {
      return try lookUp(object)
    }
    let view = try latestView(stored, T._table)
    guard view.payload == stored.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
      return ObjectMaker<T>(ofStored: timestamp(of: T._table.handle.pointer)).optional(view)
    }
    dflat_object_release(view.object)
    return object
  }

  /// The latest state of an object in the transaction of this thread, for a request; reports an
  /// error. For generated code.
  public static func _latest<T: Atom & SQLiteAtom>(_ object: T) -> T? {
    guard let current = current else { return nil }
    return current.found { try current.latestForRequest(object) }
  }
}

/// What the library keeps for each thread.
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
    let table = stored._table.handle.pointer
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
