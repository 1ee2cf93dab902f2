//! An embedded object database: FlatBuffers schemas, SQLite storage, typed queries, live results.

mod change_request;
#[doc(hidden)]
pub mod codegen;
mod object;
mod query;

pub use change_request::ChangeRequest;
pub use dflat_engine::{Error, ErrorKind, Result};
pub use dflat_model::{RowId, Table};
pub use object::Object;
pub use query::{Field, FieldType, Operand, Order, Predicate};
