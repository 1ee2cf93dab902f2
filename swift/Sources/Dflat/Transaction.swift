/// Why a change was not made.
public enum TransactionError: Error {
  /// The transaction was aborted, or was lost by an error before.
  case aborted
  /// Another object has the same primary key or unique value. The transaction stays usable.
  case objectAlreadyExists
  /// No space is left on the device. The transaction is lost.
  case diskFull
  /// Any other error, which the workspace reports. The transaction is lost.
  case others
}

/// Makes the changes of a handler. Only the thread of the handler may use the context, until the
/// handler returns.
public protocol TransactionContext {
  /// Makes a change, which later requests and fetches of the handler see. A request can be submitted
  /// only once. Throws a `TransactionError`.
  @discardableResult
  func submit<T: ChangeRequest>(_: T) throws -> UpdatedObject
  /// Undoes all changes of the transaction; no subscription gets them. Returns false if the
  /// transaction was aborted before.
  @discardableResult
  func abort() -> Bool
}

extension TransactionContext {
  /// Makes a change as `submit` does. Returns nil if the change failed. Ends the program if another
  /// object has the primary key or a unique value.
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
