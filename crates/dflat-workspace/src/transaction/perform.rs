//! Performing transactions: in the background, with retries, or on the caller's thread.

use std::rc::Rc;
use std::sync::Arc;

use dflat_engine::dictionary::{Dictionary, HeldKeys};
use dflat_engine::engine::PerformOptions;
use dflat_engine::transaction::Transaction;
use dflat_model::Table;

use super::TransactionContext;
use crate::{Error, ErrorKind, Result, Workspace};

/// The keys that a transaction holds, with the state that its handler and its completion share.
type Held = Arc<dyn AsRef<HeldKeys> + Send + Sync>;

/// A handler and its completion share the allocation `shared`. It also holds the keys of the
/// dictionary that the transaction uses until it ends; a plain [`HeldKeys`] suffices.
impl Workspace {
    /// Queues a transaction over these tables and returns at once. `handler` runs on a thread of
    /// the workspace. `completion` is called exactly once: after the commit and its deliveries, or
    /// on this thread, before this returns, if the transaction can't be queued.
    ///
    /// A program has a copy of this method, and of much of the engine's, for each type of handler.
    /// A caller with many of them gives a boxed handler.
    pub fn perform<S: AsRef<HeldKeys> + Send + Sync + 'static>(
        &self,
        tables: impl IntoIterator<Item = Table>,
        options: PerformOptions,
        shared: Arc<S>,
        handler: impl FnOnce(TransactionContext, &S) -> Result<()> + Send + 'static,
        completion: impl FnOnce(Arc<S>, Result<()>) + Send + 'static,
    ) {
        let (dictionary, ended) = (Arc::clone(self.dictionary()), Arc::clone(&shared));
        let handler = move |transaction: &Rc<Transaction>| {
            let held: Held = Arc::clone(&shared) as _;
            run(transaction, dictionary, &held, |context| {
                handler(context, &shared)
            })
        };
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
        let (dictionary, ended) = (Arc::clone(self.dictionary()), Arc::clone(&shared));
        let handler = move |transaction: &Rc<Transaction>| {
            let held: Held = Arc::clone(&shared) as _;
            let handler = |context| handler(context, &shared);
            run_again(transaction, &dictionary, &held, handler)
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
        let (mut handler, mut value) = (Some(handler), None);
        let mut handler = |context| {
            if let Some(handler) = handler.take() {
                value = Some(handler(context)?);
            }
            Ok(())
        };
        self.run_here(&mut tables.into_iter(), options, &mut handler)?;
        value.ok_or_else(no_value)
    }

    fn run_here(
        &self,
        tables: &mut dyn Iterator<Item = Table>,
        options: PerformOptions,
        handler: &mut dyn FnMut(TransactionContext) -> Result<()>,
    ) -> Result<()> {
        let holds = Arc::new(HeldKeys::default());
        let (held, ended): (Held, _) = (Arc::clone(&holds) as _, holds);
        self.engine().perform_here(
            tables,
            options,
            |transaction| run(transaction, Arc::clone(self.dictionary()), &held, handler),
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
        let mut value = None;
        let mut handler = |context| {
            value = Some(handler(context)?);
            Ok(())
        };
        self.run_here_retrying(&mut tables.into_iter(), options, &mut handler)?;
        value.ok_or_else(no_value)
    }

    fn run_here_retrying(
        &self,
        tables: &mut dyn Iterator<Item = Table>,
        options: PerformOptions,
        handler: &mut dyn FnMut(TransactionContext) -> Result<()>,
    ) -> Result<()> {
        let holds = Arc::new(HeldKeys::default());
        let (held, ended): (Held, _) = (Arc::clone(&holds) as _, holds);
        self.engine().perform_here_retrying(
            tables,
            options,
            |transaction| run_again(transaction, self.dictionary(), &held, &mut *handler),
            move |outcome| ended.release(outcome.is_ok()),
        )
    }
}

/// Runs a handler, and then records the values of the keys that it held.
fn run(
    transaction: &Rc<Transaction>,
    dictionary: Arc<Dictionary>,
    held: &Held,
    handler: impl FnOnce(TransactionContext) -> Result<()>,
) -> Result<()> {
    let context = TransactionContext {
        transaction: Rc::clone(transaction),
        dictionary,
        holds: Arc::clone(held),
    };
    handler(context)?;
    (**held).as_ref().seal(transaction)
}

/// Runs a handler that may have run before.
fn run_again(
    transaction: &Rc<Transaction>,
    dictionary: &Arc<Dictionary>,
    held: &Held,
    handler: impl FnOnce(TransactionContext) -> Result<()>,
) -> Result<()> {
    // Releases the keys of an earlier run, whose changes were not kept.
    (**held).as_ref().release(false);
    run(transaction, Arc::clone(dictionary), held, handler)
}

/// Releases the keys of a transaction that has ended, and calls its completion.
fn complete<S: AsRef<HeldKeys>>(
    held: Arc<S>,
    outcome: Result<()>,
    completion: impl FnOnce(Arc<S>, Result<()>),
) {
    (*held).as_ref().release(outcome.is_ok());
    completion(held, outcome);
}

fn no_value() -> Error {
    let message = "cannot give the handler's value: it did not run";
    Error::new(ErrorKind::Backend, message)
}
