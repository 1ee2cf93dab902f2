//! The handle on a transaction that was queued.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use dflat_engine::callback;
use dflat_engine::dictionary::HeldKeys;

use super::own_error;
use crate::{Error, ErrorKind, Result};

/// A transaction that was queued: await it, [`wait`](Self::wait) for it, give it a
/// [completion](Self::on_completion), or [`detach`](Self::detach) from it.
///
/// Dropping a handle does not cancel its transaction. A handle that is neither used nor detached
/// gives a warning, because the error of its transaction is lost.
///
/// `E` is the type of the error: that of the library, or one of the caller's own, given by
/// [`with_error`](crate::Workspace::with_error).
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
/// # }
/// use dflat::Workspace;
/// use futures::executor::block_on;
/// use post::{Post, PostChangeRequest, PostData};
/// # fn main() -> dflat::Result<()> {
/// let workspace = Workspace::in_memory();
/// let store = |title: &str| {
///     let data = PostData { title: title.into(), ..PostData::default() };
///     workspace.perform_changes([Post::TABLE], move |tx| {
///         tx.submit(PostChangeRequest::creation(data))
///     })
/// };
/// store("a").wait()?;
/// block_on(store("b"))?; // In asynchronous code: store("b").await?
/// store("c").on_completion(|outcome| {
///     if let Err(error) = outcome {
///         eprintln!("{error}");
///     }
/// });
/// workspace.settle()?; // Waits for the third one, too.
/// assert_eq!(workspace.fetch::<Post>().count()?, 3);
/// # Ok(())
/// # }
/// ```
#[must_use = "a transaction's error is lost unless its handle is awaited, waited for or detached"]
pub struct TransactionHandle<R, E = Error> {
    shared: Arc<Shared>,
    /// Gives the outcome the types of the caller.
    read: fn(Ended) -> Result<R, E>,
}

/// The state that a transaction shares with its handle, in one allocation. It does not depend on
/// the types of the caller: a program has one copy of the code that works with it.
pub(crate) struct Shared {
    state: Mutex<State>,
    done: Condvar,
    holds: HeldKeys,
    /// The value or the error of its own type that the handler has returned, until the outcome is
    /// taken.
    returned: Mutex<Option<Boxed>>,
}

enum State {
    Running(Waiter),
    /// A completion takes the outcome.
    Awaited(Box<dyn FnOnce(Ended) + Send>),
    Done(Result<()>),
    Taken,
}

/// The waiter to wake when a transaction has ended.
enum Waiter {
    Nobody,
    Thread,
    Task(Waker),
}

/// A value or an error whose type the handle knows.
type Boxed = Box<dyn Any + Send>;

/// The result of a handler.
pub(crate) struct Returned {
    /// The outcome for the engine.
    outcome: Result<()>,
    /// The value; or the error, if it is not the library's.
    boxed: Option<Boxed>,
}

impl Returned {
    pub(crate) fn new<R: Send + 'static, E: Send + 'static>(returned: Result<R, E>) -> Self {
        match returned {
            Ok(value) => Self {
                outcome: Ok(()),
                boxed: Some(Box::new(value)),
            },
            Err(error) => Self::failed(error),
        }
    }

    fn failed<E: Send + 'static>(error: E) -> Self {
        let (error, kept) = own_error::split(error);
        Self {
            outcome: Err(error),
            boxed: kept.map(|error| Box::new(error) as _),
        }
    }
}

/// The end of a transaction: its outcome, and the value or the error that its handler returned.
struct Ended {
    outcome: Result<()>,
    returned: Option<Boxed>,
}

impl Ended {
    /// The outcome in the types of the caller. No lock is held: the conversion of an error is the
    /// caller's code.
    fn into_result<R: 'static, E: From<Error> + 'static>(self) -> Result<R, E> {
        let (error, own) = match self.split() {
            Ok(value) => match value.downcast() {
                Ok(value) => return Ok(*value),
                Err(_) => (no_value(), None),
            },
            Err(failed) => failed,
        };
        Err(failure(error, own))
    }

    /// The value, or the error of the library and the handler's own.
    fn split(self) -> Result<Boxed, (Error, Option<Boxed>)> {
        match (self.outcome, self.returned) {
            (Ok(()), Some(value)) => Ok(value),
            (Ok(()), None) => Err((no_value(), None)),
            (Err(error), own) => Err((error, own)),
        }
    }
}

impl AsRef<HeldKeys> for Shared {
    fn as_ref(&self) -> &HeldKeys {
        &self.holds
    }
}

impl Shared {
    /// The state of a transaction that is yet to run.
    pub(crate) fn new() -> Arc<Self> {
        Self::returning(None)
    }

