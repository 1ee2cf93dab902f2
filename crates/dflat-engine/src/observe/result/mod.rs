//! Keeps the results and counts of live queries up to date, from the changed rows of each commit.
//!
//! This room uses `matching` and no other room of `observe`: it takes [`ChangedRows`], and knows
//! neither subscribers nor events. A [`LiveResult`] holds the objects in order; a [`LiveCount`]
//! holds a number, and [`LiveGroups`] the groups and their sums. A [`Difference`] is the change
//! from one list of objects to the next.
//!
//! [`ChangedRows`]: super::matching::ChangedRows

mod boundary;
mod difference;
mod live_count;
mod live_groups;
mod live_result;
mod merge;
mod positions;
mod row_merge;
mod states_before;

pub use difference::{Difference, Move, Step, list_difference};
pub use live_count::{LiveCount, unlimited};
pub use live_groups::LiveGroups;
pub use live_result::{LiveResult, ResultUpdate, with_margin};
pub(super) use merge::Scratch;
pub use positions::Positions;
pub(super) use states_before::with_states_before;
