//! Rows that other programs wrote, and how far the indexes can be relied on despite them.

pub(crate) mod triggers;
pub(crate) mod trust;
