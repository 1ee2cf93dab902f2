//! The differences of two packs with different files: among all keys.

use std::cmp::Ordering;

use dflat_engine::Result;
use dflat_engine::object::Object;

use super::PackChange;
use crate::read::{Iter, Objects};

/// Walks through all keys of both packs.
pub(super) struct AllKeys {
    before: Side,
    after: Side,
}

/// The objects of a pack, with the next one.
struct Side {
    /// `None` if the pack was built without the type.
    rest: Option<(Objects, Iter)>,
    has_next: bool,
    position: u64,
    key: Vec<u8>,
    payload: Vec<u8>,
}

impl AllKeys {
    pub(super) fn new(before: Option<Objects>, after: Option<Objects>) -> Self {
        let (before, after) = (Side::new(before), Side::new(after));
        Self { before, after }
    }

    pub(super) fn next(&mut self) -> Result<Option<PackChange>> {
        loop {
            self.before.fill()?;
            self.after.fill()?;
            let order = match (self.before.has_next, self.after.has_next) {
                (false, false) => return Ok(None),
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (true, true) => self.before.key.cmp(&self.after.key),
            };
            let is_equal = order.is_eq() && self.before.payload == self.after.payload;
            let before = self.before.take(order.is_le(), is_equal)?;
            let after = self.after.take(order.is_ge(), is_equal)?;
            if let Some(change) = PackChange::of(before, after) {
                return Ok(Some(change));
            }
        }
    }
}

impl Side {
    fn new(objects: Option<Objects>) -> Self {
        Self {
            rest: objects.map(|objects| {
                let rest = objects.iter();
                (objects, rest)
            }),
            has_next: false,
            position: 0,
            key: Vec::new(),
            payload: Vec::new(),
        }
    }

    fn fill(&mut self) -> Result<()> {
        let Some((objects, rest)) = self.rest.as_mut().filter(|_| !self.has_next) else {
            return Ok(());
        };
        if let Some((position, payload)) = rest.next_payload()? {
            self.key.clear();
            objects.stored().key_of(payload, &mut self.key)?;
            self.payload.clear();
            self.payload.extend_from_slice(payload);
            self.position = position;
            self.has_next = true;
        }
        Ok(())
    }

    /// Takes the next object if `is_taken`. One that equals the other one is not returned.
    fn take(&mut self, is_taken: bool, is_equal: bool) -> Result<Option<Object>> {
        if !is_taken {
            return Ok(None);
        }
        self.has_next = false;
        match &self.rest {
            Some((objects, _)) if !is_equal => {
                objects.object(self.position, &self.payload).map(Some)
            }
            _ => Ok(None),
        }
    }
}
