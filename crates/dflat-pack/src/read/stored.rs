//! The parts of a pack that belong to one type.

use std::sync::Arc;

use dflat_engine::object::field_value;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{Field, Table, TableDescriptor, key};

use super::records::{Lent, Reach, RecordReader};
use super::run::Run;
use super::slots::{Candidate, Likely, Slots};
use super::sought::{IntegerField, Sought};
use crate::failure::damaged;
use crate::file::PackFile;
use crate::layout::{Place, TypeLayout};

/// The number of keys whose objects are brought into the processor's cache at once.
pub(super) const KEYS_AHEAD: usize = 32;

/// The bytes that a processor reads at once.
const LINE_BYTES: usize = 64;

/// The lines of an object that are read ahead. The processor itself reads more of a longer object
/// ahead.
const LINES_AHEAD: usize = 16;

/// A type of a pack, with the places of its objects in memory.
#[derive(Debug)]
pub(crate) struct StoredType {
    /// The type as the pack describes it.
    pub(crate) table: Table,
    pub(crate) objects: Run,
    slots: Slots,
    /// The field of the key, if the key is one integer and the file is mapped and not compressed.
    integer: Option<IntegerField>,
    /// The indexes, in the order of the descriptor.
    pub(crate) indexes: Vec<Run>,
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
        let table = Table::new(descriptor);
        let is_direct = file.mapped().is_some() && !objects.is_compressed();
        let integer = IntegerField::of(&table).filter(|_| is_direct);
        Ok(Self {
            table,
            objects,
            slots,
            integer,
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

    /// Looks up a hash in its first slots.
    #[inline]
    pub(super) fn likely(&self, hash: u64) -> Likely {
        self.slots.likely(hash)
    }

    /// The place and the payload of a key of one integer in a mapped file; `Some(None)` if there is
    /// no such object. `None` if the first slots of the hash do not decide that.
    #[inline]
    pub(super) fn find_directly(
        &self,
        likely: Likely,
        number: i128,
        check: bool,
    ) -> Option<Option<(Place, &[u8])>> {
        let field = self.integer.as_ref()?;
        let place = match likely {
            Likely::At(place) => place,
            Likely::Absent => return Some(None),
            Likely::Unknown => return None,
        };
        let payload = self.objects.in_map(place, check)?;
        (field.read(payload)? == number).then_some(Some((place, payload)))
    }

    /// Looks up a key. Returns the position of its object, and the place of its payload.
    #[inline]
    pub(crate) fn find(
        &self,
        reader: &mut RecordReader,
        key: &Sought<'_>,
    ) -> Result<Option<(u64, Lent)>> {
        match self.slots.likely(key.hash) {
            Likely::At(place) => {
                // While the object is brought into the processor's cache, its position is found.
                reader.touch(&self.objects, place);
                let (_, position) = self.objects.locate(place.offset)?;
                let lent = reader.load_at(&self.objects, place)?;
                if self.has_key(reader, &lent, key)? {
                    return Ok(Some((position, lent)));
                }
            }
            Likely::Absent => return Ok(None),
            Likely::Unknown => {}
        }
        self.find_slowly(reader, key)
    }

    /// As [`find`](Self::find), without the position.
    pub(super) fn find_payload(
        &self,
        reader: &mut RecordReader,
        key: &Sought<'_>,
    ) -> Result<Option<Lent>> {
        match self.slots.likely(key.hash) {
            Likely::At(place) => {
                let lent = reader.load_at(&self.objects, place)?;
                if self.has_key(reader, &lent, key)? {
                    return Ok(Some(lent));
                }
            }
            Likely::Absent => return Ok(None),
            Likely::Unknown => {}
        }
        let found = self.find_slowly(reader, key)?;
        Ok(found.map(|(_, lent)| lent))
    }

    /// Looks up a key in all slots that may have it.
    #[inline(never)]
    fn find_slowly(
        &self,
        reader: &mut RecordReader,
        key: &Sought<'_>,
    ) -> Result<Option<(u64, Lent)>> {
        for candidate in self.slots.candidates(key.hash) {
            let Candidate::At(place) = candidate else {
                return self.find_in_order(reader, key);
            };
            let lent = reader.load_at(&self.objects, place)?;
            if self.has_key(reader, &lent, key)? {
                let (_, position) = self.objects.locate(place.offset)?;
                return Ok(Some((position, lent)));
            }
        }
        Ok(None)
    }

    #[cold]
    fn find_in_order(
        &self,
        reader: &mut RecordReader,
        key: &Sought<'_>,
    ) -> Result<Option<(u64, Lent)>> {
        let position = self.below(reader, key.encoded())?;
        if position >= self.objects.len() {
            return Ok(None);
        }
        let lent = reader.load(&self.objects, position, Reach::Record)?;
        let is_found = self.has_key(reader, &lent, key)?;
        Ok(is_found.then_some((position, lent)))
    }

    /// Whether a payload has a key.
    #[inline]
    fn has_key(&self, reader: &mut RecordReader, lent: &Lent, key: &Sought<'_>) -> Result<bool> {
        let payload = reader.lent(&self.objects, lent.clone());
        if let [field] = &*self.table.primary_key {
            let value = field_value(payload, field).map_err(|_| self.unreadable(field))?;
            if let Some(is_equal) = key.equals(value) {
                return Ok(is_equal);
            }
        }
        self.has_encoded_key(reader, lent, key)
    }

    #[inline(never)]
    fn has_encoded_key(
        &self,
        reader: &mut RecordReader,
        lent: &Lent,
        key: &Sought<'_>,
    ) -> Result<bool> {
        let mut other = std::mem::take(&mut reader.key);
        other.clear();
        self.key_of(reader.lent(&self.objects, lent.clone()), &mut other)?;
        let is_equal = other == key.encoded();
        reader.key = other;
        Ok(is_equal)
    }

    /// Calls `take` with the place of each object that may have a key, likely of one or none.
    /// Returns whether these are all.
    pub(super) fn candidates(&self, key: &Sought<'_>, mut take: impl FnMut(Place)) -> bool {
        for candidate in self.slots.candidates(key.hash) {
            match candidate {
                Candidate::At(place) => take(place),
                Candidate::InOrder => return false,
            }
        }
        true
    }

    /// The payload of the object at a place, if it has a key.
    pub(super) fn payload_at<'r>(
        &'r self,
        reader: &'r mut RecordReader,
        place: Place,
        key: &Sought<'_>,
    ) -> Result<Option<&'r [u8]>> {
        let lent = reader.load_at(&self.objects, place)?;
        let is_found = self.has_key(reader, &lent, key)?;
        Ok(is_found.then(|| reader.lent(&self.objects, lent)))
    }

