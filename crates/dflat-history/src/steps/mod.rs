//! The steps of a history: the changes of each transaction on a versioned type.
//!
//! [`Backwards`] reads steps from the latest one back. [`Undo`] and [`blame`] are built on that.

mod apply;
mod backwards;
mod blame;
mod changes;
mod ended;
mod find;
mod note;
mod reverse;
mod scope;
mod state;
mod step;
mod undo;
mod without;

pub use crate::commit_id::CommitId;
pub(crate) use apply::{RowToSet, apply};
pub(crate) use backwards::unreadable;
pub use backwards::{Backwards, StepSource, StoredStep};
pub use blame::{Blame, BlameChange, blame};
pub use changes::{StepChange, changes};
pub use dflat_engine::storage::StepId;
pub(crate) use ended::{BUILDING, building_name, delete_building, end, gap_name};
pub use note::Note;
pub(crate) use reverse::{States, each_row, go_back, rows_of};
pub use scope::{Author, Scope};
pub(crate) use state::{
    Lost, State, check_notes, lacks_all, state_before, unnoted, unnoted_tables,
};
pub use step::{Step, TableStep};
pub(crate) use undo::prepare;
pub use undo::{Conflict, Mode, Target, Undo, Undone, notice};
pub(crate) use without::{Presence, each_key, without_objects};
