//! The objects of one type.

use std::ops::{Bound, Range, RangeBounds};

use dflat_engine::object::{Object, Origin, exceeded_limit};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{ROOT_TYPE, RowId, Table, ValueRef, key};

use super::layered::ReadType;
use super::options::OpenOptions;
use super::records::{Reach, RecordReader};
use super::sought::{Sought, integer_of};
use super::stored::KEYS_AHEAD;
use crate::layout::{Place, integer_hash};

/// The objects of one type of a pack, in the order of their keys.
///
/// Clones are cheap. A *position* is the place of an object in that order, from 0 on. The row id of
/// an object is its position plus one.
#[derive(Clone, Debug)]
pub struct Objects {
    stored: ReadType,
    table: Table,
    options: OpenOptions,
}

impl Objects {
    pub(super) const fn new(stored: ReadType, table: Table, options: OpenOptions) -> Self {
        Self {
            stored,
            table,
            options,
        }
    }

    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.stored.len()
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type, as the program describes it.
    #[must_use]
    pub const fn table(&self) -> &Table {
        &self.table
    }

    /// The object with a primary key.
    ///
    /// # Errors
    /// - [`InvalidArgument`](ErrorKind::InvalidArgument) if the key has not as many values as the
    ///   primary key of the type.
    /// - [`Corrupt`](ErrorKind::Corrupt) if the file was damaged, cut off or changed.
    /// - [`Io`](ErrorKind::Io) if the file cannot be read.
    ///
    /// # Cost
    /// One read; none, nearly always, if there is no such object.
    pub fn get(&self, key: &[ValueRef<'_>]) -> Result<Option<Object>> {
        if let Some((key, number)) = integer_of(key)
            && let check = self.options.checks_blocks()
            && let Some(found) = self.stored.find_directly(integer_hash(key), number, check)
        {
            return self.found_directly(found);
        }
        let mut buffer = Vec::new();
        self.check(key)?;
        let sought = Sought::of(key, &mut buffer);
        self.get_sought(&mut self.record_reader(), &sought)
    }

    /// The objects with these primary keys, in the order of the keys; `None` for a key without an
    /// object. They are read in the order of the file, and those of one block together.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_many<'k, K: AsRef<[ValueRef<'k>]>>(
        &self,
        keys: &[K],
    ) -> Result<Vec<Option<Object>>> {
        let mut buffers = vec![Vec::new(); keys.len()];
        keys.iter().try_for_each(|key| self.check(key.as_ref()))?;
        let sought = keys.iter().zip(&mut buffers);
        let sought = sought.map(|(key, buffer)| Sought::of(key.as_ref(), buffer));
        let sought: Vec<Sought<'_>> = sought.collect();
        let stored = self.stored.stored();
        let mut reader = self.record_reader();
        if stored.objects.file().mapped().is_some() {
            return self.get_mapped(&sought, &mut reader);
        }
        let mut found = vec![None; keys.len()];
        let mut candidates = Vec::with_capacity(keys.len());
        for ((number, key), place) in sought.iter().enumerate().zip(&mut found) {
            let take = |place| candidates.push((place, number));
            if self.stored.changed(key).is_some() || !stored.candidates(key, take) {
                *place = self.get_sought(&mut reader, key)?;
            }
        }
        candidates.sort_unstable();
        for (candidate, number) in candidates {
            let (Some(key), Some(place)) = (sought.get(number), found.get_mut(number)) else {
                continue;
            };
            if place.is_none()
                && let Some(payload) = stored.payload_at(&mut reader, candidate, key)?
            {
                let (_, at) = stored.objects.locate(candidate.offset)?;
                *place = Some(self.object(self.stored.position_of(at), payload)?);
            }
        }
        Ok(found)
    }

