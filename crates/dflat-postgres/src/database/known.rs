//! The tables that are known to exist, and the indexes that are known to be ready.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::layout::StoredTable;

/// Facts that hold for every state after the one in which they were found. A snapshot uses those
/// that were known when it began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Whether the library's own tables exist.
    pub(crate) exists: bool,
    /// The tables, by the name of the type's storage.
    pub(crate) tables: HashMap<String, Arc<StoredTable>>,
    /// The tables of indexes that have every entry, by name.
    pub(crate) ready: HashSet<String>,
}
