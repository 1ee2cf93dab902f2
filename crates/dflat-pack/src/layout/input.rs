//! Reading the numbers of the directory, each of which may be missing or wrong.

/// Bytes that are read from their start.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.bytes(1)?.first().copied()
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        self.bytes(8)?
            .first_chunk()
            .map(|bytes| u64::from_le_bytes(*bytes))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
