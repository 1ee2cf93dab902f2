//! The history that a file keeps of versioned types: the steps, the commits with their trees, and
//! the notes of rows that other programs have changed.

mod named;
mod notes;
mod steps;
mod triggers;

pub(crate) use steps::steps_error;
