//! All payloads of a pack, one after the other.

use dflat_engine::Result;

use super::layered::ReadType;
use super::records::{Reach, RecordReader};

/// All payloads of a pack, by type and key.
pub(crate) struct StoredPayloads {
    types: Vec<ReadType>,
    reader: RecordReader,
    number: usize,
    position: u64,
}

impl StoredPayloads {
    pub(super) fn new(types: Vec<ReadType>, check_blocks: bool) -> Self {
        Self {
            types,
            reader: RecordReader::new(check_blocks),
            number: 0,
            position: 0,
        }
    }

    /// The number of a type, and the next of its payloads.
    pub(crate) fn next(&mut self) -> Result<Option<(usize, &[u8])>> {
        while let Some(ty) = self.types.get(self.number) {
            if self.position < ty.len() {
                self.position += 1;
                let position = self.position - 1;
                let payload = ty.record(&mut self.reader, position, Reach::Ahead)?;
                return Ok(Some((self.number, payload)));
            }
            // The buffer has blocks of another run.
            self.reader = self.reader.renewed();
            self.number += 1;
            self.position = 0;
        }
        Ok(None)
    }
}
