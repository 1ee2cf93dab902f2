//! Queries, the states that they read, and their results.

mod fetch;
mod query;
mod snapshot;
mod text;
mod value;
mod view;

pub(crate) use query::{PreparedQuery, QueryHandle};
pub(crate) use view::ResultHandle;
