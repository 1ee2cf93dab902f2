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

/// The objects with which the change requests of a handler write.
public final class SQLitePersistenceToolbox: PersistenceToolbox {
  public let connection: SQLiteConnection
  public var flatBufferBuilder = FlatBufferBuilder()
  public var _address: UnsafeRawPointer? {
    UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
  }
  /// The context refers to this object until its handler has returned.
  fileprivate let context: SQLiteTransactionContext

  fileprivate init(_ context: SQLiteTransactionContext, _ connection: SQLiteConnection) {
    self.context = context
    self.connection = connection
  }

  /// Carries out a request. For generated code.
  ///
  /// `patch` writes the new values into a copy of the object's payload; if it returns false,
  /// `write` writes a payload of all values.
  public static func _commit(
    _ toolbox: PersistenceToolbox, _ type: ChangeRequestType, of element: any SQLiteAtom.Type,
    base: _StoredPart, isUpsert: Bool, patch: (inout _PayloadPatch) -> Bool,
    write: (inout FlatBufferBuilder) -> Offset
  ) -> UpdatedObject? {
    guard let address = toolbox._address else { return nil }
    // No other class has an address, and the caller keeps the toolbox.
    return Unmanaged<SQLitePersistenceToolbox>.fromOpaque(address)._withUnsafeGuaranteedRef {
      $0.context.carryOut(type, element, base, isUpsert, patch, write)
    }
  }
}

/// The outcome of a submission.
private enum Submitted {
  case refused
  case deleted
  case stored(UpdatedObject)

  /// The result of a request that stores an object.
  var object: UpdatedObject? {
    if case .stored(let object) = self { return object }
    return nil
  }
}

/// The result of a request whose values were written into a copy of the payload; nil if it failed.
private struct Patched {
  let value: UpdatedObject?
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
  /// The table that this transaction has changed last, and those before it.
  private var lastChanged: OpaquePointer?
  private var changed: [OpaquePointer] = []
  private let report: (Error) -> Void
  private(set) var isAborted = false
  /// The error by which the transaction was lost.
  private(set) var failure: DflatError?
  /// Whether nothing was submitted.
  private(set) var isEmpty = true
  private var toolbox: SQLitePersistenceToolbox?
  /// The reason why the last request was not carried out.
  private var refusal: DflatError?
  /// The object that must be stored as the program has seen it.
  private var seen: dflat_object?

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
  func timestamp(of table: OpaquePointer) -> Int64 {
    table == lastChanged || changed.contains(table) ? 0 : start
  }

  /// The transaction whose handler runs on this thread.
  public static var current: SQLiteTransactionContext? { ThreadState.transaction }

