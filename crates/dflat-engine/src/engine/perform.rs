//! Performing changes: on a thread of the engine, or on the caller's.

use std::rc::Rc;
use std::sync::mpsc;

use dflat_model::Table;

use super::{Engine, Inner};
use crate::callback;
use crate::change_set::{Complete, Completion};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;
use crate::transaction::{Job, Tables, Transaction};

/// Limit of the runs of a handler.
const ATTEMPTS_MAX: usize = 5;

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
        self.inner.run(self.tables, self.handler, completion);
    }
}

impl<H: FnMut(&Rc<Transaction>) -> Result<()>> Work<H> {
    fn run_retrying(self, completion: Completion) {
        self.inner
            .run_retrying(self.tables, self.handler, completion);
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
        handler: impl FnOnce(&Rc<Transaction>) -> Result<()> + Send + 'static,
        completion: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        if size_of_val(&handler) > MOVED_MAX_BYTES {
            type Kept = Box<dyn FnOnce(&Rc<Transaction>) -> Result<()> + Send>;
            let handler: Kept = Box::new(handler);
            self.queue(tables, handler, completion, Work::run);
        } else {
            self.queue(tables, handler, completion, Work::run);
        }
    }

    /// As [`perform`](Self::perform), with a handler that is run again if another process has
    /// committed since its first read. The last of its `ATTEMPTS_MAX` runs keeps other processes
    /// from committing.
    pub fn perform_retrying(
        &self,
        tables: impl IntoIterator<Item = Table>,
        handler: impl FnMut(&Rc<Transaction>) -> Result<()> + Send + 'static,
        completion: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        if size_of_val(&handler) > MOVED_MAX_BYTES {
            type Kept = Box<dyn FnMut(&Rc<Transaction>) -> Result<()> + Send>;
            let handler: Kept = Box::new(handler);
            self.queue(tables, handler, completion, Work::run_retrying);
        } else {
            self.queue(tables, handler, completion, Work::run_retrying);
        }
    }

    fn queue<H, C>(
        &self,
        tables: impl IntoIterator<Item = Table>,
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
                return Ok(());
            };
            let queued = self.inner.scheduler.enqueue(names, queued);
            queued.map_err(|refused| {
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
    /// shutdown; otherwise those of the handler and of committing.
    pub fn perform_here<R>(
        &self,
        tables: impl IntoIterator<Item = Table>,
        handler: impl FnOnce(&Rc<Transaction>) -> Result<R>,
        ended: impl FnOnce(&Result<()>) + Send + 'static,
    ) -> Result<R> {
        callback::forbid_blocking("perform changes and wait for them")?;
        self.refuse_if_closed(format_args!("perform changes"))?;
        let tables: Tables = tables.into_iter().collect();
        check_named(&tables)?;
        let (tell, told) = mpsc::channel();
        let completion = move |outcome| {
            ended(&outcome);
            // The receiver waits below.
            let _ = tell.send(outcome);
        };
        let mut value = None;
        let named = tables.clone();
        let job = || {
            let handler = |transaction: &Rc<Transaction>| {
                value = Some(handler(transaction)?);
                Ok(())
            };
            self.inner.run(tables, handler, Box::new(completion));
        };
        let names = named.iter().map(|table| table.name.as_ref());
        let ran = self.inner.scheduler.run_here(names, job);
        ran.map_err(|error| error.context("cannot perform changes"))?;
        let lost = |_| Error::new(ErrorKind::Backend, "the outcome of the changes is lost");
        told.recv().map_err(lost)??;
        value.ok_or_else(|| lost(mpsc::RecvError))
    }
}

impl Inner {
    /// Runs a transaction that has its turn. It is acknowledged when its commit group is committed.
    fn run(
        &self,
        tables: Tables,
        handler: impl FnOnce(&Rc<Transaction>) -> Result<()>,
        completion: Completion,
    ) {
        let transaction = self.transaction(tables);
        let handled = handle(&transaction, handler);
        transaction.finish(handled, completion);
    }

    /// As `run`, but runs the handler again while another process has committed since the first
    /// read.
    fn run_retrying(
        &self,
        tables: Tables,
        mut handler: impl FnMut(&Rc<Transaction>) -> Result<()>,
        completion: Completion,
    ) {
        for _ in 1..ATTEMPTS_MAX {
            let transaction = self.transaction(tables.clone());
            let handled = handle(&transaction, &mut handler);
            if !transaction.is_overtaken() {
                release(handler);
                transaction.finish(handled, completion);
                return;
            }
            transaction.retire();
            self.telemetry.note_retry();
        }
        let transaction = self.transaction(tables);
        let started = transaction.write_first();
        let handled = started.and_then(|()| handle(&transaction, &mut handler));
        release(handler);
        transaction.finish(handled, completion);
    }

    fn transaction(&self, tables: Tables) -> Rc<Transaction> {
        (self.entrance)();
        Rc::new(Transaction::new(self.groups.clone(), tables))
    }
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
