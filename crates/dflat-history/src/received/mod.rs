//! The changes of commits that another file has made.
//!
//! The steps of a file lead to the commits that it has made itself. A commit of another file has no
//! place among them: the file keeps its changes from its first parent, in [parts](Part).

mod changes;
mod part;
mod store;

pub(crate) use changes::changes_between;
pub use changes::each_change;
pub use part::{Change, Changes, Part, PartWriter};
pub(crate) use store::{ObjectKeys, commit_of, has_part, without_objects, without_table};
pub use store::{delete_parts, put_part};
