//! Files that stand on a pack: unchanged objects are read from the pack, and changed ones from the
//! file.
//!
//! An object of the pack keeps its row id when it is changed: the file then has a row with this id,
//! and notes in a table of its own that the object of the pack is hidden. Rows of new objects have
//! row ids behind those of the pack.

mod base;
mod conflicts;
mod hidden;
mod left;
mod prepare;
mod snapshot;
mod union;
mod writer;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dflat_engine::Result;
use dflat_engine::storage::{
    Backend, CloseOptions, Durability, Looked, Snapshot, View, WriteTransaction,
};

use crate::read::Pack;
use base::State;
use snapshot::StandingSnapshot;
use writer::StandingWriter;

/// A backend of a file that stands on a pack.
///
/// A type that the pack was built without is in the file alone. All other types must have no rows
/// in the file when it is used so for the first time; from then on the file names the pack by its
/// digest, and cannot be used with another one.
///
/// The indexes that a program's schema declares for a type of the pack must be in the pack.
///
/// # Errors
/// Beside those of the backend of the file:
/// - [`InvalidArgument`](dflat_engine::ErrorKind::InvalidArgument) if the file stands on another
///   pack, or has objects of a type of the pack that were stored without the pack; on the first
///   write of a type of which the pack lacks an index.
/// - [`Corrupt`](dflat_engine::ErrorKind::Corrupt) if the pack, or the table of hidden objects, is
///   damaged.
///
/// # Cost
/// A read looks into the file and into the pack, and first reads one row that tells whether the
/// table of hidden objects has changed. The hidden objects are in memory: 512 bytes for each 4,096
/// objects of the pack of which one is hidden. The first change of an object of the pack writes it
/// to the file as a whole.
pub struct StandingBackend {
    file: Arc<dyn Backend>,
    pack: Pack,
    /// The last state of hidden objects that was read or committed.
    known: Mutex<Option<State>>,
}

impl StandingBackend {
    /// A backend over the backend of a file.
    #[must_use]
    pub fn new(file: Arc<dyn Backend>, pack: Pack) -> Arc<Self> {
        Arc::new(Self {
            file,
            pack,
            known: Mutex::new(None),
        })
    }

    /// The pack.
    #[must_use]
    pub const fn pack(&self) -> &Pack {
        &self.pack
    }

    /// The hidden objects as a snapshot of the file has them.
    fn state(&self, file: &mut dyn Snapshot) -> Result<State> {
        let known = self.known().clone();
        let state = base::read(file, &self.pack, known.as_ref())?;
        // A snapshot of an earlier state leaves the later state as it is.
        if state.generation > known.and_then(|known| known.generation) {
            *self.known() = Some(state.clone());
        }
        Ok(state)
    }

    fn known(&self) -> MutexGuard<'_, Option<State>> {
        // No code that can panic runs under the lock.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backend for StandingBackend {
    fn snapshot(self: Arc<Self>, view: View) -> Result<Box<dyn Snapshot>> {
        // The file is read several times, which must see one state.
        let file = Arc::clone(&self.file).snapshot(View::Pinned)?;
        Ok(Box::new(StandingSnapshot::new(self, file, view)))
    }

    fn begin(self: Arc<Self>, durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        let file = Arc::clone(&self.file).begin(durability)?;
        Ok(Box::new(StandingWriter::new(self, file)))
    }

    fn durability(&self) -> Durability {
        self.file.durability()
    }

    fn follow(&self, look: Arc<dyn Fn() -> Looked + Send + Sync>) {
        self.file.follow(look);
    }

    fn close(&self, options: CloseOptions) -> Result<()> {
        self.file.close(options)
    }
}

impl fmt::Debug for StandingBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandingBackend")
            .field("pack", &self.pack)
            .finish_non_exhaustive()
    }
}
