//! The objects of the pack that the file has changed or deleted.
//!
//! They are the bits of row ids, in chunks of 4,096. Bit 0 of a type says that the row ids of its
//! table in the file begin behind those of the pack. `docs/storage-format.md` describes the rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use dflat_model::RowId;

/// The row ids of a chunk.
const CHUNK: u64 = 4096;
const WORDS: usize = CHUNK as usize / u64::BITS as usize;

/// Clones share the chunks.
#[derive(Clone, Debug, Default)]
pub(super) struct Hidden {
    tables: BTreeMap<Box<str>, Rows>,
}

/// The hidden rows of one table.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    chunks: Vec<Option<Chunk>>,
}

#[derive(Clone, Debug)]
struct Chunk {
    /// The row in the file; `None` if the file has none yet.
    stored_as: Option<RowId>,
    is_changed: bool,
    bits: Arc<[u64; WORDS]>,
}

impl Rows {
    /// Whether the pack's object with this row id is hidden.
    pub(super) fn contains(&self, row_id: RowId) -> bool {
        let Ok(bit) = u64::try_from(row_id.0) else {
            return false;
        };
        let chunk = self.chunks.get((bit / CHUNK) as usize);
        let Some(Some(chunk)) = chunk else {
            return false;
        };
        let word = chunk.bits.get((bit % CHUNK / 64) as usize);
        word.is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }
}

impl Hidden {
    /// The hidden rows of a table, if there are any.
    pub(super) fn rows(&self, table: &str) -> Option<&Rows> {
        self.tables.get(table)
    }

    /// Hides the pack's object with a row id.
    pub(super) fn insert(&mut self, table: &str, row_id: RowId) {
        let Ok(bit) = u64::try_from(row_id.0) else {
            return;
        };
        let chunk = self.chunk(table, bit / CHUNK);
        chunk.is_changed = true;
        let words = Arc::make_mut(&mut chunk.bits);
        if let Some(word) = words.get_mut((bit % CHUNK / 64) as usize) {
            *word |= 1 << (bit % 64);
        }
    }

    fn chunk(&mut self, table: &str, number: u64) -> &mut Chunk {
        let rows = self.tables.entry(table.into()).or_default();
        let number = number as usize;
        if rows.chunks.len() <= number {
            rows.chunks.resize_with(number + 1, || None);
        }
        // Unreachable: the vector has the place.
        let place = &mut rows.chunks[number];
        place.get_or_insert_with(|| Chunk {
            stored_as: None,
            is_changed: false,
            bits: Arc::new([0; WORDS]),
        })
    }

    /// Puts a chunk that was read from a row of the file.
    pub(super) fn put(&mut self, stored_as: RowId, row: &ChunkRow<'_>) {
        let chunk = self.chunk(row.table, row.number);
        chunk.stored_as = Some(stored_as);
        let words = Arc::make_mut(&mut chunk.bits);
        for (word, bytes) in words.iter_mut().zip(row.bits.chunks(8)) {
            let mut number = [0; 8];
            number
                .iter_mut()
                .zip(bytes)
                .for_each(|(to, from)| *to = *from);
            *word = u64::from_le_bytes(number);
        }
    }

    /// Calls `write` with the row of each chunk that was changed; it returns the row's id.
    pub(super) fn write_changed<E>(
        &mut self,
        mut write: impl FnMut(Option<RowId>, &ChunkRow<'_>) -> Result<RowId, E>,
    ) -> Result<(), E> {
        for (table, rows) in &mut self.tables {
            for (number, chunk) in rows.chunks.iter_mut().enumerate() {
                let Some(chunk) = chunk.as_mut().filter(|chunk| chunk.is_changed) else {
                    continue;
                };
                let mut bits: Vec<u8> = chunk
                    .bits
                    .iter()
                    .flat_map(|word| word.to_le_bytes())
                    .collect();
                bits.truncate(
                    bits.iter()
                        .rposition(|byte| *byte != 0)
                        .map_or(0, |at| at + 1),
                );
                let row = ChunkRow {
                    table,
                    number: number as u64,
                    bits: &bits,
                };
                chunk.stored_as = Some(write(chunk.stored_as, &row)?);
                chunk.is_changed = false;
            }
        }
        Ok(())
    }
}

/// The content of the row of a chunk.
pub(super) struct ChunkRow<'a> {
    pub(super) table: &'a str,
    pub(super) number: u64,
    /// Without the zeros at the end.
    bits: &'a [u8],
}

impl<'a> ChunkRow<'a> {
    /// The payload: the length of the table's name, the name, the number, the bits.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = (self.table.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(self.table.as_bytes());
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(self.bits);
        bytes
    }

    /// `None` if a payload is no row of a chunk of a table with at most `rows_of(table)` rows.
    pub(super) fn from_bytes(
        bytes: &'a [u8],
        rows_of: impl Fn(&str) -> Option<u64>,
    ) -> Option<Self> {
        let (len, rest) = bytes.split_first_chunk()?;
        let (table, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        let table = str::from_utf8(table).ok()?;
        let (number, bits) = rest.split_first_chunk()?;
        let number = u64::from_le_bytes(*number);
        let is_bounded = number <= rows_of(table)? / CHUNK && bits.len() <= WORDS * 8;
        is_bounded.then_some(Self {
            table,
            number,
            bits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_in(hidden: &Hidden, row_id: i64) -> bool {
        hidden
            .rows("t")
            .is_some_and(|rows| rows.contains(RowId(row_id)))
    }

    #[test]
    fn chunks_round_trip_and_clones_stay_as_they_are() {
        let mut hidden = Hidden::default();
        let row_ids = [0, 1, 63, 64, 4095, 4096, 90_000];
        for row_id in row_ids {
            hidden.insert("t", RowId(row_id));
        }
        let clone = hidden.clone();
        hidden.insert("t", RowId(2));
        assert!(!is_in(&clone, 2));
        let mut again = Hidden::default();
        let mut next = 0;
        let written = hidden.write_changed(|stored_as, row| {
            assert_eq!(stored_as, None);
            let bytes = row.to_bytes();
            next += 1;
            let rows_of = |table: &str| (table == "t").then_some(90_001);
            again.put(RowId(next), &ChunkRow::from_bytes(&bytes, rows_of).unwrap());
            // A row that does not fit the pack is refused.
            assert!(ChunkRow::from_bytes(&bytes, |_| None).is_none());
            assert!(row.number == 0 || ChunkRow::from_bytes(&bytes, |_| Some(1)).is_none());
            Ok::<_, ()>(RowId(next))
        });
        written.unwrap();
        assert_eq!(next, 3);
        for row_id in -1..100_000 {
            let expected = row_id == 2 || row_ids.contains(&row_id);
            assert_eq!(is_in(&again, row_id), expected, "{row_id}");
            assert_eq!(is_in(&hidden, row_id), expected, "{row_id}");
        }
        assert!(again.rows("u").is_none());
        // Only chunks that were changed are written again.
        hidden.insert("t", RowId(90_001));
        let mut rows = Vec::new();
        let written = hidden.write_changed(|stored_as, row| {
            rows.push((stored_as, row.number));
            stored_as.ok_or(())
        });
        assert_eq!((written, rows), (Ok(()), vec![(Some(RowId(3)), 21)]));
    }
}
