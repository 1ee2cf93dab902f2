//! Performing changes: on a thread of the engine, or on the caller's.

use std::rc::Rc;
use std::sync::mpsc;
use std::time::Instant;

use dflat_model::Table;

use super::{Engine, Inner};
use crate::callback;
use crate::change_set::{Complete, Completion};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;
use crate::transaction::{Job, Tables, Transaction, is_overtaken};

/// How a transaction begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerformOptions {
    /// Whether the transaction takes write access before its handler runs. No other process can
    /// commit from then on until the transaction ends, so the handler may read and then write. The
    /// transaction shares its commit with no earlier transaction, and waits for the write access
    /// even if its handler changes nothing.
    pub write_first: bool,
}

/// Limit of the bytes of a handler that is moved when its transaction is handed on. A larger
/// handler is boxed: a thread of the scheduler has no room for many copies of it.
const MOVED_MAX_BYTES: usize = 1024;

/// A transaction that waits for its turn, and then for its commit: one allocation, which goes from
/// thread to thread.
struct Queued<H, C> {
    /// The work to do when its turn comes.
    work: Option<Work<H>>,
    run: fn(Work<H>, Completion),
    completion: C,
}

/// The work of a transaction.
struct Work<H> {
    inner: Arc<Inner>,
    tables: Tables,
    options: PerformOptions,
    handler: H,
}

impl<H: Send + 'static, C: FnOnce(Result<()>) + Send + 'static> Job for Queued<H, C> {
    fn run(mut self: Box<Self>) {
        if let Some(work) = self.work.take() {
            (self.run)(work, self);
        }
    }

    fn refuse(self: Box<Self>, error: Error) {
        self.complete(Err(error));
    }
}

impl<H: Send, C: FnOnce(Result<()>) + Send> Complete for Queued<H, C> {
    fn complete(self: Box<Self>, outcome: Result<()>) {
        (self.completion)(outcome);
    }
}

impl<H: FnOnce(&Rc<Transaction>) -> Result<()>> Work<H> {
    fn run(self, completion: Completion) {
        let (tables, options) = (self.tables, self.options);
        self.inner.run(tables, options, self.handler, completion);
    }
}

impl<H: FnMut(&Rc<Transaction>) -> Result<()>> Work<H> {
    fn run_retrying(self, completion: Completion) {
        let (tables, options) = (self.tables, self.options);
        self.inner
            .run_retrying(&tables, options, self.handler, completion);
    }
}

impl Engine {
    /// Queues a transaction over these tables and returns at once; `handler` is run on a thread of
    /// the engine. `completion` is called exactly once: on the committing thread when all is done,
    /// callbacks included; or on this thread, before this call returns, if the transaction can't be
    /// queued.
    pub fn perform(
        &self,
        tables: impl IntoIterator<Item = Table>,
        options: PerformOptions,
        handler: impl FnOnce(&Rc<Transaction>) -> Result<()> + Send + 'static,
        completion: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        if size_of_val(&handler) > MOVED_MAX_BYTES {
            type Kept = Box<dyn FnOnce(&Rc<Transaction>) -> Result<()> + Send>;
            let handler: Kept = Box::new(handler);
            self.queue(tables, options, handler, completion, Work::run);
        } else {
            self.queue(tables, options, handler, completion, Work::run);
        }
    }

    /// As [`perform`](Self::perform), but if another process has committed since the handler's
    /// first read, or the backend ends the transaction because of another one, such as in a
    /// deadlock, the handler runs again. Before that run the transaction waits for the write
    /// access and takes it, which keeps other processes from committing. The transaction fails with
    /// [`ErrorKind::Busy`] only after the busy timeout.
    pub fn perform_retrying(
        &self,
        tables: impl IntoIterator<Item = Table>,
        options: PerformOptions,
        handler: impl FnMut(&Rc<Transaction>) -> Result<()> + Send + 'static,
        completion: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        if size_of_val(&handler) > MOVED_MAX_BYTES {
            type Kept = Box<dyn FnMut(&Rc<Transaction>) -> Result<()> + Send>;
            let handler: Kept = Box::new(handler);
            self.queue(tables, options, handler, completion, Work::run_retrying);
        } else {
            self.queue(tables, options, handler, completion, Work::run_retrying);
        }
    }

