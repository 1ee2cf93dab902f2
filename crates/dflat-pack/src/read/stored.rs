//! The parts of a pack that belong to one type.

use std::sync::Arc;

use dflat_engine::object::field_value;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{Field, Table, TableDescriptor, key};

use super::layered::ReadType;
use super::records::{Lent, Reach, RecordReader};
use super::run::Run;
use super::slots::{Candidate, Slots};
use crate::failure::damaged;
use crate::file::PackFile;
use crate::layout::{Place, TypeLayout, key_hash};

/// The number of keys whose objects are brought into the processor's cache at once.
pub(super) const KEYS_AHEAD: usize = 32;

/// The bytes that a processor reads at once.
const LINE_BYTES: usize = 64;

/// The lines of an object, behind the first, that are read ahead. The processor itself reads more
/// of a longer object ahead.
const LINES_AHEAD: usize = 4;

/// A type of a pack, with the places of its objects in memory.
#[derive(Debug)]
pub(crate) struct StoredType {
    /// The type as the pack describes it.
    pub(crate) table: Table,
    pub(crate) objects: Run,
    slots: Slots,
    /// The indexes, in the order of the descriptor.
    pub(crate) indexes: Vec<Run>,
}

/// An object that was looked up.
struct Found {
    at: At,
    lent: Lent,
}

enum At {
    Offset(u64),
    Position(u64),
}

impl StoredType {
    pub(super) fn load(file: &Arc<PackFile>, layout: &TypeLayout) -> Result<Self> {
        let descriptor = TableDescriptor::from_bytes(&layout.descriptor).map_err(|error| {
            let message = format!("cannot read {}: a descriptor", file.path().display());
            Error::with_source(ErrorKind::Corrupt, message, error)
        })?;
        if descriptor.indexes.len() != layout.indexes.len() {
            return Err(damaged(file.path(), "an index of a descriptor is missing"));
        }
        let objects = Run::load(file, &layout.objects, true)?;
        let slots = Slots::load(file, &layout.slots, layout.objects.count)?;
        let indexes = layout.indexes.iter().map(|run| Run::load(file, run, false));
        Ok(Self {
            table: Table::new(descriptor),
            objects,
            slots,
            indexes: indexes.collect::<Result<_>>()?,
        })
    }

    /// Appends the encoded key of an object.
    pub(crate) fn key_of(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
        for field in self.table.primary_key.iter() {
            let value = field_value(payload, field).map_err(|_| self.unreadable(field))?;
            key::append(value, out);
        }
        Ok(())
    }

    #[cold]
    fn unreadable(&self, field: &Field) -> Error {
        let name = &self.table.type_name;
        let why = format!("{field} of an object of {name} is damaged");
        self.objects.damaged(&why)
    }

    /// Looks up an encoded key. Returns the position of its object, and the place of its payload.
    pub(crate) fn find(
        &self,
        reader: &mut RecordReader,
        key: &[u8],
    ) -> Result<Option<(u64, Lent)>> {
        let found = self.search(reader, key)?;
        let found = found.map(|found| match found.at {
            At::Offset(offset) => Ok((self.objects.locate(offset)?.1, found.lent)),
            At::Position(position) => Ok((position, found.lent)),
        });
        found.transpose()
    }

    /// As [`find`](Self::find), without the position.
    pub(super) fn find_payload(
        &self,
        reader: &mut RecordReader,
        key: &[u8],
    ) -> Result<Option<Lent>> {
        Ok(self.search(reader, key)?.map(|found| found.lent))
    }

    fn search(&self, reader: &mut RecordReader, key: &[u8]) -> Result<Option<Found>> {
        for candidate in self.slots.candidates(key_hash(key)) {
            let Candidate::At(place) = candidate else {
                return self.search_in_order(reader, key);
            };
            let lent = reader.load_at(&self.objects, place)?;
            if self.has_key(reader, &lent, key)? {
                let at = At::Offset(place.offset);
                return Ok(Some(Found { at, lent }));
            }
        }
        Ok(None)
    }

