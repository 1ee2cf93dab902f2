//! The steps of a history: what each transaction on a versioned type has changed.
//!
//! [`Keeper`] appends the step of a transaction to the file, in the same commit. [`Backwards`]
//! reads steps from the latest one back.

mod backwards;
mod keeper;
mod note;
mod step;

pub use backwards::{Backwards, StepSource, StoredStep};
pub use dflat_engine::storage::StepId;
pub use keeper::Keeper;
pub use note::Note;
pub use step::{Step, TableStep};
