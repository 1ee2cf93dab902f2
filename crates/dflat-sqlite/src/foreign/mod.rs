//! Foreign rows, and how far the indexes can be trusted despite them.

pub(crate) mod triggers;
pub(crate) mod trusted_indexes;