    /// Brings the slots and the objects of up to [`KEYS_AHEAD`] hashes of keys into the processor's
    /// cache, all at once, if the file is mapped. Look-ups of them then hardly wait for memory.
    /// Returns the results of the look-ups in the first slots.
    pub(super) fn prefetch(&self, hashes: &[u64]) -> [Likely; KEYS_AHEAD] {
        let mut all = [Likely::Unknown; KEYS_AHEAD];
        let Some(map) = self.objects.file().mapped() else {
            return all;
        };
        // In each of these loops, no read depends on one before, so the processor does many of them
        // at a time.
        let mut touched = 0;
        for hash in hashes {
            touched ^= self.slots.touch(*hash);
        }
        for (hash, likely) in hashes.iter().zip(&mut all) {
            *likely = self.slots.likely(*hash);
        }
        if !self.objects.is_compressed() {
            let byte = |at: usize| u64::from(map.get(at).copied().unwrap_or(0));
            for likely in all.iter().take(hashes.len()) {
                if let Likely::At(place) = likely {
                    let start = self.objects.offset(place.offset) as usize;
                    let len = place.len as usize;
                    touched ^= byte(start) ^ byte(start + len.saturating_sub(1));
                    let lines = start..start + len.min(LINES_AHEAD * LINE_BYTES);
                    for at in lines.step_by(LINE_BYTES).skip(1) {
                        touched ^= byte(at);
                    }
                }
            }
        }
        std::hint::black_box(touched);
        all
    }

    /// Whether the table of keys is that of these hashes and places, which are in order.
    pub(super) fn has_slots_of(&self, keys: &[(u64, Place)]) -> bool {
        self.slots.has_only(keys)
    }

    /// The number of objects whose key is below an encoded key.
    pub(crate) fn below(&self, reader: &mut RecordReader, key: &[u8]) -> Result<u64> {
        reader.below(&self.objects, key, &|payload, out| {
            self.key_of(payload, out)
        })
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
