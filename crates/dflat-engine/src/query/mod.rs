//! Predicates, computations and orders on the bytes of objects: what the residual of a scan,
//! sorting and live queries share, so that they always agree.

mod arithmetic;
mod condition;
mod evaluate;
mod interval;
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
pub(crate) use value_set::{Positions, ValueSet, tested_field};
