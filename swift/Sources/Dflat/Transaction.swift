/// Why a change was not made.
public enum TransactionError: Error {
  /// The transaction was aborted.
  case aborted
  /// Another object has the same primary key or unique value. The transaction stays usable.
  case objectAlreadyExists
  /// No space is left on the device. The transaction is lost.
  case diskFull
  /// Any other error; the handler of errors of the workspace gets the details.
  case others
}

/// The means of a handler to make changes.
public protocol TransactionContext {
  /// Makes a change.
  @discardableResult
  func submit<T: ChangeRequest>(_: T) throws -> UpdatedObject
  /// Undoes all changes of the transaction. Returns false if it was aborted before.
  @discardableResult
  func abort() -> Bool
}

extension TransactionContext {
  /// Makes a change. Returns nil if it failed, and ends the program on a conflict.
  @discardableResult
  public func `try`<T: ChangeRequest>(submit changeRequest: T) -> UpdatedObject? {
    do {
      return try submit(changeRequest)
    } catch TransactionError.objectAlreadyExists {
      fatalError("an object with this primary key or unique value exists already")
    } catch {
      return nil
    }
  }
}
