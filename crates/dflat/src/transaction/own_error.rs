//! Errors of the caller's own type, carried past the engine.
//!
//! The engine knows its own error type only. If a handler returns another error, the engine gets a
//! mark in its place, and the error itself waits beside the transaction. If the transaction then
//! ends with the mark, its outcome is that error; otherwise it is the library's error, converted.

use std::any::Any;
use std::fmt;

use crate::Error;

/// Stands for an error of the caller's own type.
#[derive(Debug)]
struct OwnError;

impl fmt::Display for OwnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the handler returned an error of its own type")
    }
}

impl std::error::Error for OwnError {}

/// The library's error for an error of a handler, and that error if it must be kept. An error of
/// the library is passed on as it is.
pub(crate) fn split<E: 'static>(error: E) -> (Error, Option<E>) {
    let mut kept = Some(error);
    let same: &mut dyn Any = &mut kept;
    if let Some(error) = same.downcast_mut::<Option<Error>>().and_then(Option::take) {
        return (error, None);
    }
    (Error::user(OwnError), kept)
}

/// The library's error for an error of a handler; that error is put into `own` if it must be kept.
pub(crate) fn keep<E: 'static>(error: E, own: &mut Option<E>) -> Error {
    let (error, kept) = split(error);
    *own = kept;
    error
}

/// The error with which a transaction ended, in the caller's type. `kept` is the error that
/// [`split`] returned to be kept.
pub(crate) fn join<E: From<Error>>(error: Error, kept: Option<E>) -> E {
    match kept {
        Some(kept) if error.downcast_ref::<OwnError>().is_some() => kept,
        _ => E::from(error),
    }
}
