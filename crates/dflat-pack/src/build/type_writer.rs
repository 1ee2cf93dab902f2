//! Writes the objects of a type, the table of their keys, and their indexes.

use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{Value, key};

use super::output::Output;
use super::run_writer::RunWriter;
use super::scratch::Scratch;
use super::sorter::Sorter;
use crate::codec::Compression;
use crate::content::TypeContent;
use crate::layout::{
    ALIGN, LEN_BITS_MAX, Place, SlotForm, SlotsLayout, TypeLayout, append, key_hash,
};

/// Takes the objects of a type in the order of their keys.
pub(super) struct TypeWriter {
    scratch: Scratch,
    compression: Compression,
    objects: RunWriter,
    /// The hash of each key, and the place of its object.
    hashes: Sorter,
    /// The entries of each index.
    indexes: Vec<Sorter>,
    record: Vec<u8>,
    /// The length of the longest object.
    len_max: u64,
}

/// An object to write.
pub(super) struct NewObject<'a> {
    /// Its encoded key.
    pub(super) key: &'a [u8],
    pub(super) payload: &'a [u8],
    /// The values of each index; `None` if the index does not have the object.
    pub(super) entries: &'a [Option<Vec<Value>>],
}

impl TypeWriter {
    /// A writer that keeps about so many bytes in memory.
    pub(super) fn new(
        scratch: &Scratch,
        indexes: usize,
        memory: usize,
        compression: Compression,
    ) -> Self {
        let sorter = || Sorter::new(scratch.clone(), memory / (indexes + 1));
        Self {
            scratch: scratch.clone(),
            compression,
            objects: RunWriter::new(scratch, compression, Some(TypeContent::new())),
            hashes: sorter(),
            indexes: (0..indexes).map(|_| sorter()).collect(),
            record: Vec::new(),
            len_max: 0,
        }
    }

    pub(super) fn push(&mut self, out: &mut Output, object: &NewObject<'_>) -> Result<()> {
        let position = self.objects.count();
        let place = self.objects.push(out, object.key, object.payload)?;
        self.record.clear();
        self.record
            .extend_from_slice(&key_hash(object.key).to_be_bytes());
        // The length follows the offset, in the bits that no offset has.
        let place_bits = (place.offset / ALIGN) << LEN_BITS_MAX | SlotForm::short(place.len);
        self.record.extend_from_slice(&place_bits.to_be_bytes());
        self.hashes.push(&self.record, &[])?;
        self.len_max = self.len_max.max(place.len);
        for (index, values) in self.indexes.iter_mut().zip(object.entries) {
            if let Some(values) = values {
                self.record.clear();
                key::append_all(values.iter().map(Value::as_ref), &mut self.record);
                self.record.extend_from_slice(&position.to_be_bytes());
                index.push(&self.record, &[])?;
            }
        }
        Ok(())
    }

    /// Writes the parts behind the objects. Returns the content, too.
    pub(super) fn finish(
        self,
        out: &mut Output,
        descriptor: &[u8],
    ) -> Result<(TypeLayout, TypeContent)> {
        let (objects, content) = self.objects.finish(out)?;
        let form = SlotForm::of(objects.content_len, self.len_max).ok_or_else(|| {
            let bytes = objects.content_len;
            let message = format!("cannot build a pack: {bytes} bytes of a type are too many");
            Error::new(ErrorKind::InvalidArgument, message)
        })?;
        let slots = write_slots(out, self.hashes, objects.count, form)?;
        let mut indexes = Vec::new();
        for index in self.indexes {
            let mut run = RunWriter::new(&self.scratch, self.compression, None);
            let mut entries = index.finish()?;
            while let Some((entry, _)) = entries.next()? {
                run.push(out, entry, entry)?;
            }
            indexes.push(run.finish(out)?.0);
        }
        let layout = TypeLayout {
            descriptor: descriptor.to_vec(),
            objects,
            slots,
            indexes,
        };
        Ok((layout, content.unwrap_or_else(TypeContent::new)))
    }
}

/// Writes the table of keys: each in the first free slot from its own on, in the order of their
/// hashes, so that the table is written from its start to its end.
fn write_slots(out: &mut Output, hashes: Sorter, keys: u64, form: SlotForm) -> Result<SlotsLayout> {
    const WRITTEN_BYTES: usize = 64 * 1024;
    let mut hashes = hashes.finish()?;
    let mut count = 0;
    let section = out.section(|write| {
        let mut bytes = Vec::new();
        while let Some((record, _)) = hashes.next()? {
            let (numbers, _) = record.as_chunks::<8>();
            let number = |at: usize| {
                numbers
                    .get(at)
                    .map_or(0, |bytes| u64::from_be_bytes(*bytes))
            };
            let (hash, place) = (number(0), number(1));
            let place = Place {
                offset: (place >> LEN_BITS_MAX) * ALIGN,
                len: place & ((1 << LEN_BITS_MAX) - 1),
            };
            let home = SlotForm::home(hash, keys);
            while count < home {
                append(0, form.width, &mut bytes);
                count += 1;
            }
            append(form.slot(hash, place), form.width, &mut bytes);
            count += 1;
            if bytes.len() > WRITTEN_BYTES {
                write(&bytes)?;
                bytes.clear();
            }
        }
        write(&bytes)
    })?;
    Ok(SlotsLayout {
        count,
        form,
        section,
    })
}
