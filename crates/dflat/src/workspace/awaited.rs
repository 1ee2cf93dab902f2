//! Blocking calls on a workspace as futures.

#[cfg(feature = "sqlite")]
use std::ops::ControlFlow;
#[cfg(feature = "sqlite")]
use std::path::PathBuf;
use std::sync::Arc;

use dflat_engine::callback;
use dflat_engine::engine::Length;
use dflat_engine::storage::CloseOptions;
#[cfg(feature = "sqlite")]
use dflat_workspace::CheckReport;

use super::Snapshot;
#[cfg(feature = "sqlite")]
use crate::Table;
use crate::fetch;
use crate::{AsyncCall, Error, ErrorKind, Object, Result, Workspace};

/// The methods whose names end in `_async` are those without that ending, as futures: see
/// [`AsyncCall`]. Transactions, streams and [`indexes_ready`](Self::indexes_ready) are awaited as
/// they are, and [`run_async`](Self::run_async) makes a future of all other calls.
impl Workspace {
    /// [`get`](Self::get) as a future.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`InvalidArgument`](ErrorKind::InvalidArgument) if a transaction's
    /// handler polls the future.
    pub fn get_async<T: Object>(&self, key: T::Key<'_>) -> AsyncCall<Option<T>> {
        fetch::get_async(self.source(), key)
    }