    /// The objects with these keys, of a mapped file.
    fn get_mapped(
        &self,
        keys: &[Sought<'_>],
        reader: &mut RecordReader,
    ) -> Result<Vec<Option<Object>>> {
        let check = self.options.checks_blocks();
        let mut found = Vec::with_capacity(keys.len());
        for keys in keys.chunks(KEYS_AHEAD) {
            let mut hashes = [0; KEYS_AHEAD];
            for (key, hash) in keys.iter().zip(&mut hashes) {
                *hash = key.hash;
            }
            let hashes = hashes.get(..keys.len()).unwrap_or_default();
            let likely = self.stored.stored().prefetch(hashes);
            for (key, likely) in keys.iter().zip(likely) {
                let find = |number| self.stored.find_likely(key.hash, likely, number, check);
                found.push(match key.number().and_then(find) {
                    Some(found) => self.found_directly(found)?,
                    None => self.get_sought(reader, key)?,
                });
            }
        }
        Ok(found)
    }

    /// The object at a place where it was found.
    #[inline]
    fn found_directly(&self, found: Option<(Place, &[u8])>) -> Result<Option<Object>> {
        let Some((place, payload)) = found else {
            return Ok(None);
        };
        let (_, at) = self.stored.stored().objects.locate(place.offset)?;
        self.object(self.stored.position_of(at), payload).map(Some)
    }

    fn get_sought(&self, reader: &mut RecordReader, key: &Sought<'_>) -> Result<Option<Object>> {
        let found = self.stored.find(reader, key)?;
        let object = |(position, held)| self.object(position, self.stored.held(reader, held));
        found.map(object).transpose()
    }

    /// Whether there is an object with a primary key.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn contains(&self, key: &[ValueRef<'_>]) -> Result<bool> {
        Ok(self.index_of(key)?.is_some())
    }

    /// The position of the object with a primary key.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn index_of(&self, key: &[ValueRef<'_>]) -> Result<Option<u64>> {
        let mut buffer = Vec::new();
        self.check(key)?;
        let sought = Sought::of(key, &mut buffer);
        let found = self.stored.find(&mut self.record_reader(), &sought)?;
        Ok(found.map(|(position, _)| position))
    }

    /// The object at a position; `None` beyond the last.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn nth(&self, position: u64) -> Result<Option<Object>> {
        if position >= self.len() {
            return Ok(None);
        }
        let mut reader = self.record_reader();
        let payload = self.stored.record(&mut reader, position, Reach::Record)?;
        self.object(position, payload).map(Some)
    }

    /// The positions of the objects whose key lies in a range, as for [`range`](Self::range).
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn positions<'k>(&self, keys: impl RangeBounds<&'k [ValueRef<'k>]>) -> Result<Range<u64>> {
        let mut reader = self.record_reader();
        let mut below = |key: &[ValueRef<'_>], is_behind: bool| {
            let mut bound = encoded(key);
            if is_behind {
                bound.push(key::BEHIND);
            }
            self.stored.below(&mut reader, &bound)
        };
        let start = match keys.start_bound() {
            Bound::Unbounded => 0,
            Bound::Included(key) => below(key, false)?,
            Bound::Excluded(key) => below(key, true)?,
        };
        let end = match keys.end_bound() {
            Bound::Unbounded => self.len(),
            Bound::Included(key) => below(key, true)?,
            Bound::Excluded(key) => below(key, false)?,
        };
        Ok(start.min(end)..end)
    }

    pub(super) fn check(&self, key: &[ValueRef<'_>]) -> Result<()> {
        check_key("get", &self.table, key)
    }

    pub(crate) const fn stored(&self) -> &ReadType {
        &self.stored
    }

    pub(crate) const fn record_reader(&self) -> RecordReader {
        RecordReader::new(self.options.checks_blocks())
    }

    /// Verifies a payload.
    pub(crate) fn object(&self, position: u64, payload: &[u8]) -> Result<Object> {
        let row_id = RowId(position as i64 + 1);
        Object::new(&self.table, row_id, Origin::default(), payload)
            .map_err(|_| self.malformed(row_id, payload))
    }

    #[cold]
    fn malformed(&self, row_id: RowId, payload: &[u8]) -> Error {
        let limit = exceeded_limit(&self.table.types, ROOT_TYPE, payload);
        let why = limit.unwrap_or("it is malformed");
        let name = &self.table.type_name;
        let path = self.stored.path().display();
        let message = format!("cannot read row {row_id} of {name} in {path}: {why}");
        Error::new(ErrorKind::Corrupt, message)
    }
}

/// Fails if a key has not as many values as the primary key of a type.
#[inline]
pub(crate) fn check_key(operation: &str, table: &Table, key: &[ValueRef<'_>]) -> Result<()> {
    match key.len() == table.primary_key.len() {
        true => Ok(()),
        false => Err(other_key(operation, table, key.len())),
    }
}

#[cold]
fn other_key(operation: &str, table: &Table, given: usize) -> Error {
    let (name, values) = (&table.type_name, table.primary_key.len());
    let message = format!(
        "cannot {operation} {name}: the key has {given} values; the primary key of {name} has {values}"
    );
    Error::new(ErrorKind::InvalidArgument, message)
}

fn encoded(key: &[ValueRef<'_>]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(KEY_BYTES);
    key::append_all(key.iter().copied(), &mut encoded);
    encoded
}

/// Most keys have fewer bytes.
const KEY_BYTES: usize = 64;
