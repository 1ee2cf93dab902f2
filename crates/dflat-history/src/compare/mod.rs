//! The differences between two states of a type.

mod change;
mod listed;
mod objects;
mod states;
mod version;

pub use change::ObjectChange;
pub use objects::ObjectDiff;
pub use states::{KeyedStates, Wanted, objects_at, states_at};
pub use version::Version;