    /// [`get_many`](Self::get_many) as a future.
    ///
    /// # Errors
    /// As [`get_many`](Self::get_many); [`InvalidArgument`](ErrorKind::InvalidArgument) if a
    /// transaction's handler polls the future.
    pub fn get_many_async<'k, T: Object>(
        &self,
        keys: impl IntoIterator<Item = T::Key<'k>>,
    ) -> AsyncCall<Vec<Option<T>>> {
        fetch::get_many_async(self.source(), keys)
    }

    /// [`snapshot`](Self::snapshot) as a future. The snapshot shows a state that was committed
    /// after the first poll of the future, or the state at that poll.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub fn snapshot_async(&self) -> AsyncCall<Snapshot> {
        let engine = self.engine().clone();
        AsyncCall::new(move |promise, _| {
            let promise = Arc::new(promise);
            let kept = Arc::clone(&promise);
            let reader = engine.clone();
            let call = Box::new(move || kept.keep(reader.snapshot().map(Snapshot::new)));
            let operation = format_args!("take a snapshot");
            promise.begun(engine.call_in_background(Length::Read, operation, call))
        })
    }

    /// Runs `work` with this workspace on a thread of the library: for calls that have no form of
    /// their own whose name ends in `_async`, such as `check_with`, `compact` or
    /// [`refresh`](Self::refresh), for values of the [dictionary](Self::dictionary), and for
    /// several reads in a row. `work` may block, on transactions too.
    ///
    /// At most four such calls, backups and checks run at a time; the others wait. If the future is
    /// dropped, work that has begun goes on to its end.
    ///
    /// # Errors
    /// - The error of `work`, and [`Panicked`](ErrorKind::Panicked) if it panics.
    /// - [`WouldDeadlock`](ErrorKind::WouldDeadlock) if a handler or a callback polls the future.
    /// - [`ShutDown`](ErrorKind::ShutDown) after shutdown; then `work` is not called.
    ///
    /// # Examples
    /// ```
    /// use dflat::{Result, Workspace};
    ///
    /// async fn theme(workspace: &Workspace) -> Result<Option<String>> {
    ///     workspace.run_async(|workspace| workspace.dictionary().get("theme")).await
    /// }
    /// # fn main() -> dflat::Result<()> {
    /// # let workspace = Workspace::in_memory();
    /// # assert_eq!(futures::executor::block_on(theme(&workspace))?, None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn run_async<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<R> + Send + 'static,
    ) -> AsyncCall<R> {
        self.long_call("run work", move |workspace, _| work(workspace))
    }

    /// [`settle`](Self::settle) as a future. It needs no thread while it waits.
    ///
    /// # Errors
    /// As [`settle`](Self::settle), at the first poll.
    pub fn settle_async(&self) -> AsyncCall<()> {
        let engine = self.engine().clone();
        AsyncCall::new(move |promise, _| {
            engine.settle_then(Box::new(move |outcome| promise.keep(outcome)));
            None
        })
    }

    /// [`shutdown`](Self::shutdown) as a future. The shutdown begins when the future is polled for
    /// the first time, and goes on to its end if the future is dropped after that.
    ///
    /// Await it before the last clone of the workspace is dropped, because dropping the last clone
    /// of a workspace that is open waits for the shutdown.
    ///
    /// # Errors
    /// As [`shutdown`](Self::shutdown), and [`Io`](ErrorKind::Io) if no thread can be started.
    ///
    /// # Examples
    /// ```
    /// use dflat::{Result, Workspace};
    ///
    /// async fn close(workspace: Workspace) -> Result<()> {
    ///     workspace.shutdown_async().await
    /// }
    /// # fn main() -> dflat::Result<()> {
    /// # futures::executor::block_on(close(Workspace::in_memory()))
    /// # }
    /// ```
    pub fn shutdown_async(&self) -> AsyncCall<()> {
        self.shutdown_with_async(CloseOptions::default())
    }

    /// [`shutdown_with`](Self::shutdown_with) as a future, as
    /// [`shutdown_async`](Self::shutdown_async).
    ///
    /// # Errors
    /// As [`shutdown_with`](Self::shutdown_with), and [`Io`](ErrorKind::Io) if no thread can be
    /// started.
    pub fn shutdown_with_async(&self, options: CloseOptions) -> AsyncCall<()> {
        let workspace = self.clone();
        AsyncCall::new(move |promise, _| {
            if let Err(error) = callback::forbid_blocking("wait for the shutdown") {
                promise.keep(Err(error));
                return None;
            }
            let promise = Arc::new(promise);
            let kept = Arc::clone(&promise);
            // A thread of its own: the threads of other calls may be waiting for the shutdown.
            let thread = std::thread::Builder::new().name("dflat-shutdown".to_owned());
            let finish = move || {
                let outcome = workspace.shutdown_with(options);
                drop(workspace);
                kept.keep(outcome);
            };
            if let Err(error) = thread.spawn(finish) {
                let message = "cannot shut down: no thread can be started";
                promise.keep(Err(Error::with_source(ErrorKind::Io, message, error)));
            }
            None
        })
    }

    /// [`backup`](Self::backup) as a future. If the future is dropped, the backup ends after at
    /// most 256 more pages, and the unfinished copy is deleted.
    ///
    /// # Errors
    /// As [`backup`](Self::backup).
    #[cfg(feature = "sqlite")]
    pub fn backup_async(&self, to: impl Into<PathBuf>) -> AsyncCall<()> {
        let to = to.into();
        self.long_call("back up", move |workspace, abandonment| {
            workspace.backup_with(to, |_| continue_unless(abandonment.is_cancelled()))
        })
    }

    /// [`check`](Self::check) as a future. If the future is dropped, the check ends early.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    #[cfg(feature = "sqlite")]
    pub fn check_async(&self, types: impl IntoIterator<Item = Table>) -> AsyncCall<CheckReport> {
        let types: Vec<_> = types.into_iter().collect();
        self.long_call("check", move |workspace, abandonment| {
            workspace.check_with(types, |_| continue_unless(abandonment.is_cancelled()))
        })
    }

    /// A call that takes long, or may wait for transactions.
    fn long_call<R: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Self, &crate::Cancellation) -> Result<R> + Send + 'static,
    ) -> AsyncCall<R> {
        let workspace = self.clone();
        AsyncCall::new(move |promise, abandonment| {
            if let Err(error) = callback::forbid_blocking(operation) {
                promise.keep(Err(error));
                return None;
            }
            let promise = Arc::new(promise);
            let kept = Arc::clone(&promise);
            let engine = workspace.engine().clone();
            let call = Box::new(move || {
                let made = engine_is_open(&workspace, operation)
                    .and_then(|()| callback::contain(operation, || work(&workspace, &abandonment)));
                // Order: dropping the last clone shuts down, and the future ends after that.
                drop(workspace);
                kept.keep(made.and_then(|outcome| outcome));
            });
            let operation = format_args!("{operation}");
            promise.begun(engine.call_in_background(Length::Long, operation, call))
        })
    }
}

/// Refuses a call that begins after the workspace was shut down.
fn engine_is_open(workspace: &Workspace, operation: &str) -> Result<()> {
    workspace.engine().refuse_work(format_args!("{operation}"))
}

#[cfg(feature = "sqlite")]
fn continue_unless(ends: bool) -> ControlFlow<()> {
    if ends {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}
