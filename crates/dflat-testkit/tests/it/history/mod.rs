//! The history of versioned types.

mod blame;
mod conflicts;
mod faults;
mod files;
mod model;
mod random_programs;
mod steps;
mod strangers;
mod undo;
