//! Performing changes: on a thread of the engine, or on the caller's.

use std::rc::Rc;
use std::sync::mpsc;

use dflat_model::Table;

use super::Engine;
use crate::callback;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;
use crate::transaction::{Job, Transaction};

/// How often a handler is run at most.
const ATTEMPTS_MAX: usize = 5;

/// The most bytes of a handler that go along when its transaction is handed on. What is larger
/// stays where it is: a thread of the scheduler has no room for many copies of it.
const MOVED_MAX_BYTES: usize = 1024;

/// A transaction that waits for its turn: one piece of memory, which goes from thread to thread.
struct Queued<H, C> {
    engine: Engine,
    tables: Arc<[Table]>,
    handler: H,
    completion: C,
    run: fn(&Engine, Arc<[Table]>, H, C),
}

impl<H: Send, C: FnOnce(Result<()>) + Send> Job for Queued<H, C> {
    fn run(self: Box<Self>) {
        let Self {
            engine,
            tables,
            handler,
            completion,
            run,
        } = *self;
        run(&engine, tables, handler, completion);
    }

    fn refuse(self: Box<Self>, error: Error) {
        (self.completion)(Err(error));
    }
}

impl Engine {
    /// Queues a transaction over these tables and returns at once; `handler` is run on a thread of
    /// the engine. `completion` is called exactly once: on the committing thread when all is done,
    /// callbacks included; or on this thread, before this returns, if the transaction can't be
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
            self.queue(tables, handler, completion, Self::run);
        } else {
            self.queue(tables, handler, completion, Self::run);
        }
    }

    /// The same with a handler that is run again if another process has committed since its first
    /// read. The last of its `ATTEMPTS_MAX` runs keeps other processes from committing.
    pub fn perform_retrying(
        &self,
        tables: impl IntoIterator<Item = Table>,
        handler: impl FnMut(&Rc<Transaction>) -> Result<()> + Send + 'static,
        completion: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        if size_of_val(&handler) > MOVED_MAX_BYTES {
            type Kept = Box<dyn FnMut(&Rc<Transaction>) -> Result<()> + Send>;
            let handler: Kept = Box::new(handler);
            self.queue(tables, handler, completion, Self::run_retrying);
        } else {
            self.queue(tables, handler, completion, Self::run_retrying);
        }
    }

    fn queue<H, C>(
        &self,
        tables: impl IntoIterator<Item = Table>,
        handler: H,
        completion: C,
        run: fn(&Self, Arc<[Table]>, H, C),
    ) where
        H: Send + 'static,
        C: FnOnce(Result<()>) + Send + 'static,
    {
        let tables: Arc<[Table]> = tables.into_iter().collect();
        if let Err(error) = check_named(&tables) {
            completion(Err(error));
            return;
        }
        let queued = Queued {
            engine: self.clone(),
            tables: Arc::clone(&tables),
            handler,
            completion,
            run,
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
    /// shutdown; else those of the handler and of committing.
    pub fn perform_here<R>(
        &self,
        tables: impl IntoIterator<Item = Table>,
        handler: impl FnOnce(&Rc<Transaction>) -> Result<R>,
        ended: impl FnOnce(&Result<()>) + Send + 'static,
    ) -> Result<R> {
        callback::forbid_blocking("perform changes and wait for them")?;
        self.refuse_if_closed(format_args!("perform changes"))?;
        let tables: Arc<[Table]> = tables.into_iter().collect();
        check_named(&tables)?;
        let (tell, told) = mpsc::channel();
        let completion = move |outcome| {
            ended(&outcome);
            // The receiver waits below.
            let _ = tell.send(outcome);
        };
        let mut value = None;
        let named = Arc::clone(&tables);
        let job = || {
            let handler = |transaction: &Rc<Transaction>| {
                value = Some(handler(transaction)?);
                Ok(())
            };
            self.run(tables, handler, completion);
        };
        let names = named.iter().map(|table| table.name.as_ref());
        let ran = self.inner.scheduler.run_here(names, job);
        ran.map_err(|error| error.context("cannot perform changes"))?;
        let lost = |_| Error::new(ErrorKind::Backend, "the outcome of the changes is lost");
        told.recv().map_err(lost)??;
        value.ok_or_else(|| lost(mpsc::RecvError))
    }

    /// Runs a transaction that has its turn. It is acknowledged when its group is committed.
    fn run(
        &self,
        tables: Arc<[Table]>,
        handler: impl FnOnce(&Rc<Transaction>) -> Result<()>,
        completion: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        let transaction = self.transaction(tables);
        let handled = handle(&transaction, handler);
        transaction.finish(handled, Box::new(completion));
    }

    /// The same, again while another process has committed since the first read.
    fn run_retrying(
        &self,
        tables: Arc<[Table]>,
        mut handler: impl FnMut(&Rc<Transaction>) -> Result<()>,
        completion: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        for _ in 1..ATTEMPTS_MAX {
            let transaction = self.transaction(Arc::clone(&tables));
            let handled = handle(&transaction, &mut handler);
            if !transaction.is_overtaken() {
                release(handler);
                transaction.finish(handled, Box::new(completion));
                return;
            }
            transaction.retire();
            self.inner.telemetry.note_retry();
        }
        let transaction = self.transaction(tables);
        let started = transaction.write_first();
        let handled = started.and_then(|()| handle(&transaction, &mut handler));
        release(handler);
        transaction.finish(handled, Box::new(completion));
    }

    fn transaction(&self, tables: Arc<[Table]>) -> Rc<Transaction> {
        self.inner.groups.backend().wait_while_suspended();
        Rc::new(Transaction::new(self.inner.groups.clone(), tables))
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

/// Drops a handler that was not consumed: what it holds may be the last workspace, whose end would
/// wait for this very thread.
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
