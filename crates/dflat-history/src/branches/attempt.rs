//! Attempts of a transaction: another one may change objects before it begins.

use dflat_engine::engine::Engine;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use crate::commits::{CommitId, ensure_trees};

/// How often a transaction begins anew because another one has changed objects meanwhile.
const TRIES: u32 = 100;

/// The outcome of one attempt.
pub(super) enum Attempt<T> {
    /// Another transaction has changed objects meanwhile.
    Again,
    /// The trees of these commits are needed, and were collected as garbage.
    Restore(Vec<CommitId>),
    /// The work is done.
    Done(T),
}

/// Attempts something until it is done. Builds trees that it needs anew between two attempts.
///
/// # Errors
/// The errors of the attempt, and of [`ensure_trees`]; [`ErrorKind::Busy`] if others change objects
/// again and again.
pub(super) fn attempts<T>(
    engine: &Engine,
    tables: &[Table],
    what: &str,
    mut attempt: impl FnMut() -> Result<Attempt<T>>,
) -> Result<T> {
    for _ in 0..TRIES {
        match attempt()? {
            Attempt::Again => {}
            Attempt::Restore(ids) => {
                for id in ids {
                    ensure_trees(engine, tables, id)?;
                }
            }
            Attempt::Done(done) => return Ok(done),
        }
    }
    let message = format!("cannot {what}: others change objects again and again");
    Err(Error::new(ErrorKind::Busy, message))
}
