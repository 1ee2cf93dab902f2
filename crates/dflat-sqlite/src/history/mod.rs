//! The history that a file keeps of versioned types.

mod steps;

pub(crate) use steps::steps_error;
