//! Calls of handlers and completions, and what is lent to them.

use std::ffi::c_void;

use dflat_engine::Result;
use dflat_workspace::TransactionContext;

use crate::boundary::{
    ErrorHandle, In, KeptCallback, Kind, OK, OutError, OutLent, Owned, lend, lend_handle,
    with_error,
};
use crate::error::returned;

/// A transaction, lent to its handler.
pub(crate) struct TransactionHandle(pub(crate) TransactionContext);

impl Kind for TransactionHandle {
    const TAG: u64 = 0xDF1A_7006;
    const NAME: &'static str = "dflat_transaction";
}

/// The function of a handler: `dflat_handler`.
pub(crate) type HandlerCall =
    extern "C" fn(*mut c_void, OutLent<TransactionHandle>, OutError<'_>) -> i32;

/// The function of a completion: `dflat_completion`.
pub(crate) type CompletionCall = extern "C" fn(*mut c_void, i32, In<'_, ErrorHandle>);

/// Calls a handler with its transaction.
pub(crate) fn handle(
    handler: &KeptCallback<HandlerCall>,
    context: TransactionContext,
) -> Result<()> {
    let transaction = TransactionHandle(context);
    call_handler(handler, &transaction)
}

/// Calls a handler, or a part of one behind a savepoint.
pub(crate) fn call_handler(
    handler: &KeptCallback<HandlerCall>,
    transaction: &TransactionHandle,
) -> Result<()> {
    let called = handler.run(|call, context| {
        with_error(|error| lend(transaction, |transaction| call(context, transaction, error)))
    });
    called.map_or(Ok(()), |(code, given)| outcome(code, given))
}

/// The outcome of a callback that returned a code.
pub(crate) fn outcome(code: i32, given: Owned<ErrorHandle>) -> Result<()> {
    match code {
        // An error that a callback gave and then ignored is released here.
        OK => given.take().map(drop).or(Ok(())),
        code => Err(returned(code, given)),
    }
}

/// Calls a completion.
pub(crate) fn complete(completion: &KeptCallback<CompletionCall>, outcome: Result<()>) {
    completion.run(|call, context| match outcome {
        Ok(()) => call(context, OK, In::NONE),
        Err(error) => {
            let error = ErrorHandle::new(error);
            let code = error.code();
            lend_handle(error, |error| call(context, code, error));
        }
    });
}
