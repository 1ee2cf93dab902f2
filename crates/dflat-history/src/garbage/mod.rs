//! Deletes what is not needed: the commits and nodes of trees that no branch has, the history of
//! a type, and that of an object.

mod collect;
mod erase;
mod forget;
mod mark;
mod object;
mod received;
mod search;

pub use collect::{Collected, collect, collect_through};
pub use erase::ForgottenObject;
pub use forget::forget;
pub use mark::KeepTrees;
pub use object::forget_object;
pub(crate) use received::ReceivedMarks;
