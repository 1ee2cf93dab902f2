//! Blocking calls as futures.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use dflat_engine::callback;
use dflat_engine::engine::{Length, Place};
use dflat_engine::fetch::Cancellation;
use dflat_workspace::{OwnedSource, Source};

use crate::{Error, ErrorKind, Result, Table};

/// A blocking call as a future, made by the methods whose names end in `_async`. It needs no
/// runtime, and works on each of them.
///
/// - The call begins when the future is polled for the first time. It is made on a thread of the
///   library, so no poll blocks.
/// - The outcome and the errors are those of the blocking form. After
///   [shutdown](crate::Workspace::shutdown), the outcome is
///   [`ShutDown`](ErrorKind::ShutDown). [`Io`](ErrorKind::Io) means that no thread could be
///   started.
/// - If the future is dropped, a call that still waits for a thread is not made. A read, a backup
///   and a check that have begun end early, and leave nothing behind; other calls go on to their
///   end, and their outcome is lost.
/// - The future does not keep its [`Workspace`](crate::Workspace) open, but for
///   [`run_async`](crate::Workspace::run_async), a backup, a check and a shutdown.
///
/// Each open file, and each workspace in memory, has threads for these calls: as many for reads as
/// the machine has processors, or as a workspace on a server has connections that read, but at
/// least 4 and at most 64; and 4 for longer calls. Calls beyond that wait, in the order of their
/// first polls. A thread without work ends after five seconds.
///
/// `docs/async.md` is the guide.
#[must_use = "the call is not made unless the future is awaited"]
pub struct AsyncCall<R> {
    stage: Stage<R>,
    /// Cancelled when the future is dropped before the call has ended.
    abandonment: Cancellation,
}

enum Stage<R> {
    Prepared(Start<R>),
    Begun {
        shared: Arc<Mutex<State<R>>>,
        place: Option<Place>,
    },
    /// The outcome was taken.
    Ended,
}

/// Begins the call. Returns its place if the call waits for a thread.
type Start<R> = Box<dyn FnOnce(Promise<R>) -> Option<Place> + Send>;

/// The state that a call shares with its future.
enum State<R> {
    Waiting(Option<Waker>),
    Done(Result<R>),
    /// The outcome was taken, or nothing waits for it any more.
    Over,
}

/// Gives the outcome of a call to its future. If it is dropped first, the call was not made.
pub(crate) struct Promise<R> {
    shared: Arc<Mutex<State<R>>>,
}

fn lock<R>(shared: &Mutex<State<R>>) -> MutexGuard<'_, State<R>> {
    // The state is replaced as a whole, so that a panic of a waker cannot leave it half changed.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R> Promise<R> {
    /// Gives the outcome, and wakes the task that waits. Later calls do nothing.
    pub(crate) fn keep(&self, outcome: Result<R>) {
        let mut state = lock(&self.shared);
        let waker = match &mut *state {
            State::Waiting(waker) => waker.take(),
            // The outcome is dropped without the lock: dropping it may run the caller's code.
            State::Done(_) | State::Over => {
                drop(state);
                drop(outcome);
                return;
            }
        };
        *state = State::Done(outcome);
        drop(state);
        if let Some(waker) = waker {
            // A panic of the runtime's waker must not end the library's thread.
            let _ = callback::contain("a waker", || waker.wake());
        }
    }
}

impl<R> Drop for Promise<R> {
    fn drop(&mut self) {
        if matches!(*lock(&self.shared), State::Waiting(_)) {
            let message = "the call was not made: the workspace is shut down";
            self.keep(Err(Error::new(ErrorKind::ShutDown, message)));
        }
    }
}