  @discardableResult
  public func submit<T: ChangeRequest>(_ changeRequest: T) throws -> UpdatedObject {
    if isAborted { throw TransactionError.aborted }
    isEmpty = false
    refusal = nil
    if let result = changeRequest.commit(toolbox ?? makeToolbox()) { return result }
    guard let failure = refusal else { throw TransactionError.others }
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

  private func makeToolbox() -> SQLitePersistenceToolbox {
    let made = SQLitePersistenceToolbox(self, connection)
    toolbox = made
    return made
  }

  /// Releases what refers to this object, after the handler.
  func end() {
    toolbox = nil
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
    _ changeRequest: T, ifUnchanged object: dflat_object
  ) throws -> UpdatedObject {
    seen = object
    defer { seen = nil }
    return try submit(changeRequest)
  }

  // MARK: Requests

  fileprivate func carryOut(
    _ type: ChangeRequestType, _ element: any SQLiteAtom.Type, _ base: _StoredPart,
    _ isUpsert: Bool, _ patch: (inout _PayloadPatch) -> Bool,
    _ write: (inout FlatBufferBuilder) -> Offset
  ) -> UpdatedObject? {
    switch type {
    case .none:
      refuse(DFLAT_INVALID_ARGUMENT.code, "the request was submitted before")
      return nil
    case .deletion: return delete(element, base)
    case .update:
      if base.isKnown, let outcome = self.patch(base, element, patch) { return outcome.value }
      return self.write(element, DFLAT_UPDATE.code, base, write)
    case .creation:
      let operation = isUpsert ? DFLAT_UPSERT.code : DFLAT_CREATE.code
      return self.write(element, operation, base, write)
    }
  }

  private func refuse(_ code: Int32, _ message: String) {
    refusal = DflatError(code: code, message: message)
  }

  private func delete(
    _ element: any SQLiteAtom.Type, _ base: _StoredPart
  ) -> UpdatedObject? {
    if case .refused = submit(element, DFLAT_DELETE.code, base, dflat_bytes()),
      refusal?.code != DFLAT_NOT_FOUND.code
    {
      return nil
    }
    // If the row vanished meanwhile, that is what the request is for.
    refusal = nil
    return .deleted(base.rowid)
  }

  /// Submits a copy of the object's payload with the new values; nil if these do not fit into it.
  private func patch(
    _ base: _StoredPart, _ element: any SQLiteAtom.Type, _ patch: (inout _PayloadPatch) -> Bool
  ) -> Patched? {
    withUnsafeTemporaryAllocation(byteCount: base.count, alignment: 8) { memory in
      let copy = _PayloadPatch(
        of: base.bytes, table: base.position, vtable: base.vtable, fieldsEnd: base.fieldsEnd,
        copyTo: memory)
      guard var patched = copy, patch(&patched) else { return nil }
      let bytes = UnsafeRawBufferPointer(memory)
      return Patched(value: submit(element, DFLAT_UPDATE.code, base, bytes.lent).object)
    }
  }

  /// Submits a payload of all values.
  private func write(
    _ element: any SQLiteAtom.Type, _ operation: Int32, _ base: _StoredPart,
    _ write: (inout FlatBufferBuilder) -> Offset
  ) -> UpdatedObject? {
    let thread = ThreadState.current
    // A large payload leaves no large memory behind.
    if thread.builder.size > 1 << 20 { thread.builder = FlatBufferBuilder() }
    thread.builder.clear()
    let root = write(&thread.builder)
    thread.builder.finish(offset: root)
    return thread.builder.withUnsafeBytes { submit(element, operation, base, $0.lent).object }
  }

  private func submit(
    _ element: any SQLiteAtom.Type, _ operation: Int32, _ base: _StoredPart,
    _ payload: dflat_bytes
  ) -> Submitted {
    let table = element._table.pointer
    var result: Int32 = 0
    var view = dflat_view()
    let flags = seen == nil ? 0 : UInt32(DFLAT_SUBMIT_IF_UNCHANGED.code)
    let old = seen ?? base.object
    var failure: OpaquePointer?
    let code = dflat_transaction_submit(
      transaction, table, operation, flags, old, payload, &result, &view, &failure)
    guard code == DFLAT_OK.code else {
      refusal = DflatError(code, failure)
      dflat_error_release(failure)
      return .refused
    }
    if result != DFLAT_IDENTITY.code, lastChanged != table { noteChange(of: table) }
    guard view.object.chunk != nil else {
      refuse(DFLAT_NOT_FOUND.code, "the object was deleted")
      return .deleted
    }
    let atom = view.atom(of: element, timestamp: -1)
    switch result {
    case DFLAT_INSERTED.code: return .stored(.inserted(atom))
    case DFLAT_IDENTITY.code: return .stored(.identity(atom))
    default: return .stored(.updated(atom))
    }
  }

  private func noteChange(of table: OpaquePointer) {
    if let last = lastChanged, !changed.contains(last) { changed.append(last) }
    lastChanged = table
  }

  // MARK: Reading

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
    let stored = object._stored
    guard stored.isKnown, stored.rowid == object._rowid else { return try lookUp(object) }
    var view = dflat_view()
    try call {
      dflat_transaction_latest(transaction, T._table.pointer, stored.object, &view, $0)
    }
    let maker = ObjectMaker<T>(ofStored: timestamp(of: T._table.pointer))
    return withExtendedLifetime(object) { maker.optional(view) }
  }

  private func lookUp<T: Atom & SQLiteAtom>(_ object: T) throws -> T? {
    if object._rowid >= 0 { return try read(T.self, .rowid(object._rowid)) }
    return try read(T.self, .primaryKey(object._primaryKey))
  }

  /// The latest state of an object in the transaction of this thread, for a request: the object
  /// itself, if it is up to date. Reports an error. For generated code, which inlines this function
  /// for its type.
  @inlinable
  public static func _latest<T: Atom & SQLiteAtom>(_ object: T) -> T? {
    withExtendedLifetime(object) {
      isLatest(object._stored, T._table, object._rowid) ? object : latest(of: object)
    }
  }

  /// Whether an object is its own latest state in the transaction of this thread. If this cannot be
  /// found out, the result is false.
  @usableFromInline
  static func isLatest(_ part: _StoredPart, _ table: _StoredTable, _ rowid: Int64) -> Bool {
    guard part.rowid == rowid, part.isKnown, let current = current else { return false }
    var view = dflat_view()
    let code = dflat_transaction_latest(
      current.transaction, table.pointer, part.object, &view, nil)
    guard code == DFLAT_OK.code, view.object.chunk != nil else { return false }
    dflat_object_release(view.object)
    return UnsafeRawPointer(view.payload) == part.start
  }

  @usableFromInline
  static func latest<T: Atom & SQLiteAtom>(of object: T) -> T? {
    guard let current = current else { return nil }
    return current.found { try current.readLatest(object) }
  }
}