    /// Whether work that began at `began`, and that has failed with this error, runs again as in
    /// [`perform_retrying`](Self::perform_retrying); a run again is counted.
    #[must_use]
    pub fn runs_again(&self, error: &Error, began: Instant) -> bool {
        let again = is_overtaken(error) && began.elapsed() < self.inner.busy_timeout;
        if again {
            self.inner.telemetry.note_retry();
        }
        again
    }

    fn queue<H, C>(
        &self,
        tables: impl IntoIterator<Item = Table>,
        options: PerformOptions,
        handler: H,
        completion: C,
        run: fn(Work<H>, Completion),
    ) where
        H: Send + 'static,
        C: FnOnce(Result<()>) + Send + 'static,
    {
        let tables: Tables = tables.into_iter().collect();
        if let Err(error) = check_named(&tables) {
            completion(Err(error));
            return;
        }
        let work = Work {
            inner: Arc::clone(&self.inner),
            tables: tables.clone(),
            options,
            handler,
        };
        let queued = Queued {
            work: Some(work),
            run,
            completion,
        };
        let names = tables.iter().map(|table| table.name.as_ref());
        let mut job: Option<Box<dyn Job>> = Some(Box::new(queued));
        let done = self.while_open(format_args!("perform changes"), || {
            let Some(queued) = job.take() else {
                return Ok(None);
            };
            let queued = self.inner.scheduler.enqueue(names, queued);
            queued.map(Some).map_err(|refused| {
                job = Some(refused.job);
                refused.error.context("cannot perform changes")
            })
        });
        if let (Err(error), Some(job)) = (done, job) {
            job.refuse(error);
        }
    }

    /// Runs a transaction over these tables on this thread when its turn comes, and waits until it
    /// is committed and delivered. Other transactions may be delivered on this thread, too. `ended`
    /// is called as a completion is, unless the transaction can't be run.
    ///
    /// # Errors
    /// [`ErrorKind::WouldDeadlock`] inside a handler or a callback; [`ErrorKind::ShutDown`] after
    /// shutdown; otherwise the errors of the handler and of the commit.
    pub fn perform_here<R>(
        &self,
        tables: impl IntoIterator<Item = Table>,
        options: PerformOptions,
        handler: impl FnOnce(&Rc<Transaction>) -> Result<R>,
        ended: impl FnOnce(&Result<()>) + Send + 'static,
    ) -> Result<R> {
        let mut value = None;
        let handler = |transaction: &Rc<Transaction>| {
            value = Some(handler(transaction)?);
            Ok(())
        };
        self.wait_here(tables, ended, |tables, completion| {
            self.inner.run(tables.clone(), options, handler, completion);
        })?;
        value.ok_or_else(outcome_is_lost)
    }

    /// As [`perform_here`](Self::perform_here), but the handler runs again as in
    /// [`perform_retrying`](Self::perform_retrying).
    ///
    /// # Errors
    /// As [`perform_here`](Self::perform_here).
    pub fn perform_here_retrying<R>(
        &self,
        tables: impl IntoIterator<Item = Table>,
        options: PerformOptions,
        mut handler: impl FnMut(&Rc<Transaction>) -> Result<R>,
        ended: impl FnOnce(&Result<()>) + Send + 'static,
    ) -> Result<R> {
        let mut value = None;
        let handler = |transaction: &Rc<Transaction>| {
            value = Some(handler(transaction)?);
            Ok(())
        };
        self.wait_here(tables, ended, |tables, completion| {
            self.inner
                .run_retrying(tables, options, handler, completion);
        })?;
        value.ok_or_else(outcome_is_lost)
    }

