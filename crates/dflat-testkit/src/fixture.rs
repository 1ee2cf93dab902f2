//! New workspaces for tests, and waiting with timeouts.

use std::any::Any;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use dflat::{Object, Result, Table, TransactionContext, Workspace};
use tempfile::TempDir;

/// The time after which a test counts as hung: 30 s, or the number of seconds in
/// `DFLAT_PATIENCE_SECONDS`, for machines where programs are slow.
pub(crate) fn patience() -> Duration {
    let seconds = std::env::var("DFLAT_PATIENCE_SECONDS").ok();
    Duration::from_secs(seconds.and_then(|text| text.parse().ok()).unwrap_or(30))
}

/// A new, empty workspace, with the directory of its file.
pub struct Fixture {
    // Order: the workspace is dropped before its directory.
    workspace: Workspace,
    directory: Option<TempDir>,
}

/// Makes a new, empty workspace.
pub type Open = fn() -> Fixture;

impl Fixture {
    /// A workspace in memory.
    #[must_use]
    pub fn memory() -> Self {
        Self {
            workspace: Workspace::in_memory(),
            directory: None,
        }
    }

    /// A workspace on a file of its own.
    #[must_use]
    pub fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            workspace: Workspace::open(directory.path().join("test.db")).unwrap(),
            directory: Some(directory),
        }
    }

    /// A workspace that the caller made.
    #[must_use]
    pub const fn of(workspace: Workspace) -> Self {
        Self {
            workspace,
            directory: None,
        }
    }

    /// The path of the file, if there is one.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        let directory = self.directory.as_ref()?;
        Some(directory.path().join("test.db"))
    }

    /// The workspace and its directory, for laws on dropping workspaces.
    #[must_use]
    pub fn into_parts(self) -> (Workspace, Option<TempDir>) {
        (self.workspace, self.directory)
    }

    /// Runs a transaction and waits for it.
    pub fn perform<R: Send + 'static>(
        &self,
        types: impl IntoIterator<Item = Table>,
        handler: impl FnOnce(&TransactionContext) -> Result<R> + Send + 'static,
    ) -> R {
        self.workspace
            .perform_changes(types, handler)
            .wait()
            .unwrap()
    }

    /// Creates objects in one transaction.
    pub fn create<T: Object>(&self, objects: impl IntoIterator<Item = T::Data>) -> Vec<T>
    where
        T::Data: Send,
    {
        let objects: Vec<T::Data> = objects.into_iter().collect();
        self.perform([T::TABLE], move |tx| {
            let created = objects.into_iter().map(|data| {
                let created = tx.submit(dflat::ChangeRequest::<T>::creation(data))?;
                Ok(created.into_object().unwrap())
            });
            created.collect()
        })
    }

    /// Changes an object.
    pub fn change<T: Object>(
        &self,
        object: &T,
        change: impl FnOnce(&mut T::Data) + Send + 'static,
    ) -> T {
        let object = object.clone();
        self.perform([T::TABLE], move |tx| {
            let mut request = dflat::ChangeRequest::change(tx, &object)?.unwrap();
            change(&mut request);
            Ok(tx.submit(request)?.into_object().unwrap())
        })
    }

    /// Deletes an object.
    pub fn delete<T: Object>(&self, object: &T) {
        let object = object.clone();
        self.perform([T::TABLE], move |tx| {
            let request = dflat::ChangeRequest::deletion(tx, &object)?.unwrap();
            tx.submit(request)
        });
    }

    /// Waits until all that was queued on a type has ended.
    pub fn settle<T: Object>(&self) {
        self.perform([T::TABLE], |_| Ok(()));
    }
}

impl Deref for Fixture {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        &self.workspace
    }
}

/// Runs a test on a separate thread; a test that hangs fails.
pub fn bounded(test: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let thread = thread::Builder::new().name(thread::current().name().unwrap_or("test").to_owned());
    let running = thread.spawn(move || {
        test();
        let _ = done.send(());
    });
    match ended.recv_timeout(patience()) {
        Err(RecvTimeoutError::Timeout) => panic!("the test hangs"),
        Ok(()) | Err(RecvTimeoutError::Disconnected) => rethrow(running.unwrap().join()),
    }
}

fn rethrow(outcome: std::result::Result<(), Box<dyn Any + Send>>) {
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

/// Waits for the next message of a channel, with a timeout.
pub fn next<M>(channel: &Receiver<M>) -> M {
    channel
        .recv_timeout(patience() / 3)
        .expect("a message was expected and none came")
}

/// Polls for a condition that has no notification, up to a limit.
pub fn until(mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < patience() / 3,
            "the expected condition never held"
        );
        thread::yield_now();
    }
}

/// The messages that a channel has now.
#[must_use]
pub fn drained<M>(channel: &Receiver<M>) -> Vec<M> {
    channel.try_iter().collect()
}

/// Why a law is not checked on this machine.
struct Skipped(&'static str);

/// Ends a law because its backend is missing on this machine, without a failure.
pub fn skip(reason: &'static str) -> ! {
    std::panic::resume_unwind(Box::new(Skipped(reason)))
}

/// Runs a law on a backend, with a timeout.
pub fn check(law: fn(Open), open: Open) {
    let checked = std::panic::catch_unwind(|| bounded(move || law(open)));
    match checked.map_err(Box::<dyn Any + Send>::downcast::<Skipped>) {
        Ok(()) => {}
        Err(Ok(skipped)) => eprintln!("skipped: {}", skipped.0),
        Err(Err(failed)) => std::panic::resume_unwind(failed),
    }
}