    /// The state of work whose value is known already.
    pub(crate) fn with_value<R: Send + 'static>(value: R) -> Arc<Self> {
        Self::returning(Some(Box::new(value)))
    }

    fn returning(value: Option<Boxed>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::Running(Waiter::Nobody)),
            done: Condvar::new(),
            holds: HeldKeys::default(),
            returned: Mutex::new(value),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn returned(&self) -> MutexGuard<'_, Option<Boxed>> {
        // No user code runs under the lock.
        self.returned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what the handler has returned.
    ///
    /// # Errors
    /// An error for the engine, if the handler has returned an error.
    pub(crate) fn give(&self, returned: Returned) -> Result<()> {
        // The return value of an earlier run is dropped after the lock is released.
        let _before = std::mem::replace(&mut *self.returned(), returned.boxed);
        returned.outcome
    }

    /// Gives the outcome of the transaction to the waiter or the completion.
    pub(crate) fn complete(&self, outcome: Result<()>) {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Awaited(completion) => {
                drop(state);
                completion(self.end(outcome));
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

    fn end(&self, outcome: Result<()>) -> Ended {
        let returned = self.returned().take();
        Ended { outcome, returned }
    }

    /// Waits for the outcome and takes it.
    fn wait(&self) -> Ended {
        let outcome = self.wait_for_outcome();
        self.end(outcome)
    }

    fn wait_for_outcome(&self) -> Result<()> {
        let mut state = self.lock();
        if !matches!(*state, State::Done(_)) {
            callback::forbid_blocking("wait for a transaction")?;
        }
        if let State::Running(waiter) = &mut *state {
            *waiter = Waiter::Thread;
        }
        let running = |state: &mut State| matches!(state, State::Running(_));
        let ended = self.done.wait_while(state, running);
        take(&mut ended.unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the outcome if the transaction has ended.
    fn poll(&self, context: &Context<'_>) -> Poll<Ended> {
        let outcome = self.poll_outcome(context);
        outcome.map(|outcome| self.end(outcome))
    }

    fn poll_outcome(&self, context: &Context<'_>) -> Poll<Result<()>> {
        let mut state = self.lock();
        let State::Running(waiter) = &mut *state else {
            return Poll::Ready(take(&mut state));
        };
        if let Err(error) = callback::forbid_blocking("await a transaction") {
            return Poll::Ready(Err(error));
        }
        match waiter {
            Waiter::Task(waker) => waker.clone_from(context.waker()),
            Waiter::Nobody | Waiter::Thread => *waiter = Waiter::Task(context.waker().clone()),
        }
        Poll::Pending
    }

    /// Calls `completion` with the outcome, now or when the transaction ends.
    fn on_completion(&self, completion: Box<dyn FnOnce(Ended) + Send>) {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Done(outcome) => {
                drop(state);
                completion(self.end(outcome));
            }
            _ => *state = State::Awaited(completion),
        }
    }
}

/// The error of a transaction in the type of the caller.
fn failure<E: From<Error> + 'static>(error: Error, returned: Option<Boxed>) -> E {
    let own = returned.and_then(|own| own.downcast().ok());
    own_error::join(error, own.map(|own| *own))
}

fn no_value() -> Error {
    let message = "cannot give the handler's value: it did not run";
    Error::new(ErrorKind::Backend, message)
}

impl<R: 'static, E: From<Error> + 'static> TransactionHandle<R, E> {
    /// The handle on a transaction whose handler returns an `R` or an `E`.
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let read = Ended::into_result;
        Self { shared, read }
    }
}

impl<R, E: From<Error>> TransactionHandle<R, E> {
    /// Waits for the transaction and returns the value of its handler. When this returns, the
    /// commit is done, and the callbacks of the subscriptions that the commit concerns have
    /// returned.
    ///
    /// # Errors
    /// Errors of the library are converted to `E`.
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
    /// - [`InDoubt`](crate::ErrorKind::InDoubt), on a server only, if it is not known whether the
    ///   commit was made.
    /// - The error that lost the transaction, or the error of its commit: none of its changes is
    ///   kept then.
    pub fn wait(self) -> Result<R, E> {
        (self.read)(self.shared.wait())
    }

    /// Lets the transaction run, and drops its outcome.
    pub fn detach(self) {}
}

impl<R: Send + 'static, E: From<Error> + Send + 'static> TransactionHandle<R, E> {
    /// Calls `completion` with the outcome: on a thread of the workspace, after the transaction's
    /// callbacks and before the callbacks of the next transaction on its types; or on this thread,
    /// before this returns, if the transaction has ended already. `completion` must not block on
    /// another transaction.
    ///
    /// Completions and callbacks are called one after the other. While a completion runs, other
    /// transactions are committed, but their completions wait for it, however long it takes. While
    /// more than 65,536 changed rows wait for their delivery, each transaction is held at its end,
    /// at most a second for each 65,536 rows. Long work belongs on a thread of its own.
    pub fn on_completion(self, completion: impl FnOnce(Result<R, E>) + Send + 'static) {
        let read = self.read;
        let completion = Box::new(move |ended| completion(read(ended)));
        self.shared.on_completion(completion);
    }
}

impl<R, E: From<Error>> Future for TransactionHandle<R, E> {
    type Output = Result<R, E>;

    /// Ready when the transaction has ended. Inside a handler or a callback it is ready at once,
    /// with [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock), unless the transaction has ended.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R, E>> {
        self.shared.poll(context).map(self.read)
    }
}

/// Takes the outcome of a transaction that has ended.
fn take(state: &mut State) -> Result<()> {
    match std::mem::replace(state, State::Taken) {
        State::Done(outcome) => outcome,
        _ => {
            let message = "cannot take a transaction's outcome twice";
            Err(Error::new(ErrorKind::InvalidArgument, message))
        }
    }
}

impl<R, E> fmt::Debug for TransactionHandle<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match *self.shared.lock() {
            State::Running(_) | State::Awaited(_) => "running",
            State::Done(_) | State::Taken => "done",
        };
        write!(f, "TransactionHandle({state})")
    }
}
