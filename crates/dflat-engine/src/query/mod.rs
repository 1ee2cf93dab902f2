//! Predicates and orders on the bytes of objects: what the residual of a scan, sorting and live
//! queries share, so that they always agree.

mod evaluate;
mod order;

pub use evaluate::evaluate;
pub use order::compare_rows;