impl<R: Send + 'static> AsyncCall<R> {
    /// A call that `start` begins. The cancellation that `start` gets is cancelled if the future is
    /// dropped before the call has ended.
    pub(crate) fn new(
        start: impl FnOnce(Promise<R>, Cancellation) -> Option<Place> + Send + 'static,
    ) -> Self {
        let abandonment = Cancellation::new();
        let cancellation = abandonment.clone();
        let start: Start<R> = Box::new(|promise| start(promise, cancellation));
        let stage = Stage::Prepared(start);
        Self { stage, abandonment }
    }

    /// A call that fails.
    pub(crate) fn failed(error: Error) -> Self {
        Self::new(|promise, _| {
            promise.keep(Err(error));
            None
        })
    }

    /// A read of objects of a type. `source` is `None` in a transaction.
    pub(crate) fn reading(
        source: Option<OwnedSource>,
        table: Table,
        read: impl FnOnce(Source<'_>, Cancellation) -> Result<R> + Send + 'static,
    ) -> Self {
        let Some(source) = source else {
            return Self::failed(in_transaction(&table));
        };
        Self::new(move |promise, cancellation| {
            let engine = source.engine().clone();
            if matches!(source, OwnedSource::Workspace(_)) && engine.is_in_transaction() {
                promise.keep(Err(in_transaction(&table)));
                return None;
            }
            let promise = Arc::new(promise);
            let kept = Arc::clone(&promise);
            let call = Box::new(move || {
                let outcome = read(source.as_source(), cancellation);
                // Order: a snapshot is released before the future ends.
                drop(source);
                kept.keep(outcome);
            });
            let operation = format_args!("fetch {}", table.type_name);
            let queued = engine.call_in_background(Length::Read, operation, call);
            promise.begun(queued)
        })
    }
}

impl<R> Promise<R> {
    /// The place of a call that was queued; otherwise gives the error to the future.
    pub(crate) fn begun(&self, queued: Result<Place>) -> Option<Place> {
        match queued {
            Ok(place) => Some(place),
            Err(error) => {
                self.keep(Err(error));
                None
            }
        }
    }
}

fn in_transaction(table: &Table) -> Error {
    let message = format!(
        "cannot fetch {} asynchronously inside a transaction's handler: only a blocking fetch \
         reads the state of the transaction",
        table.type_name
    );
    Error::new(ErrorKind::InvalidArgument, message)
}

impl<R> Future for AsyncCall<R> {
    type Output = Result<R>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R>> {
        let this = self.get_mut();
        if let Stage::Prepared(_) = this.stage {
            let shared = Arc::new(Mutex::new(State::Waiting(None)));
            let promise = Promise {
                shared: Arc::clone(&shared),
            };
            let place = None;
            let begun = Stage::Begun { shared, place };
            if let Stage::Prepared(start) = std::mem::replace(&mut this.stage, begun)
                && let Stage::Begun { place, .. } = &mut this.stage
            {
                *place = start(promise);
            }
        }
        let Stage::Begun { shared, .. } = &this.stage else {
            let message = "cannot take the outcome of an asynchronous call twice";
            return Poll::Ready(Err(Error::new(ErrorKind::InvalidArgument, message)));
        };
        let mut state = lock(shared);
        if let State::Waiting(waker) = &mut *state {
            match waker {
                Some(waker) => waker.clone_from(context.waker()),
                None => *waker = Some(context.waker().clone()),
            }
            return Poll::Pending;
        }
        let ended = std::mem::replace(&mut *state, State::Over);
        drop(state);
        this.stage = Stage::Ended;
        match ended {
            State::Done(outcome) => Poll::Ready(outcome),
            State::Waiting(_) | State::Over => Poll::Pending,
        }
    }
}

impl<R> Drop for AsyncCall<R> {
    fn drop(&mut self) {
        if let Stage::Begun { shared, place } = &self.stage {
            self.abandonment.cancel();
            let state = std::mem::replace(&mut *lock(shared), State::Over);
            drop(state);
            if let Some(place) = place {
                place.withdraw();
            }
        }
    }
}

impl<R> fmt::Debug for AsyncCall<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.stage {
            Stage::Prepared(_) => "AsyncCall(prepared)",
            Stage::Begun { .. } => "AsyncCall(begun)",
            Stage::Ended => "AsyncCall(ended)",
        })
    }
}
