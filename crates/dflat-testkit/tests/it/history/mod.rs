//! The history of versioned types.

mod blame;
mod conflicts;
mod cost;
mod faults;
mod files;
mod forget;
mod indexes;
mod model;
mod operation;
mod past;
mod random_programs;
mod steps;
mod strangers;
mod sync;
mod undo;
mod unnoted;
mod versions;
