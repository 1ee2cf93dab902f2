//! Verifying a pack: are its bytes those that its name states?

use std::ops::Range;
use std::sync::Arc;

use dflat_engine::object::canonical;
use dflat_engine::transaction::derive;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{Value, key};

use super::layered::ReadType;
use super::open::load_directory;
use super::pack::Pack;
use super::records::{Reach, RecordReader};
use super::run::Run;
use super::stored::StoredType;
use crate::content::{PackContent, TypeContent};
use crate::failure::damaged;
use crate::file::PackFile;
use crate::layout::{ALIGN, Directory, HEADER_BYTES, Place, key_hash};

impl Pack {
    /// Reads the whole file and checks that each byte is as it was written: all checksums, the
    /// padding, and the digest of the content.
    ///
    /// The objects are then those that the digest names, wherever the file comes from. The indexes
    /// and the table of keys are not part of the digest: another program can write wrong ones with
    /// right checksums. [`verify_objects`](Self::verify_objects) compares them with the objects.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt) if a byte differs; [`Io`](ErrorKind::Io) if the file cannot
    /// be read.
    ///
    /// # Cost
    /// Reads each byte once. Needs as much memory again as the opened pack, for one type at a time.
    pub fn verify(&self) -> Result<()> {
        let file = self.file();
        let (footer, directory) = load_directory(file)?;
        if footer.digest != self.root() {
            return Err(damaged(file.path(), "it was replaced by another pack"));
        }
        verify_padding(file, &directory, footer.directory.offset)?;
        let end = footer.directory.end().unwrap_or(0);
        verify_zeros(file, end..end.next_multiple_of(ALIGN))?;
        let mut content = PackContent::new(directory.types.len());
        for layout in &directory.types {
            let stored = StoredType::load(file, layout)?;
            let mut ty = TypeContent::new();
            verify_run(&stored.objects, Some(&mut ty))?;
            for index in &stored.indexes {
                verify_run(index, None)?;
            }
            content.add(&layout.descriptor, layout.objects.count, ty);
        }
        if content.finish() != footer.digest {
            return Err(damaged(file.path(), "its content has another name"));
        }
        self.layers().iter().try_for_each(|layer| layer.verify())
    }

    /// Checks each object: that it is a canonical payload of its type, that no part of its key is
    /// missing, and that its key is above those before. The table of keys and the indexes must have
    /// the places and values of the objects and no others.
    ///
    /// # Errors
    /// [`Corrupt`](ErrorKind::Corrupt), with the row; [`Io`](ErrorKind::Io) if the file cannot be
    /// read.
    ///
    /// # Cost
    /// A search for each object and for each entry of an index, and 16 bytes of memory for each
    /// object of one type at a time.
    pub fn verify_objects(&self) -> Result<()> {
        self.types().iter().try_for_each(|ty| self.verify_type(ty))
    }

    fn verify_type(&self, ty: &ReadType) -> Result<()> {
        Checker::new(ty.stored(), self.options().checks_blocks()).check()?;
        ty.verify_changes()
    }

    /// All that [`verify`](Self::verify) and [`verify_objects`](Self::verify_objects) find: each
    /// damaged block with its type, up to 100 of them, and of each other type the first object that
    /// does not fit. Of any other damage, the first. A sound pack has none.
    ///
    /// # Cost
    /// As that of both.
    #[must_use]
    pub fn problems(&self) -> Vec<Error> {
        let mut found = Vec::new();
        let verified = self.verify();
        for ty in self.types() {
            let before = found.len();
            if verified.is_err() {
                ty.stored().damaged_blocks(&mut found);
            }
            if found.len() == before
                && let Err(error) = self.verify_type(ty)
            {
                let name = &ty.stored().table.type_name;
                found.push(error.context(format_args!("cannot verify {name}")));
            }
        }
        if let Err(error) = verified
            && found.is_empty()
        {
            found.push(error);
        }
        found
    }
}

/// The largest number of damaged blocks that are named.
const BLOCKS_NAMED_MAX: usize = 100;

impl StoredType {
    fn damaged_blocks(&self, found: &mut Vec<Error>) {
        let name = &self.table.type_name;
        let indexes = self.table.indexes.iter().zip(&self.indexes);
        let indexes = indexes.map(|(index, run)| (format!("the index {index} of {name}"), run));
        let runs = [(format!("the objects of {name}"), &self.objects)].into_iter();
        for (part, run) in runs.chain(indexes) {
            let mut reader = RecordReader::new(true);
            for block in 0..run.blocks() {
                if found.len() >= BLOCKS_NAMED_MAX {
                    return;
                }
                let position = run.positions(block).start;
                if let Err(error) = reader.load(run, position, Reach::Block) {
                    found.push(error.context(format_args!("cannot verify {part}")));
                }
            }
        }
    }
}

/// Checks that there are zeros between the parts of the file.
fn verify_padding(file: &PackFile, directory: &Directory, end: u64) -> Result<()> {
    let mut at = HEADER_BYTES as u64;
    for (extent, _) in directory.parts() {
        verify_zeros(file, at..extent.offset)?;
        at = extent.end().unwrap_or(at);
    }
    verify_zeros(file, at..end)
}

