//! Bytes that a history keeps under names, beside its steps.

/// A table of a history whose rows have a name and bytes. No two rows of a table have one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NamedTable {
    /// The nodes of trees, by their addresses.
    Chunks,
    /// The commits, by their ids.
    Commits,
    /// The branches and what else changes under one name.
    Refs,
    /// The changes of commits that another file has made, in parts, by the ids of the commits.
    Received,
}

/// A row of such a table, lent until the visitor returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedRow<'a> {
    /// The number of the row. A later row of the table has a larger number.
    pub id: i64,
    /// The name.
    pub name: &'a [u8],
    /// The bytes.
    pub bytes: &'a [u8],
}
