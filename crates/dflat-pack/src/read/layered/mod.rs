//! A type as it is read: the objects of a file, under the changes of layers.

mod changes;
mod draft;
mod key_table;

use std::path::Path;
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::object::canonical;
use dflat_model::Table;

use super::records::{Lent, Reach, RecordReader};
use super::run::Run;
use super::slots::Likely;
use super::sought::Sought;
use super::stored::StoredType;
use crate::layout::Place;
pub(crate) use changes::Changes;
use changes::Spot;
pub(super) use draft::Draft;

/// A type of a pack. Clones are cheap.
///
/// Positions are those in the layered pack, unless a name says that they are those in the file.
#[derive(Clone, Debug)]
pub(crate) struct ReadType {
    stored: Arc<StoredType>,
    /// `None` if no layer changes the type.
    changes: Option<Arc<Changes>>,
}

/// A payload that was looked up.
pub(crate) enum Held {
    /// It is in the buffer of the reader, or in the mapped file.
    Read(Lent),
    /// It is in the change with this number.
    Changed(usize),
}

impl ReadType {
    pub(super) const fn new(stored: Arc<StoredType>, changes: Option<Arc<Changes>>) -> Self {
        Self { stored, changes }
    }

    /// The type as the file describes it.
    pub(crate) fn table(&self) -> &Table {
        &self.stored.table
    }

    /// The type in the file.
    pub(crate) const fn stored(&self) -> &Arc<StoredType> {
        &self.stored
    }

    pub(super) const fn changes(&self) -> Option<&Arc<Changes>> {
        self.changes.as_ref()
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        self.stored.objects.file().path()
    }

    pub(crate) fn len(&self) -> u64 {
        match &self.changes {
            Some(changes) => changes.len(),
            None => self.stored.objects.len(),
        }
    }

    /// Looks up a key. Returns the position of its object, and its payload.
    pub(crate) fn find(
        &self,
        reader: &mut RecordReader,
        key: &Sought<'_>,
    ) -> Result<Option<(u64, Held)>> {
        if let Some(changes) = &self.changes
            && let Some(number) = changes.find(key)
        {
            let found = changes.object(number);
            return Ok(found.map(|_| (changes.position(number), Held::Changed(number))));
        }
        let found = self.stored.find(reader, key)?;
        Ok(found.map(|(at, held)| (self.position_of(at), Held::Read(held))))
    }

    /// The place and the payload of a key of one integer with this hash in a mapped file;
    /// `Some(None)` if there is no such object. `None` if the file is not mapped, if a layer may
    /// change the key, or if the first slots of the hash do not decide whether there is the object.
    #[inline]
    pub(super) fn find_directly(
        &self,
        hash: u64,
        number: i128,
        check: bool,
    ) -> Option<Option<(Place, &[u8])>> {
        self.find_likely(hash, self.stored.likely(hash), number, check)
    }

    /// As [`find_directly`](Self::find_directly), with the result for the first slots of the hash.
    #[inline]
    pub(super) fn find_likely(
        &self,
        hash: u64,
        likely: Likely,
        number: i128,
        check: bool,
    ) -> Option<Option<(Place, &[u8])>> {
        match &self.changes {
            Some(changes) if changes.may_have(hash) => None,
            _ => self.stored.find_directly(likely, number, check),
        }
    }

    /// Looks up the payload of a key.
    pub(crate) fn find_payload<'r>(
        &'r self,
        reader: &'r mut RecordReader,
        key: &Sought<'_>,
    ) -> Result<Option<&'r [u8]>> {
        if let Some(changed) = self.changed(key) {
            return Ok(changed.map(|(_, payload)| payload));
        }
        let found = self.stored.find_payload(reader, key)?;
        Ok(found.map(|lent| reader.lent(&self.stored.objects, lent)))
    }

    /// The payload of an object, until the next use of the reader.
    pub(crate) fn held<'r>(&'r self, reader: &'r RecordReader, held: Held) -> &'r [u8] {
        match held {
            Held::Read(place) => reader.lent(&self.stored.objects, place),
            Held::Changed(number) => self.changed_object(number).unwrap_or_default(),
        }
    }

    /// The position and the payload of a key, if layers change it: `Some(None)` if they
    /// remove its object.
    pub(super) fn changed(&self, key: &Sought<'_>) -> Option<Option<(u64, &[u8])>> {
        let changes = self.changes.as_ref()?;
        let number = changes.find(key)?;
        let payload = changes.object(number);
        Some(payload.map(|payload| (changes.position(number), payload)))
    }

    /// The changed key with this number, from 0 on, in the order of keys.
    pub(crate) fn changed_key(&self, number: usize) -> Option<&[u8]> {
        let change = self.changes.as_ref()?.keys.get(number)?;
        Some(&change.key)
    }

    /// The position of an object of the file whose key is not changed.
    pub(super) fn position_of(&self, in_file: u64) -> u64 {
        self.shown(in_file).unwrap_or(in_file)
    }

    /// Whether layers change some objects.
    pub(crate) const fn has_changes(&self) -> bool {
        self.changes.is_some()
    }

    /// The position of an object of the file; `None` if its key is changed.
    pub(crate) fn shown(&self, in_file: u64) -> Option<u64> {
        match &self.changes {
            Some(changes) => changes.position_of(in_file),
            None => Some(in_file),
        }
    }

    /// The number of objects of the file before a position, with those that were removed.
    pub(crate) fn stored_before(&self, position: u64) -> u64 {
        match &self.changes {
            Some(changes) => changes.stored_before(position),
            None => position,
        }
    }

    /// The payload of the object at a position.
    pub(crate) fn record<'r>(
        &'r self,
        reader: &'r mut RecordReader,
        position: u64,
        reach: Reach,
    ) -> Result<&'r [u8]> {
        let spot = match &self.changes {
            Some(changes) => changes.spot(position),
            None => Spot::Stored(position),
        };
        match spot {
            Spot::Stored(at) => reader.record(&self.stored.objects, at, reach),
            Spot::Changed(number) => Ok(self.changed_object(number).unwrap_or_default()),
        }
    }

    fn changed_object(&self, number: usize) -> Option<&[u8]> {
        self.changes.as_ref()?.object(number)
    }

    /// The number of objects whose key is below an encoded key.
    pub(crate) fn below(&self, reader: &mut RecordReader, key: &[u8]) -> Result<u64> {
        let at = self.stored.below(reader, key)?;
        Ok(match &self.changes {
            Some(changes) => changes.moved(at, changes.below(key)),
            None => at,
        })
    }

    /// Appends the encoded key of an object.
    pub(crate) fn key_of(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.stored.key_of(payload, out)
    }

    /// Checks that the objects of the layers are canonical. All else was checked when the layers
    /// were opened.
    pub(super) fn verify_changes(&self) -> Result<()> {
        let changes = self.changes.iter().flat_map(|changes| &changes.keys);
        for object in changes.filter_map(|change| change.object.as_ref()) {
            let payload = object.bytes();
            if canonical(self.table(), payload).ok().as_deref() != Some(payload) {
                return Err(object.layer.damaged("an object of it is not canonical"));
            }
        }
        Ok(())
    }

    /// An index in the file, and its entries in the layers: encoded values, and the position of the
    /// object with its highest byte first.
    pub(crate) fn index(&self, number: usize) -> Option<(&Run, &[Box<[u8]>])> {
        let entries = self.changes.as_ref();
        let entries = entries.and_then(|changes| changes.indexes.get(number));
        let run = self.stored.indexes.get(number)?;
        Some((run, entries.map_or(&[], Vec::as_slice)))
    }
}