    /// Calls `run` on this thread when the turn on these tables comes, and waits for the completion
    /// that `run` was given.
    fn wait_here(
        &self,
        tables: impl IntoIterator<Item = Table>,
        ended: impl FnOnce(&Result<()>) + Send + 'static,
        run: impl FnOnce(&Tables, Completion),
    ) -> Result<()> {
        callback::forbid_blocking("perform changes and wait for them")?;
        self.refuse_work(format_args!("perform changes"))?;
        let tables: Tables = tables.into_iter().collect();
        check_named(&tables)?;
        let (sender, receiver) = mpsc::channel();
        let completion = move |outcome| {
            ended(&outcome);
            // The receiver waits below.
            let _ = sender.send(outcome);
        };
        let job = || run(&tables, Box::new(completion));
        let names = tables.iter().map(|table| table.name.as_ref());
        let ran = self.inner.scheduler.run_here(names, job);
        ran.map_err(|error| error.context("cannot perform changes"))?;
        receiver.recv().map_err(|_| outcome_is_lost())?
    }
}

impl Inner {
    /// Runs a transaction that has its turn. It is acknowledged when its commit group is committed.
    fn run(
        &self,
        tables: Tables,
        options: PerformOptions,
        handler: impl FnOnce(&Rc<Transaction>) -> Result<()>,
        completion: Completion,
    ) {
        let transaction = self.transaction(tables);
        let started = start(&transaction, options.write_first);
        let handled = started.and_then(|()| handle(&transaction, handler));
        transaction.finish(handled, completion);
    }

    /// As `run`, but as long as another process has committed since the first read, runs the
    /// handler again.
    fn run_retrying(
        &self,
        tables: &Tables,
        options: PerformOptions,
        mut handler: impl FnMut(&Rc<Transaction>) -> Result<()>,
        completion: Completion,
    ) {
        let began = Instant::now();
        let mut write_first = options.write_first;
        loop {
            let transaction = self.transaction(tables.clone());
            let started = start(&transaction, write_first);
            let handled = started.and_then(|()| handle(&transaction, &mut handler));
            let is_late = write_first && began.elapsed() >= self.busy_timeout;
            if is_late || !transaction.is_overtaken() {
                release(handler);
                transaction.finish(handled, completion);
                return;
            }
            transaction.retire();
            self.telemetry.note_retry();
            // With the write access, the next run can't be overtaken.
            write_first = true;
        }
    }

    fn transaction(&self, tables: Tables) -> Rc<Transaction> {
        (self.entrance)();
        Rc::new(Transaction::new(self.groups.clone(), tables))
    }
}

/// Takes write access for a transaction whose handler has not run yet, if it asks for that.
fn start(transaction: &Transaction, write_first: bool) -> Result<()> {
    if write_first {
        transaction.write_first()?;
    }
    Ok(())
}

fn outcome_is_lost() -> Error {
    Error::new(ErrorKind::Backend, "the outcome of the changes is lost")
}

fn handle(
    transaction: &Rc<Transaction>,
    handler: impl FnOnce(&Rc<Transaction>) -> Result<()>,
) -> Result<()> {
    let span = transaction.span();
    let _in = span.enter();
    let handled = callback::run("a transaction's handler", || {
        transaction.enter(|transaction| handler(transaction))
    });
    handled.and_then(|outcome| outcome)
}

/// Drops a handler that was not consumed. The handler may hold the last workspace, and dropping
/// that would wait for this very thread.
fn release<H>(handler: H) {
    let _ = callback::run("the end of a transaction's handler", || drop(handler));
}

fn check_named(tables: &[Table]) -> Result<()> {
    if tables.is_empty() {
        let message = "cannot perform changes: no type is named";
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    Ok(())
}
