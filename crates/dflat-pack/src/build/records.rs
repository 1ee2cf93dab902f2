//! Records in memory, each a key and a value.

/// The bytes that a record takes in memory beside its key and value.
const ENTRY_BYTES: usize = size_of::<Entry>();

/// A record in memory: its start, and the lengths of its key and its value behind.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    key: u32,
    value: u32,
}

/// Records in memory.
#[derive(Debug, Default)]
pub(super) struct Records {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl Records {
    fn key(&self, entry: Entry) -> &[u8] {
        let end = entry.start + entry.key as usize;
        self.bytes.get(entry.start..end).unwrap_or_default()
    }

    /// The record at a position.
    pub(super) fn get(&self, at: usize) -> Option<(&[u8], &[u8])> {
        let entry = *self.entries.get(at)?;
        let start = entry.start + entry.key as usize;
        let value = self.bytes.get(start..start + entry.value as usize)?;
        Some((self.key(entry), value))
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The bytes of memory with one record more.
    pub(super) const fn size_with(&self, key: &[u8], value: &[u8]) -> usize {
        let bytes = self.bytes.len() + key.len() + value.len();
        bytes + (self.entries.len() + 1) * ENTRY_BYTES
    }

    /// Adds a record. Its key and its value have less than 4 GiB each.
    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) {
        self.entries.push(Entry {
            start: self.bytes.len(),
            key: key.len() as u32,
            value: value.len() as u32,
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    /// Sorts by the keys. Records with equal keys keep their order.
    pub(super) fn sort(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by(|a, b| {
            let order = self.key(*a).cmp(self.key(*b));
            order.then(a.start.cmp(&b.start))
        });
        self.entries = entries;
    }
}
