//! Editing packs: changes in, a layer out; and layers into one file again.

mod save;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use dflat_engine::object::field_value;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{Table, Value, ValueRef, key};

use crate::build::{SourceType, TYPE_BYTES, number_in, source_types};
use crate::layer::{Layer, NewRow, NewTable};
use crate::read::{Pack, ReadType, RecordReader, Sought, check_key};

impl Pack {
    /// Begins changes of this pack. They make another pack, which has a layer over this one.
    ///
    /// # Examples
    /// ```
    /// use dflat_pack::Pack;
    /// use dflat_model::{Table, ValueRef};
    ///
    /// /// Puts a word, given as a payload, in place of another one.
    /// fn put(pack: &Pack, table: &Table, new: &[u8], old: &str) -> dflat_engine::Result<Pack> {
    ///     let old = [ValueRef::Text(old)];
    ///     pack.edit().upsert(table, new).remove(table, &old).finish()
    /// }
    /// ```
    #[must_use]
    pub fn edit(&self) -> PackEdit {
        let types = source_types(self.tables().cloned());
        let (types, failed) = match types {
            Ok(types) => (types, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        PackEdit {
            pack: self.clone(),
            types,
            changes: BTreeMap::new(),
            failed,
        }
    }
}

/// Changes of a pack, which are in memory until [`finish`](Self::finish).
///
/// The last change of a key counts. The types of the pack stay as they are: to add a type, or a
/// field of a newer schema, build a new pack.
pub struct PackEdit {
    pack: Pack,
    types: Vec<SourceType>,
    /// The new payload by the number of a type and an encoded key; `None` removes the object.
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// The error of the first change that was refused.
    failed: Option<Error>,
}

impl PackEdit {
    /// Puts an object: a payload of any encoder, which is verified and made canonical. It takes the
    /// place of the object with its key.
    ///
    /// If the object is refused, [`finish`](Self::finish) fails.
    #[must_use]
    pub fn upsert(mut self, table: &Table, payload: &[u8]) -> Self {
        let ready = self.number(table).and_then(|number| {
            let source = self.types.get(number);
            source
                .map(|source| source.ready(number, payload))
                .transpose()
        });
        match ready {
            Ok(Some(ready)) => drop(self.changes.insert(ready.key, Some(ready.payload))),
            Ok(None) => {}
            Err(error) => self.refuse(error),
        }
        self
    }

    /// Removes the object with a primary key, if there is one.
    #[must_use]
    pub fn remove(mut self, table: &Table, key: &[ValueRef<'_>]) -> Self {
        let number = check_key("remove", table, key).and_then(|()| self.number(table));
        match number {
            Ok(number) => {
                let mut bytes = (number as u16).to_be_bytes().to_vec();
                key::append_all(key.iter().copied(), &mut bytes);
                self.changes.insert(bytes, None);
            }
            Err(error) => self.refuse(error),
        }
        self
    }

    /// The changed pack, whose layer is in memory. A change that changes nothing is left out; if
    /// none is left, this is the pack itself.
    ///
    /// # Errors
    /// - [`InvalidArgument`](ErrorKind::InvalidArgument) if a type is not one of the pack or has
    ///   another primary key there, if a part of a key is missing, if the key of a removal has not
    ///   as many values as the primary key, if the pack has 64 layers already, or if all its layers
    ///   would have more than 1 GiB: [`compact`](Pack::compact) it.
    /// - [`Corrupt`](ErrorKind::Corrupt) if a payload is malformed, or the pack is damaged.
    /// - [`NewerSchema`](ErrorKind::NewerSchema) if a payload has values that the pack's descriptor
    ///   of the type does not know.
    /// - [`Io`](ErrorKind::Io) if the pack cannot be read.
    ///
    /// # Cost
    /// A block of the file below all layers is read for each changed key. The changes of all layers
    /// are put into one table in memory, so the look-ups in a pack with many layers cost as much as
    /// those with one.
    pub fn finish(self) -> Result<Pack> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut reader = TypeReader::new(self.pack.options().checks_blocks());
        let mut tables: Vec<NewTable<'_>> = Vec::new();
        for (key, payload) in self.changes {
            let Some(ty) = self.pack.types().get(number_in(&key)) else {
                continue;
            };
            let before = reader.payload(ty, &key)?;
            if before.as_ref() == payload.as_ref() {
                continue;
            }
            let object = payload.as_ref().or(before.as_ref());
            let row = NewRow {
                key: object.map_or(Ok(Vec::new()), |object| key_of(ty.table(), object))?,
                was_there: before.is_some(),
                payload,
            };
            match tables.last_mut() {
                Some(last) if last.table.name == ty.table().name => last.rows.push(row),
                _ => tables.push(NewTable {
                    table: ty.table(),
                    rows: vec![row],
                }),
            }
        }
        if tables.is_empty() {
            return Ok(self.pack.clone());
        }
        let layer = Layer::new(self.pack.digest(), &tables);
        let layers = [Arc::new(layer)];
        self.pack.with_layers(&layers, ErrorKind::InvalidArgument)
    }

    /// The number of a type of the pack.
    fn number(&self, table: &Table) -> Result<usize> {
        let is_known = self.pack.stored(table)?.is_some();
        let of_name = |ty: &SourceType| ty.table.name.cmp(&table.name);
        let number = self.types.binary_search_by(of_name).ok();
        number.filter(|_| is_known).ok_or_else(|| {
            let message = format!(
                "cannot change {} in {}: the pack was built without this type",
                table.type_name,
                self.pack.path().display()
            );
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }

    fn refuse(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }
}

impl fmt::Debug for PackEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackEdit")
            .field("pack", &self.pack)
            .field("changes", &self.changes.len())
            .finish_non_exhaustive()
    }
}

/// Looks up keys by type and key.
struct TypeReader {
    check_blocks: bool,
    /// The type that was read last.
    number: usize,
    reader: RecordReader,
}

impl TypeReader {
    const fn new(check_blocks: bool) -> Self {
        Self {
            check_blocks,
            number: 0,
            reader: RecordReader::new(check_blocks),
        }
    }

    /// The payload of a type, by the number of the type and an encoded key.
    fn payload(&mut self, ty: &ReadType, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let number = number_in(key);
        if number != self.number {
            // The buffer has blocks of another run.
            *self = Self::new(self.check_blocks);
            self.number = number;
        }
        let key = key.get(TYPE_BYTES..).unwrap_or_default();
        let found = ty.find_payload(&mut self.reader, &Sought::from(key))?;
        Ok(found.map(<[u8]>::to_vec))
    }
}

/// The key of an object.
fn key_of(table: &Table, payload: &[u8]) -> Result<Vec<Value>> {
    let part = |field| field_value(payload, field).map(|value| value.to_value());
    let key: Result<Vec<Value>, _> = table.primary_key.iter().map(part).collect();
    key.map_err(|_| {
        let message = format!("cannot change a {}: its key is damaged", table.type_name);
        Error::new(ErrorKind::Corrupt, message)
    })
}
