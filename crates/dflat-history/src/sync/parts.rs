//! The changes of a commit as the file is to have them.

use crate::received::PartWriter;

/// Parts of the changes of a commit that are not written yet.
#[derive(Debug, Default)]
pub(super) struct Parts {
    open: PartWriter,
    full: Vec<(u32, Vec<u8>)>,
    /// The number of the open part.
    number: u32,
    bytes: usize,
}

impl Parts {
    /// Adds the change of an object: its payload, or none if it was deleted.
    pub(super) fn push(&mut self, table: &str, key: &[u8], payload: Option<&[u8]>) {
        self.open.push(table, key, payload);
        if self.open.is_full() {
            self.end(false);
        }
    }

    /// The bytes of the full parts.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the full parts; at the end of the commit also the last one.
    pub(super) fn take(&mut self, is_end: bool) -> Vec<(u32, Vec<u8>)> {
        if is_end {
            self.end(true);
        }
        self.bytes = 0;
        std::mem::take(&mut self.full)
    }

    fn end(&mut self, is_last: bool) {
        let part = std::mem::take(&mut self.open).finish(is_last);
        self.bytes += part.len();
        self.full.push((self.number, part));
        self.number += 1;
    }
}
