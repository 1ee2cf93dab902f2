//! Predicates, computations and orders on the bytes of objects.
//!
//! Scans, sorting and live queries share them, so that their results agree. The rule by which a
//! condition becomes intervals of values is here as well, for planning and for finding live
//! queries.

mod arithmetic;
mod condition;
mod evaluate;
pub(crate) mod hash;
mod interval;
mod list;
mod order;
mod text;
mod truth;
mod value_set;

pub use condition::Condition;
pub use evaluate::{compute, evaluate};
pub(crate) use interval::{Interval, lower_order, upper_order};
pub use order::{compare_keys, compare_rows, is_after};
pub use truth::Truth;
pub(crate) use truth::admits;
pub(crate) use value_set::{ConjunctPositions, ValueSet, tested_field};
