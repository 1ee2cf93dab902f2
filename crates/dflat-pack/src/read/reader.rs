//! Look-ups of many payloads by one thread.

use dflat_engine::Result;
use dflat_model::ValueRef;

use super::objects::Objects;
use super::records::RecordReader;
use super::sought::{Sought, integer_of};
use super::stored::KEYS_AHEAD;
use crate::layout::integer_hash;

impl Objects {
    /// A reader for many look-ups by one thread, which keeps its buffers.
    #[must_use]
    pub fn reader(&self) -> ObjectsReader<'_> {
        ObjectsReader::new(self)
    }
}

/// Looks up payloads with buffers that it keeps from one look-up to the next.
#[derive(Debug)]
pub struct ObjectsReader<'o> {
    objects: &'o Objects,
    records: RecordReader,
    /// For keys that are not one integer.
    buffer: Vec<u8>,
}

impl<'o> ObjectsReader<'o> {
    pub(super) const fn new(objects: &'o Objects) -> Self {
        Self {
            objects,
            records: objects.record_reader(),
            buffer: Vec::new(),
        }
    }

    /// The payload of the object with a primary key, lent until the next call. It is not verified.
    ///
    /// # Errors
    /// As [`Objects::get`].
    ///
    /// # Cost
    /// One read, and no allocation once the buffers are as large as the largest payload.
    pub fn payload(&mut self, key: &[ValueRef<'_>]) -> Result<Option<&[u8]>> {
        let stored = self.objects.stored();
        if let Some((key, number)) = integer_of(key)
            && let check = self.records.checks_blocks()
            && let Some(found) = stored.find_directly(integer_hash(key), number, check)
        {
            return Ok(found.map(|(_, payload)| payload));
        }
        self.find_payload(key)
    }

    #[inline(never)]
    fn find_payload(&mut self, key: &[ValueRef<'_>]) -> Result<Option<&[u8]>> {
        let objects = self.objects;
        objects.check(key)?;
        let sought = Sought::of(key, &mut self.buffer);
        objects.stored().find_payload(&mut self.records, &sought)
    }

    /// Calls `take` for each of some primary keys, in their order, with the number of the key and
    /// the payload of its object; `None` if there is no such object. The payloads are not verified.
    ///
    /// # Errors
    /// As [`Objects::get`].
    ///
    /// # Cost
    /// If the file is mapped, the objects of several keys are brought into the processor's cache at
    /// once, so one of 16 keys costs a third to a half of a [`payload`](Self::payload). Otherwise,
    /// each costs one read.
    pub fn payloads<'k, K: AsRef<[ValueRef<'k>]>>(
        &mut self,
        keys: &[K],
        mut take: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let stored = self.objects.stored();
        let check = self.records.checks_blocks();
        for (chunk, keys) in keys.chunks(KEYS_AHEAD).enumerate() {
            let mut hashes = [0; KEYS_AHEAD];
            for (key, hash) in keys.iter().zip(&mut hashes) {
                self.objects.check(key.as_ref())?;
                *hash = match integer_of(key.as_ref()) {
                    Some((key, _)) => integer_hash(key),
                    None => Sought::of(key.as_ref(), &mut self.buffer).hash,
                };
            }
            let hashes = hashes.get(..keys.len()).unwrap_or_default();
            let likely = stored.stored().prefetch(hashes);
            let keys = keys.iter().zip(hashes).zip(likely);
            for (place, ((key, hash), likely)) in keys.enumerate() {
                let find = |(_, number)| stored.find_likely(*hash, likely, number, check);
                let payload = match integer_of(key.as_ref()).and_then(find) {
                    Some(found) => found.map(|(_, payload)| payload),
                    None => self.find_payload(key.as_ref())?,
                };
                take(chunk * KEYS_AHEAD + place, payload);
            }
        }
        Ok(())
    }
}
