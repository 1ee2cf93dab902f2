//! The history of versioned types.

mod files;
mod steps;
