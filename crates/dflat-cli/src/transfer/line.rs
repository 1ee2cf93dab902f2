//! A line or a record of the input, and the object that it holds.

use dflat_model::Table;

use crate::mistake::nearest;

/// The longest line. A longer one is refused, so that it does not fill the memory.
pub(super) const LINE_MAX: u64 = 64 << 20;

/// A line that holds an object, or the reason why it does not.
pub(super) struct Line {
    /// The number, from 1.
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) object: Result<(Table, Vec<u8>), String>,
}

/// An error on one line, with the nearest known name.
pub(super) fn explained(table: &Table, error: &serde_json::Error) -> String {
    let error = error.to_string();
    match nearest(table, &error) {
        Some(help) => format!("{error}; help: {help}"),
        None => error,
    }
}
