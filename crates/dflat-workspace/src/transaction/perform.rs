//! Performing transactions: in the background, with retries, or on the caller's thread.

use std::rc::Rc;
use std::sync::Arc;

use dflat_engine::dictionary::{Dictionary, HeldKeys};
use dflat_engine::engine::PerformOptions;
use dflat_engine::transaction::Transaction;
use dflat_model::Table;

use super::TransactionContext;
use crate::{Result, Workspace};

/// A handler and its completion share one allocation, `shared`. It also holds the keys of the
/// dictionary that the transaction uses until it ends; a plain [`HeldKeys`] suffices.
impl Workspace {
    /// Queues a transaction over these tables and returns at once. `handler` runs on a thread of
    /// the workspace. `completion` is called exactly once: after the commit and its deliveries, or
    /// on this thread, before this returns, if the transaction can't be queued.
    pub fn perform<S: AsRef<HeldKeys> + Send + Sync + 'static>(
        &self,
        tables: impl IntoIterator<Item = Table>,
        options: PerformOptions,
        shared: Arc<S>,
        handler: impl FnOnce(TransactionContext, &S) -> Result<()> + Send + 'static,
        completion: impl FnOnce(Arc<S>, Result<()>) + Send + 'static,
    ) {
        let dictionary = Arc::clone(self.dictionary());
        let ended = Arc::clone(&shared);
        let handler =
            move |transaction: &Rc<Transaction>| run(transaction, dictionary, &shared, handler);
        let completion = move |outcome| complete(ended, outcome, completion);
        self.engine().perform(tables, options, handler, completion);
    }

    /// Queues a transaction whose handler is run again while another process has committed since
    /// its first read, as [the
    /// engine's](dflat_engine::engine::Engine::perform_retrying) is.
    pub fn perform_retrying<S: AsRef<HeldKeys> + Send + Sync + 'static>(
        &self,
        tables: impl IntoIterator<Item = Table>,
        options: PerformOptions,
        shared: Arc<S>,
        mut handler: impl FnMut(TransactionContext, &S) -> Result<()> + Send + 'static,
        completion: impl FnOnce(Arc<S>, Result<()>) + Send + 'static,
    ) {
        let dictionary = Arc::clone(self.dictionary());
        let ended = Arc::clone(&shared);
        let handler = move |transaction: &Rc<Transaction>| {
            run_again(transaction, &dictionary, &shared, &mut handler)
        };
        let completion = move |outcome| complete(ended, outcome, completion);
        self.engine()
            .perform_retrying(tables, options, handler, completion);
    }

    /// Runs a transaction over these tables on this thread, and waits until it is committed and its
    /// deliveries are made.
    ///
    /// # Errors
    /// [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback;
    /// [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown; otherwise, the errors of the
    /// handler and of the commit.
    pub fn perform_blocking<R>(
        &self,
        tables: impl IntoIterator<Item = Table>,
        options: PerformOptions,
        handler: impl FnOnce(TransactionContext) -> Result<R>,
    ) -> Result<R> {
        let holds = Arc::new(HeldKeys::default());
        let ended = Arc::clone(&holds);
        self.engine().perform_here(
            tables,
            options,
            |transaction| {
                let dictionary = Arc::clone(self.dictionary());
                run(transaction, dictionary, &holds, |context, _| {
                    handler(context)
                })
            },
            move |outcome| ended.release(outcome.is_ok()),
        )
    }

    /// As [`perform_blocking`](Self::perform_blocking), with a handler that is run again as that of
    /// [`perform_retrying`](Self::perform_retrying) is.
    ///
    /// # Errors
    /// As [`perform_blocking`](Self::perform_blocking).
    pub fn perform_blocking_retrying<R>(
        &self,
        tables: impl IntoIterator<Item = Table>,
        options: PerformOptions,
        mut handler: impl FnMut(TransactionContext) -> Result<R>,
    ) -> Result<R> {
        let holds = Arc::new(HeldKeys::default());
        let ended = Arc::clone(&holds);
        self.engine().perform_here_retrying(
            tables,
            options,
            |transaction| {
                let dictionary = self.dictionary();
                run_again(transaction, dictionary, &holds, |context, _| {
                    handler(context)
                })
            },
            move |outcome| ended.release(outcome.is_ok()),
        )
    }
}

/// Runs a handler, and then records the values of the keys that it held.
fn run<S: AsRef<HeldKeys> + Send + Sync + 'static, R>(
    transaction: &Rc<Transaction>,
    dictionary: Arc<Dictionary>,
    shared: &Arc<S>,
    handler: impl FnOnce(TransactionContext, &S) -> Result<R>,
) -> Result<R> {
    let context = TransactionContext {
        transaction: Rc::clone(transaction),
        dictionary,
        holds: Arc::clone(shared) as _,
    };
    let value = handler(context, shared)?;
    (**shared).as_ref().seal(transaction)?;
    Ok(value)
}

/// Runs a handler that may have run before.
fn run_again<S: AsRef<HeldKeys> + Send + Sync + 'static, R>(
    transaction: &Rc<Transaction>,
    dictionary: &Arc<Dictionary>,
    shared: &Arc<S>,
    handler: impl FnOnce(TransactionContext, &S) -> Result<R>,
) -> Result<R> {
    // Releases the keys of an earlier run, whose changes were not kept.
    (**shared).as_ref().release(false);
    run(transaction, Arc::clone(dictionary), shared, handler)
}

/// Releases the keys of a transaction that has ended, and calls its completion.
fn complete<S: AsRef<HeldKeys>>(
    shared: Arc<S>,
    outcome: Result<()>,
    completion: impl FnOnce(Arc<S>, Result<()>),
) {
    (*shared).as_ref().release(outcome.is_ok());
    completion(shared, outcome);
}
