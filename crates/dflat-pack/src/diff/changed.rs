//! The differences of two packs with the same file below all layers: among the keys that the layers
//! change.

use std::cmp::Ordering;

use dflat_engine::Result;

use super::PackChange;
use crate::read::{Objects, RecordReader, Sought};

/// Walks through the changed keys of both packs.
pub(super) struct ChangedKeys {
    before: Side,
    after: Side,
}

struct Side {
    objects: Objects,
    reader: RecordReader,
    /// The number of the next changed key.
    next: usize,
}

impl ChangedKeys {
    pub(super) const fn new(before: Objects, after: Objects) -> Self {
        Self {
            before: Side::new(before),
            after: Side::new(after),
        }
    }

    pub(super) fn next(&mut self) -> Result<Option<PackChange>> {
        loop {
            let (a, b) = (self.before.next, self.after.next);
            let (a, b) = (
                self.before.objects.stored().changed_key(a),
                self.after.objects.stored().changed_key(b),
            );
            let order = match (a, b) {
                (None, None) => return Ok(None),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.cmp(b),
            };
            let key = a.filter(|_| order.is_le()).or(b).unwrap_or_default();
            let before = find(&self.before.objects, &mut self.before.reader, key)?;
            let after = find(&self.after.objects, &mut self.after.reader, key)?;
            let is_equal = before.map(|(_, payload)| payload) == after.map(|(_, payload)| payload);
            let change = if is_equal {
                None
            } else {
                let object = |objects: &Objects, found: Option<(u64, &[u8])>| {
                    let object = |(position, payload)| objects.object(position, payload);
                    found.map(object).transpose()
                };
                PackChange::of(
                    object(&self.before.objects, before)?,
                    object(&self.after.objects, after)?,
                )
            };
            self.before.next += usize::from(order.is_le());
            self.after.next += usize::from(order.is_ge());
            if change.is_some() {
                return Ok(change);
            }
        }
    }
}

impl Side {
    const fn new(objects: Objects) -> Self {
        Self {
            reader: objects.record_reader(),
            objects,
            next: 0,
        }
    }
}

/// The position and the payload of an encoded key.
fn find<'s>(
    objects: &'s Objects,
    reader: &'s mut RecordReader,
    key: &[u8],
) -> Result<Option<(u64, &'s [u8])>> {
    let ty = objects.stored();
    let found = ty.find(reader, &Sought::from(key))?;
    Ok(found.map(|(position, held)| (position, ty.held(reader, held))))
}
