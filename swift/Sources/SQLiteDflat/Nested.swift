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
          withLent(pointer, as: NestedChanges.self) { nested in
            do {
              try nested.changes()
              return DFLAT_OK.code
            } catch {
              nested.failure = error
              return 1
            }
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

  /// As `submit`, but throws an error with the code `DFLAT_OUT_OF_DATE`, and changes nothing, unless
  /// `object`, which the program has read, is still stored with its values. The transaction goes on.
  @discardableResult
  public func submit<T: ChangeRequest>(
    _ changeRequest: T, ifUnchanged object: T.Element
  ) throws -> UpdatedObject {
    guard let current = self as? SQLiteTransactionContext else {
      throw DflatError(
        code: DFLAT_INVALID_ARGUMENT.code, message: "the transaction is not one of a workspace")
    }
    guard let stored = object.stored else {
      throw DflatError(
        code: DFLAT_INVALID_ARGUMENT.code,
        message: "cannot check that \(T.Element.self) is unchanged: it was not read from a file")
    }
    defer { withExtendedLifetime(object) {} }
    return try current.submit(changeRequest, ifUnchanged: stored)
  }
}
