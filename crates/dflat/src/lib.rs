//! An embedded object database: FlatBuffers schemas, SQLite storage, typed queries, live results.

#[doc(hidden)]
pub mod codegen;

#[cfg(feature = "sqlite")]
mod builder;
mod change_request;
mod fetch;
mod fetched_result;
mod object;
mod observe;
mod query;
mod snapshot;
mod transaction;
mod transaction_handle;
mod workspace;

#[cfg(feature = "sqlite")]
pub use builder::{Concurrency, Durability, WorkspaceBuilder};
pub use change_request::ChangeRequest;
pub use dflat_engine::{Error, ErrorKind, Result};
pub use dflat_model::{RowId, Table};
#[cfg(feature = "sqlite")]
pub use dflat_sqlite::{CallReport, FileKind, FileReport, IoReport, Operation, Suggestion};
pub use fetch::Fetch;
pub use fetched_result::FetchedResult;
pub use object::Object;
pub use observe::{Deliveries, Observable, SubscribedObject, Subscription};
pub use query::{Field, FieldType, Operand, Order, Predicate};
pub use snapshot::Snapshot;
pub use transaction::{TransactionContext, UpdatedObject};
pub use transaction_handle::TransactionHandle;
pub use workspace::Workspace;
