import Dflat
import DflatC

/// The changes of a nested transaction, and the error that they end with.
private final class NestedChanges {
  let changes: () throws -> Void
  var failure: Error?

  init(_ changes: @escaping () throws -> Void) {
    self.changes = changes
  }
}

extension TransactionContext {
  /// Makes changes that are undone together if the closure throws; the transaction goes on. Throws
  /// the error of the closure.
  public func nested(_ changes: () throws -> Void) throws {
    guard let current = self as? SQLiteTransactionContext else {
      throw DflatError(
        code: DFLAT_INVALID_ARGUMENT.code, message: "the transaction is not one of a workspace")
    }
    try withoutActuallyEscaping(changes) { changes in
      let nested = NestedChanges(changes)
      let handler = dflat_handler(
        context: context(nested),
        call: { pointer, _, _ in
          let nested = lent(pointer, as: NestedChanges.self)
          do {
            try nested.changes()
            return DFLAT_OK.code
          } catch {
            nested.failure = error
            return 1
          }
        },
        drop: released)
      do {
        try call { dflat_transaction_nested(current.transaction, handler, $0) }
      } catch {
        throw nested.failure ?? error
      }
    }
  }

  /// Throws an error with the code `DFLAT_OUT_OF_DATE` if an object has changed since it was read,
  /// or was deleted.
  public func requireUnchanged<T: Atom & Equatable>(_ object: T) throws {
    let latest: T?
    if object._rowid >= 0 {
      latest = SQLiteTransactionContext.current?.find(T.self, .rowid(object._rowid))
    } else if let atom = object as? any SQLiteAtom {
      latest = SQLiteTransactionContext.current?.find(T.self, .primaryKey(atom._primaryKey))
    } else {
      latest = nil
    }
    guard latest == object else {
      throw DflatError(
        code: DFLAT_OUT_OF_DATE.code, message: "\(T.self) has changed since it was read")
    }
  }
}
