//! Checking the file for damage, and repairing it.

pub(crate) mod check;
pub(crate) mod in_place;
