//! Performing changes: on a thread of the engine, or on the caller's.

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use dflat_model::Table;

use super::{Completion, Engine};
use crate::callback;
use crate::error::{Error, ErrorKind, Result};
use crate::transaction::Transaction;

/// What a transaction does; on a thread of the engine.
pub type Handler = Box<dyn FnOnce(&Rc<Transaction>) -> Result<()> + Send>;

/// The same, for one that can be run again.
pub type RetryingHandler = Box<dyn FnMut(&Rc<Transaction>) -> Result<()> + Send>;

/// How often a handler is run at most.
const ATTEMPTS_MAX: usize = 5;

impl Engine {
    /// Queues a transaction over these tables and returns at once. `completion` is called exactly
    /// once: on the committing thread when all is done, callbacks included; or on this thread,
    /// before this returns, if the transaction can't be queued.
    pub fn perform(&self, tables: Vec<Table>, handler: Handler, completion: Completion) {
        self.queue(tables, completion, |engine, tables, completion| {
            engine.run(tables, handler, completion);
        });
    }

    /// The same with a handler that is run again if another process has committed since its first
    /// read. The last of its `ATTEMPTS_MAX` runs keeps other processes from committing.
    pub fn perform_retrying(
        &self,
        tables: Vec<Table>,
        handler: RetryingHandler,
        completion: Completion,
    ) {
        self.queue(tables, completion, |engine, tables, completion| {
            engine.run_retrying(&tables, handler, completion);
        });
    }

    fn queue(
        &self,
        tables: Vec<Table>,
        completion: Completion,
        run: impl FnOnce(&Self, Vec<Table>, Completion) + Send + 'static,
    ) {
        if let Err(error) = check_named(&tables) {
            completion(Err(error));
            return;
        }
        // Shared with the job, so that it can be called here if the job is refused.
        let completion = Arc::new(Mutex::new(Some(completion)));
        let complete = Arc::clone(&completion);
        let engine = self.clone();
        let names = tables.clone();
        let job = Box::new(move || {
            let taken = complete
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(completion) = taken {
                run(&engine, tables, completion);
            }
        });
        let names = names.iter().map(|table| table.name.as_ref());
        let queued = self.while_open(format_args!("perform changes"), || {
            let queued = self.inner.scheduler.enqueue(names, job);
            queued.map_err(|error| error.context("cannot perform changes"))
        });
        if let Err(error) = queued {
            let taken = completion
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(completion) = taken {
                completion(Err(error));
            }
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
        tables: Vec<Table>,
        handler: impl FnOnce(&Rc<Transaction>) -> Result<R>,
        ended: impl FnOnce(&Result<()>) + Send + 'static,
    ) -> Result<R> {
        callback::forbid_blocking("perform changes and wait for them")?;
        self.refuse_if_closed(format_args!("perform changes"))?;
        check_named(&tables)?;
        let (tell, told) = mpsc::channel();
        let completion = Box::new(move |outcome| {
            ended(&outcome);
            // The receiver waits below.
            let _ = tell.send(outcome);
        });
        let mut value = None;
        let names = tables.clone();
        let job = || {
            let handler = |transaction: &Rc<Transaction>| {
                value = Some(handler(transaction)?);
                Ok(())
            };
            self.run(tables, handler, completion);
        };
        let names = names.iter().map(|table| table.name.as_ref());
        let ran = self.inner.scheduler.run_here(names, job);
        ran.map_err(|error| error.context("cannot perform changes"))?;
        let lost = |_| Error::new(ErrorKind::Backend, "the outcome of the changes is lost");
        told.recv().map_err(lost)??;
        value.ok_or_else(|| lost(mpsc::RecvError))
    }

    /// Runs a transaction that has its turn. It is acknowledged when its group is committed.
    fn run(
        &self,
        tables: Vec<Table>,
        handler: impl FnOnce(&Rc<Transaction>) -> Result<()>,
        completion: Completion,
    ) {
        let transaction = self.transaction(tables);
        let handled = handle(&transaction, handler);
        transaction.finish(handled, completion);
    }

    /// The same, again while another process has committed since the first read.
    fn run_retrying(&self, tables: &[Table], mut handler: RetryingHandler, completion: Completion) {
        for _ in 1..ATTEMPTS_MAX {
            let transaction = self.transaction(tables.to_vec());
            let handled = handle(&transaction, &mut handler);
            if !transaction.is_overtaken() {
                transaction.finish(handled, completion);
                return;
            }
            transaction.retire();
            self.inner.telemetry.note_retry();
        }
        let transaction = self.transaction(tables.to_vec());
        let started = transaction.write_first();
        let handled = started.and_then(|()| handle(&transaction, handler));
        transaction.finish(handled, completion);
    }

    fn transaction(&self, tables: Vec<Table>) -> Rc<Transaction> {
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

fn check_named(tables: &[Table]) -> Result<()> {
    if tables.is_empty() {
        let message = "cannot perform changes: no type is named";
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    Ok(())
}
