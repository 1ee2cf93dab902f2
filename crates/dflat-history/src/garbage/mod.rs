//! Deletes what is not needed: the commits and nodes of trees that no branch has, the history of
//! a type, and that of an object.

mod collect;
mod forget;
mod mark;
mod object;

pub use collect::{Collected, collect, collect_through};
pub use forget::forget;
pub use mark::KeepTrees;
pub use object::{ForgottenObject, forget_object};
