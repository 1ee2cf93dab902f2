//! Puts layers over the objects of a file.

use std::cmp::Ordering;
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::transaction::derive;
use dflat_model::{Value, key};

use super::super::records::{Reach, RecordReader};
use super::super::stored::StoredType;
use super::changes::{ChangedKey, Changes, Piece};
use crate::layer::{Layer, LayerRow};

/// The changed keys of a type while layers are put over each other.
pub(in super::super) struct Draft<'s> {
    stored: &'s StoredType,
    reader: RecordReader,
    keys: Vec<ChangedKey>,
}

impl<'s> Draft<'s> {
    /// Begins with the changes of the layers below.
    pub(in super::super) fn new(
        stored: &'s StoredType,
        below: Option<&Changes>,
        check_blocks: bool,
    ) -> Self {
        Self {
            stored,
            reader: RecordReader::new(check_blocks),
            keys: below.map_or_else(Vec::new, |below| below.keys.clone()),
        }
    }

    /// Puts a layer over all before. Its rows come by their keys.
    pub(in super::super) fn put(&mut self, layer: &Arc<Layer>, rows: Vec<LayerRow>) -> Result<()> {
        let before = std::mem::take(&mut self.keys);
        let mut keys = Vec::with_capacity(before.len() + rows.len());
        let (mut before, mut rows) = (before.into_iter().peekable(), rows.into_iter().peekable());
        loop {
            let order = match (before.peek(), rows.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(change), Some(row)) => (*change.key).cmp(row.key.as_slice()),
            };
            let change = order.is_le().then(|| before.next()).flatten();
            let row = order.is_ge().then(|| rows.next()).flatten();
            match (change, row) {
                (Some(change), None) => keys.push(change),
                (change, Some(row)) => keys.extend(self.changed(change.as_ref(), row, layer)?),
                (None, None) => {}
            }
        }
        self.keys = keys;
        Ok(())
    }

    /// The change of a key after a row of a layer; `None` if the key is as in the file, which does
    /// not have it.
    fn changed(
        &mut self,
        below: Option<&ChangedKey>,
        row: LayerRow,
        layer: &Arc<Layer>,
    ) -> Result<Option<ChangedKey>> {
        let (is_there, at, is_stored) = match below {
            Some(change) => (change.object.is_some(), change.at, change.is_stored),
            None => {
                let (at, is_stored) = self.in_file(&row.key)?;
                (is_stored, at, is_stored)
            }
        };
        if is_there != row.was_there {
            return Err(layer.damaged("its changes do not fit its base"));
        }
        let object = row.payload.map(|place| Piece {
            layer: Arc::clone(layer),
            place,
        });
        Ok((is_stored || object.is_some()).then(|| ChangedKey {
            key: row.key.into(),
            object,
            at,
            is_stored,
        }))
    }

    /// The number of objects of the file whose keys are below an encoded key, and whether the file
    /// has an object with this key.
    fn in_file(&mut self, key: &[u8]) -> Result<(u64, bool)> {
        let at = self.stored.below(&mut self.reader, key)?;
        if at == self.stored.objects.len() {
            return Ok((at, false));
        }
        let payload = self.reader.record(&self.stored.objects, at, Reach::Block)?;
        let mut other = Vec::new();
        self.stored.key_of(payload, &mut other)?;
        Ok((at, other == key))
    }

    /// Verifies the objects, and makes the index entries.
    pub(in super::super) fn finish(self) -> Result<Changes> {
        let table = &self.stored.table;
        let mut changes = Changes::new(self.keys, self.stored.objects.len());
        let mut indexes: Vec<Vec<Box<[u8]>>> = vec![Vec::new(); self.stored.indexes.len()];
        for (number, change) in changes.keys.iter().enumerate() {
            let Some(object) = &change.object else {
                continue;
            };
            let derived =
                derive(table, object.bytes()).map_err(|error| object.layer.damaged(error))?;
            if key::encode(derived.key.iter().map(Value::as_ref)) != *change.key {
                return Err(object.layer.damaged("an object of it has another key"));
            }
            for (entries, values) in indexes.iter_mut().zip(&derived.entries) {
                if let Some(values) = values {
                    let mut entry = key::encode(values.iter().map(Value::as_ref));
                    entry.extend_from_slice(&changes.position(number).to_be_bytes());
                    entries.push(entry.into());
                }
            }
        }
        indexes
            .iter_mut()
            .for_each(|entries| entries.sort_unstable());
        changes.indexes = indexes;
        Ok(changes)
    }
}
