//! The write path: transactions take turns on their tables, collect changes, and commit.
//!
//! [`Scheduler`] decides which job runs when, and knows nothing else. A handler works with a
//! [`Transaction`]. A transaction that has ended leaves through the [`Outlet`], with the
//! [`ChangeSet`](crate::change_set::ChangeSet) of its commit. This module does not know the
//! subscribers.

mod backfill;
mod changed_table;
mod context;
mod group;
mod indexer;
mod nested;
mod newest;
mod recording;
mod replay;
mod row;
mod scheduler;
mod set_row;
mod stored_row;
mod submit;
mod tables;
mod turns;
mod write_set;

pub use context::{Change, Outcome, Transaction, TransactionObject, current};
pub use group::{Groups, Outlet};
pub use indexer::{BuildState, Duplicate, IndexProgress, Indexer, NotedTables, Ready};
pub use recording::Recording;
pub(crate) use replay::is_overtaken;
pub use row::{Derived, derive, missing_value, shown_key};
pub use scheduler::{AfterJob, Concurrency, Scheduler, ThreadRequests};
pub use tables::Tables;
pub use turns::{Job, Refused};
