//! Programs that write to versioned types and prevent the notes of that.

mod cases;
mod faults;
mod pairs;
pub(super) mod prevention;
mod random;
