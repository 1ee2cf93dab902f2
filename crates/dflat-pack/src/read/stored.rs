//! The parts of a pack that belong to one type.

use std::sync::Arc;

use dflat_engine::object::field_value;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{Field, Table, TableDescriptor, key};

use super::layered::ReadType;
use super::records::{Lent, Reach, RecordReader};
use super::run::Run;
use super::slots::Slots;
use crate::failure::damaged;
use crate::file::PackFile;
use crate::layout::{Place, TypeLayout, key_hash};

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
        let (keys, blocks) = (layout.objects.count, layout.objects.blocks_count);
        let slots = Slots::load(file, &layout.slots, keys, blocks)?;
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

    /// Looks up an encoded key. Returns the position of its object, and the place of its
    /// payload.
    pub(crate) fn find(
        &self,
        reader: &mut RecordReader,
        key: &[u8],
    ) -> Result<Option<(u64, Lent)>> {
        let mut other = Vec::new();
        for place in self.slots.places(key_hash(key)) {
            let position = match place {
                Some(place) => self.objects.position(place)?,
                None => self.below(reader, key)?,
            };
            if position < self.objects.len() {
                let lent = reader.load(&self.objects, position, Reach::Record)?;
                other.clear();
                self.key_of(reader.lent(&self.objects, lent.clone()), &mut other)?;
                if other == key {
                    return Ok(Some((position, lent)));
                }
            }
            if place.is_none() {
                break;
            }
        }
        Ok(None)
    }

    /// Calls `take` with the position of each object that may have an encoded key, likely of one
    /// or none.
    pub(super) fn candidates(
        &self,
        reader: &mut RecordReader,
        key: &[u8],
        mut take: impl FnMut(u64),
    ) -> Result<()> {
        for place in self.slots.places(key_hash(key)) {
            let Some(place) = place else {
                let position = self.below(reader, key)?;
                if position < self.objects.len() {
                    take(position);
                }
                break;
            };
            take(self.objects.position(place)?);
        }
        Ok(())
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