fn verify_zeros(file: &PackFile, padding: Range<u64>) -> Result<()> {
    // Padding is shorter than the alignment of the objects.
    let mut bytes = vec![0; (padding.end - padding.start) as usize];
    file.read(padding.start, &mut bytes)?;
    match bytes.iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => Err(damaged(file.path(), "its padding is damaged")),
    }
}

/// Checks the bytes of a run, and adds those of objects to the content.
fn verify_run(run: &Run, mut content: Option<&mut TypeContent>) -> Result<()> {
    let mut reader = RecordReader::new(true);
    let mut block = 0;
    while block < run.blocks() {
        let (blocks, bytes) = reader.blocks(run, block)?;
        if let Some(content) = &mut content {
            content.data.add(bytes);
        }
        let start = run.bytes(&blocks).start;
        for block in blocks.clone() {
            let place = run.bytes(&(block..block + 1));
            let place = (place.start - start) as usize..(place.end - start) as usize;
            verify_block(
                run,
                block,
                bytes.get(place).unwrap_or_default(),
                &mut content,
            )?;
        }
        block = blocks.end;
    }
    Ok(())
}

/// Checks that the records of a block follow each other, with nothing between but zeros.
fn verify_block(
    run: &Run,
    block: usize,
    bytes: &[u8],
    content: &mut Option<&mut TypeContent>,
) -> Result<()> {
    let mut end = 0;
    for position in run.positions(block) {
        let span = run.span(block, position)?;
        let padding = bytes.get(end..span.start).unwrap_or(&[1]);
        if padding.iter().any(|byte| *byte != 0) {
            return Err(run.damaged("the padding of an object is damaged"));
        }
        if let Some(content) = content {
            content.add_length((span.end - span.start) as u64);
        }
        end = span.end;
    }
    let rest = bytes.get(end..).unwrap_or(&[1]);
    match rest.len() < ALIGN as usize && rest.iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => Err(run.damaged("a block is larger than its records")),
    }
}

/// Compares the parts that are derived from the objects of a type with the objects.
struct Checker<'s> {
    stored: &'s Arc<StoredType>,
    lookups: RecordReader,
    entries: Vec<(RecordReader, u64)>,
    last: Vec<u8>,
    /// The hash of each key, and the place of its object.
    places: Vec<(u64, Place)>,
}

impl<'s> Checker<'s> {
    fn new(stored: &'s Arc<StoredType>, check_blocks: bool) -> Self {
        let reader = || RecordReader::new(check_blocks);
        Self {
            stored,
            lookups: reader(),
            entries: stored.indexes.iter().map(|_| (reader(), 0)).collect(),
            last: Vec::new(),
            places: Vec::new(),
        }
    }

    fn check(mut self) -> Result<()> {
        let run = &self.stored.objects;
        let mut reader = self.lookups.renewed();
        for position in 0..run.len() {
            let payload = reader.record(run, position, Reach::Ahead)?;
            let checked = self.object(position, payload);
            checked.map_err(|error| self.in_row(position, &error))?;
        }
        self.places.sort_unstable();
        if !self.stored.has_slots_of(&self.places) {
            return Err(run.damaged("the table of keys has other places than the objects"));
        }
        for (index, (_, entries)) in self.stored.indexes.iter().zip(&self.entries) {
            if index.len() != *entries {
                return Err(index.damaged("an index has entries of other objects"));
            }
        }
        Ok(())
    }

    fn object(&mut self, position: u64, payload: &[u8]) -> Result<()> {
        let table = &self.stored.table;
        let run = &self.stored.objects;
        let derived = derive(table, payload)?;
        if canonical(table, payload).ok().as_deref() != Some(payload) {
            return Err(run.damaged("an object is not canonical"));
        }
        if derived.key.contains(&Value::Null) {
            return Err(run.damaged("a part of its key is missing"));
        }
        let mut bytes = Vec::new();
        key::append_all(derived.key.iter().map(Value::as_ref), &mut bytes);
        if position > 0 && self.last >= bytes {
            return Err(run.damaged("its key is not above the one before"));
        }
        let before = self.places.last().map_or(0, |(_, place)| place.offset);
        let place = run.place(position, run.block_at(before))?;
        self.places.push((key_hash(&bytes), place));
        if self.stored.below(&mut self.lookups, &bytes)? != position {
            return Err(run.damaged("its key is in another block"));
        }
        self.last = bytes;
        let indexes = self.stored.indexes.iter().zip(&derived.entries);
        for ((index, values), (reader, count)) in indexes.zip(&mut self.entries) {
            let Some(values) = values else { continue };
            let mut entry = Vec::new();
            key::append_all(values.iter().map(Value::as_ref), &mut entry);
            entry.extend_from_slice(&position.to_be_bytes());
            let at = reader.below(index, &entry, &|record, out| {
                out.extend_from_slice(record);
                Ok(())
            })?;
            if at >= index.len() || *reader.record(index, at, Reach::Block)? != *entry {
                return Err(index.damaged("an index lacks its values"));
            }
            *count += 1;
        }
        Ok(())
    }

    fn in_row(&self, position: u64, error: &Error) -> Error {
        let name = &self.stored.table.type_name;
        let message = format!("cannot verify row {} of {name}: {error}", position + 1);
        let kind = match error.kind() {
            ErrorKind::Io => ErrorKind::Io,
            _ => ErrorKind::Corrupt,
        };
        Error::new(kind, message)
    }
}
