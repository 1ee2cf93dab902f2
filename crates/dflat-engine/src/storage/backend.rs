//! The place where objects are stored.

use std::sync::Arc;
use std::time::Duration;

use super::{
    CloseOptions, Durability, Looked, Snapshot, Staleness, StateId, View, WriteTransaction,
};
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::{Error, Result};

/// A place where objects are stored.
///
/// A backend that only reads, such as one over a file that cannot be written, fails
/// [`begin`](Self::begin) with [`ErrorKind::ReadOnly`].
pub trait Backend: Send + Sync + 'static {
    /// Starts to read.
    ///
    /// One thread at a time may use the snapshot; it need not be the thread that began it. A
    /// snapshot costs no input or output before its first scan.
    ///
    /// # Errors
    /// The errors of opening a file, and of waiting for a reader.
    fn snapshot(self: Arc<Self>, view: View) -> Result<Box<dyn Snapshot>>;

    /// Starts a write transaction, whose commit survives the failures that `durability` names.
    ///
    /// Blocks until the backend's previous write transaction has ended, and until other processes
    /// have released the storage, at most for the timeout of the backend.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] after that timeout; otherwise the errors of
    /// opening or creating a file.
    fn begin(self: Arc<Self>, durability: Durability) -> Result<Box<dyn WriteTransaction>>;

    /// The latest committed state, if the backend's latest write transaction has ended, and no
    /// other program has written since that transaction began. Foreign writes before it were
    /// reported to a transaction by [`BaseState::is_own`](super::BaseState::is_own). `None` if the
    /// backend cannot tell this without a system call.
    ///
    /// With this answer, the engine need not read an object again that was read before, and that a
    /// transaction changes.
    fn own_state(&self) -> Option<StateId> {
        None
    }

    /// The durability of a transaction that asks for none. A backend whose objects end with the
    /// process, such as memory, returns [`Durability::Normal`] and ignores the durability in
    /// [`begin`](Self::begin).
    fn durability(&self) -> Durability {
        Durability::Normal
    }

    /// How many changes at once the engine should pass to
    /// [`insert_many`](WriteTransaction::insert_many) and how many keys to
    /// [`find_many`](Snapshot::find_many), if a handler submits as many. 1 if a call is cheap: then
    /// the engine makes each change on its own.
    fn batch_max(&self) -> usize {
        1
    }

    /// How many reads at the same time the backend can carry out, if they wait for another machine
    /// rather than for a processor. As many threads then make the asynchronous reads. `None` if the
    /// processors are the bound.
    fn reads_max(&self) -> Option<usize> {
        None
    }

    /// How old the state can be that reads see. A backend that reads from a copy which another
    /// machine keeps up to date asks it.
    ///
    /// # Errors
    /// The errors of reading.
    fn staleness(&self) -> Result<Staleness> {
        Ok(Staleness::Current)
    }

    /// The time after which a read that failed with this error may succeed, for `tried` so far: the
    /// connection to the storage was lost, and may be there again. `None` if another try is of no
    /// use. Reads for subscribers are tried again, because a failure would end subscriptions.
    fn retry_after(&self, error: &Error, tried: Duration) -> Option<Duration> {
        let _ = (error, tried);
        None
    }

    /// Calls `look` from now on whenever another process may have committed, and at least at
    /// intervals, on a thread of the backend. `look` finds out whether another process has
    /// committed, and does not wait for a writer. A look that fails is repeated, also if nothing
    /// changes meanwhile. When this returns, the backend notices every later commit. Only the first
    /// call has an effect. A backend to which no other process can write ignores it.
    fn follow(&self, look: Arc<dyn Fn() -> Looked + Send + Sync>) {
        drop(look);
    }

    /// Waits until all snapshots and transactions have ended, and for a call of the function that
    /// [`follow`](Self::follow) was given, then releases every resource.
    ///
    /// # Errors
    /// The errors of the work that `options` asks for; the backend is closed nevertheless.
    fn close(&self, options: CloseOptions) -> Result<()>;
}
