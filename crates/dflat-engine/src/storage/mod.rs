//! The storage seam: everything that the engine requires of a backend.
//!
//! A backend stores rows and index entries, scans them by a plan, and commits. It never decodes a
//! payload and never calls user code, apart from the visitor of a scan. It implements [`Backend`],
//! [`Snapshot`] and [`WriteTransaction`]. Methods that only a change log or a history needs have
//! defaults. `dflat-testkit` checks these laws on every backend:
//!
//! 1. A [`View::Pinned`] snapshot shows the state that was committed when it was first scanned,
//!    until it is dropped, whatever is committed meanwhile. It never blocks a writer.
//! 2. A write transaction sees its own writes. Before it commits, no other reader sees them; every
//!    snapshot that begins after the commit does.
//! 3. One write transaction exists at a time: `begin` waits for the previous one.
//! 4. A write that fails with a [`Conflict`] changed nothing, and the transaction goes on.
//! 5. Row ids are positive and increase in order of insertion. A row id that was committed is never
//!    used again, even if its row is deleted.
//! 6. A scan visits its rows in the order that [`ScanPlan`] states.
//! 7. A transaction that is dropped without `commit` is rolled back.
//! 8. A scan of a table that was never written is empty, and creates nothing.
//! 9. An index whose state is [`IndexState::Ready`] has exactly one entry for each row, NULL
//!    included; an index with a condition, for each row of which the condition is true. An index
//!    that is [`IndexState::Incomplete`] has these entries for the rows up to a row id, and none
//!    for later rows.
//! 10. A write transaction can tell whether another program, such as another process, has committed
//!     since a state that a pinned snapshot saw.
//! 11. After `close`, everything fails with [`ErrorKind::ShutDown`].
//! 12. If the records between two states are [`Records::Complete`], each commit between the two
//!     states was made by this backend or has appended its records, and a reader of the later state
//!     visits all records, the last one first.

mod aborted;
mod backend;
mod index;
mod memory;
mod named;
mod scan;
mod snapshot;
mod state;
mod step;
mod write;
mod write_transaction;

#[cfg(doc)]
use crate::error::ErrorKind;
pub use aborted::Aborted;
pub use backend::Backend;
pub use index::{
    EntryValues, IndexEntry, IndexRepair, IndexState, IndexStates, Indexes, RowRepair,
};
pub use memory::MemoryBackend;
pub use named::{NamedRow, NamedTable};
pub use scan::{Entry, Key, KeyScan, Row, ScanPlan, Source, position_of};
pub use snapshot::Snapshot;
pub use state::{BaseState, CloseOptions, Durability, Looked, Records, Staleness, StateId, View};
pub use step::{NotedRow, StepId, StepRow};
pub use write::{Conflict, RowWrite, WriteError};
pub use write_transaction::WriteTransaction;
