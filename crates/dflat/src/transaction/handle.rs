//! The handle on a transaction that was queued.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use dflat_engine::callback;
use dflat_engine::dictionary::HeldKeys;

use crate::Result;

/// A transaction that was queued: await it, [`wait`](Self::wait) for it, give it a
/// [completion](Self::on_completion), or [`detach`](Self::detach) from it.
///
/// Dropping a handle does not cancel its transaction. A handle that is neither used nor detached
/// gives a warning, because the error of its transaction is lost.
#[must_use = "a transaction's error is lost unless its handle is awaited, waited for or detached"]
pub struct TransactionHandle<R> {
    shared: Arc<Shared<R>>,
}

/// The state that a transaction shares with its handle, in one allocation.
pub(crate) struct Shared<R> {
    state: Mutex<State<R>>,
    done: Condvar,
    /// The value that the handler has returned, until the transaction ends.
    value: Mutex<Option<R>>,
    holds: HeldKeys,
}

type Completion<R> = Box<dyn FnOnce(Result<R>) + Send>;

enum State<R> {
    Running(Waiter),
    /// A completion takes the outcome.
    Awaited(Completion<R>),
    Done(Result<R>),
    Taken,
}

/// The waiter to wake when a transaction has ended.
enum Waiter {
    Nobody,
    Thread,
    Task(Waker),
}

impl<R> AsRef<HeldKeys> for Shared<R> {
    fn as_ref(&self) -> &HeldKeys {
        &self.holds
    }
}

/// A handle, and the state that its transaction shares with it.
pub(crate) fn channel<R>() -> (Arc<Shared<R>>, TransactionHandle<R>) {
    let state = Mutex::new(State::Running(Waiter::Nobody));
    let shared = Arc::new(Shared {
        state,
        done: Condvar::new(),
        value: Mutex::new(None),
        holds: HeldKeys::default(),
    });
    let handle = TransactionHandle {
        shared: Arc::clone(&shared),
    };
    (shared, handle)
}

impl<R> Shared<R> {
    fn lock(&self) -> MutexGuard<'_, State<R>> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the value that the handler has returned.
    pub(crate) fn give(&self, value: R) {
        // The value of an earlier run is dropped after the lock is released.
        let _before = self.value().replace(value);
    }

    fn value(&self) -> MutexGuard<'_, Option<R>> {
        // No user code runs under the lock.
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the handler's value, or the error of the transaction, to the waiter or the completion.
    pub(crate) fn complete(&self, outcome: Result<()>) {
        let value = self.value().take();
        let outcome = outcome.and_then(|()| value.ok_or_else(no_value));
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Awaited(completion) => {
                drop(state);
                completion(outcome);
            }
            State::Running(waiter) => {
                *state = State::Done(outcome);
                drop(state);
                match waiter {
                    // Notifying costs a system call even without a waiter.
                    Waiter::Nobody => {}
                    Waiter::Thread => self.done.notify_all(),
                    Waiter::Task(waker) => waker.wake(),
                }
            }
            State::Done(_) | State::Taken => {}
        }
    }
}

fn no_value() -> crate::Error {
    let message = "cannot give the handler's value: it did not run";
    crate::Error::new(crate::ErrorKind::Backend, message)
}

impl<R> TransactionHandle<R> {
    /// Waits for the transaction and returns the value of its handler. When this returns, the
    /// commit is done, and the callbacks of the subscriptions that the commit concerns have
    /// returned.
    ///
    /// # Errors
    /// - The handler's own error.
    /// - [`Aborted`](crate::ErrorKind::Aborted) if the handler aborted.
    /// - [`Panicked`](crate::ErrorKind::Panicked) if it panicked.
    /// - [`ShutDown`](crate::ErrorKind::ShutDown) if the workspace was shut down before the call.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback, because
    ///   the transaction may be waiting for that handler. The transaction runs all the same.
    /// - [`Busy`](crate::ErrorKind::Busy) if another process kept the file locked for the busy
    ///   timeout, or committed between the first read of the handler and its first change. The
    ///   second does not happen with a form that retries, such as
    ///   [`perform_changes_retrying`](crate::Workspace::perform_changes_retrying), or with
    ///   [`write_first`](crate::Workspace::write_first).
    /// - The error that lost the transaction, or the error of its commit: none of its changes is
    ///   kept then.
    pub fn wait(self) -> Result<R> {
        let mut state = self.shared.lock();
        if !matches!(*state, State::Done(_)) {
            callback::forbid_blocking("wait for a transaction")?;
        }
        if let State::Running(waiter) = &mut *state {
            *waiter = Waiter::Thread;
        }
        let running = |state: &mut State<R>| matches!(state, State::Running(_));
        state = self
            .shared
            .done
            .wait_while(state, running)
            .unwrap_or_else(PoisonError::into_inner);
        take(&mut state)
    }

    /// Calls `completion` with the outcome: on a thread of the workspace, after the transaction's
    /// callbacks and before the callbacks of the next transaction on its types; or on this thread,
    /// before this returns, if the transaction has ended already. `completion` must not block on
    /// another transaction.
    ///
    /// Completions and callbacks are called one after the other. While a completion runs, other
    /// transactions are committed, but their completions wait for it, however long it takes. While
    /// more than 65,536 changed rows wait for their delivery, each transaction is held at its end,
    /// at most a second for each 65,536 rows. Long work belongs on a thread of its own.
    pub fn on_completion(self, completion: impl FnOnce(Result<R>) + Send + 'static) {
        let mut state = self.shared.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Done(outcome) => {
                drop(state);
                completion(outcome);
            }
            _ => *state = State::Awaited(Box::new(completion)),
        }
    }

    /// Lets the transaction run, and drops its outcome.
    pub fn detach(self) {}
}

impl<R> Future for TransactionHandle<R> {
    type Output = Result<R>;

    /// Ready when the transaction has ended. Inside a handler or a callback it is ready at once,
    /// with [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock), unless the transaction has ended.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R>> {
        let mut state = self.shared.lock();
        if let State::Running(waiter) = &mut *state {
            if let Err(error) = callback::forbid_blocking("await a transaction") {
                return Poll::Ready(Err(error));
            }
            match waiter {
                Waiter::Task(waker) => waker.clone_from(context.waker()),
                Waiter::Nobody | Waiter::Thread => {
                    *waiter = Waiter::Task(context.waker().clone());
                }
            }
            return Poll::Pending;
        }
        Poll::Ready(take(&mut state))
    }
}

/// Takes the outcome of a transaction that has ended.
fn take<R>(state: &mut State<R>) -> Result<R> {
    match std::mem::replace(state, State::Taken) {
        State::Done(outcome) => outcome,
        _ => {
            let message = "cannot take a transaction's outcome twice";
            Err(crate::Error::new(
                crate::ErrorKind::InvalidArgument,
                message,
            ))
        }
    }
}

impl<R> fmt::Debug for TransactionHandle<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match *self.shared.lock() {
            State::Running(_) | State::Awaited(_) => "running",
            State::Done(_) | State::Taken => "done",
        };
        write!(f, "TransactionHandle({state})")
    }
}