    #[cold]
    fn search_in_order(&self, reader: &mut RecordReader, key: &[u8]) -> Result<Option<Found>> {
        let position = self.below(reader, key)?;
        if position >= self.objects.len() {
            return Ok(None);
        }
        let lent = reader.load(&self.objects, position, Reach::Record)?;
        let is_found = self.has_key(reader, &lent, key)?;
        let at = At::Position(position);
        Ok(is_found.then_some(Found { at, lent }))
    }

    /// Whether a payload has an encoded key.
    #[inline]
    fn has_key(&self, reader: &mut RecordReader, lent: &Lent, key: &[u8]) -> Result<bool> {
        let mut other = std::mem::take(&mut reader.key);
        other.clear();
        self.key_of(reader.lent(&self.objects, lent.clone()), &mut other)?;
        let is_equal = other == key;
        reader.key = other;
        Ok(is_equal)
    }

    /// Calls `take` with the place of each object that may have an encoded key, likely of one or
    /// none. Returns whether these are all.
    pub(super) fn candidates(&self, key: &[u8], mut take: impl FnMut(Place)) -> bool {
        for candidate in self.slots.candidates(key_hash(key)) {
            match candidate {
                Candidate::At(place) => take(place),
                Candidate::InOrder => return false,
            }
        }
        true
    }

    /// The payload of the object at a place, if it has an encoded key.
    pub(super) fn payload_at<'r>(
        &'r self,
        reader: &'r mut RecordReader,
        place: Place,
        key: &[u8],
    ) -> Result<Option<&'r [u8]>> {
        let lent = reader.load_at(&self.objects, place)?;
        let is_found = self.has_key(reader, &lent, key)?;
        Ok(is_found.then(|| reader.lent(&self.objects, lent)))
    }

    /// Brings the slots and the objects of some encoded keys into the processor's cache, all at
    /// once, if the file is mapped. Look-ups of them then wait for no memory.
    pub(super) fn prefetch<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) {
        let Some(map) = self.objects.file().mapped() else {
            return;
        };
        let mut hashes = [0; KEYS_AHEAD];
        let mut count = 0;
        for (hash, key) in hashes.iter_mut().zip(keys) {
            *hash = key_hash(key);
            count += 1;
        }
        let hashes = hashes.get(..count).unwrap_or_default();
        // In each of these loops, no read depends on one before, so the processor does many of them
        // at a time.
        let mut touched = 0;
        for hash in hashes {
            touched ^= self.slots.touch(*hash);
        }
        let mut places = [(0, 0); KEYS_AHEAD];
        for (hash, place) in hashes.iter().zip(&mut places) {
            if let Some(Candidate::At(found)) = self.slots.candidates(*hash).next() {
                *place = (
                    self.objects.offset(found.offset) as usize,
                    found.len as usize,
                );
            }
        }
        if !self.objects.is_compressed() {
            for (start, _) in places {
                touched ^= u64::from(map.get(start).copied().unwrap_or(0));
            }
            for (start, len) in places {
                for at in (start + LINE_BYTES..start + len)
                    .step_by(LINE_BYTES)
                    .take(LINES_AHEAD)
                {
                    touched ^= u64::from(map.get(at).copied().unwrap_or(0));
                }
            }
        }
        std::hint::black_box(touched);
    }

    /// Whether the table of keys is that of these hashes and places, which are in order.
    pub(super) fn has_slots_of(&self, keys: &[(u64, Place)]) -> bool {
        self.slots.has_only(keys)
    }

    /// The number of objects whose key is below an encoded key.
    pub(crate) fn below(&self, reader: &mut RecordReader, key: &[u8]) -> Result<u64> {
        self.objects
            .below(reader, key, &|payload, out| self.key_of(payload, out))
    }

    /// Whether a program's descriptor of the table has the same primary key.
    pub(crate) fn has_key_of(&self, table: &Table) -> bool {
        let same = |(a, b): (&Field, &Field)| {
            a.steps == b.steps && a.kind == b.kind && a.default == b.default
        };
        let (own, other) = (&self.table.primary_key, &table.primary_key);
        own.len() == other.len() && own.iter().zip(other.iter()).all(same)
    }
}

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
