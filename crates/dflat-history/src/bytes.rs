//! Lengths, numbers and texts in bytes: the parts of commits and of received changes.

/// Appends a length and bytes.
pub(crate) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_count(bytes.len(), out);
    out.extend(bytes);
}

/// Appends a count.
pub(crate) fn put_count(count: usize, out: &mut Vec<u8>) {
    out.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

/// Bytes to read; each method gives `None` if they are too few.
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn count(&mut self) -> Option<usize> {
        let count = u32::from_le_bytes(self.array()?);
        usize::try_from(count).ok()
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    /// Reads as many parts as a count says. The memory is in proportion to the bytes that are
    /// there.
    pub(crate) fn list<T>(
        &mut self,
        mut part: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let count = self.count()?;
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(part(self)?);
        }
        Some(list)
    }

    /// Reads a part that may be absent.
    pub(crate) fn optional<T>(
        &mut self,
        part: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.byte()? {
            0 => Some(None),
            1 => part(self).map(Some),
            _ => None,
        }
    }
}
