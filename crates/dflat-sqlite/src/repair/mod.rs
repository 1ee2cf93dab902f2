//! Checks the file for damage, and repairs it.

mod base;
pub(crate) mod check;
pub(crate) mod contents;
pub(crate) mod in_place;
pub(crate) mod problem;
mod stored_descriptors;
mod table_checker;
