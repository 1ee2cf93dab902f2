//! Building packs.
//!
//! Objects that come in the order of their types and keys are written as they come. As soon as one
//! does not, this file becomes the first of several sorted runs, the others are sorted in temporary
//! files, and all are merged into another file at the end.

mod kept;
mod merge;
mod new_file;
mod options;
mod output;
mod pack_writer;
mod records;
mod run_writer;
mod scratch;
mod sorter;
mod source;
mod type_writer;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use crate::hold::hold;
use crate::read::{OpenOptions, Pack, StoredPayloads};
pub(crate) use new_file::NewFile;
pub use options::{BuildOptions, BuildProgress};
use pack_writer::PackWriter;
use scratch::Scratch;
use sorter::Sorter;
use source::Ready;
pub(crate) use source::{SourceType, TYPE_BYTES, types as source_types};
use type_writer::NewObject;

impl Pack {
    /// Builds a pack of objects in any order: pairs of a table, which must be among `tables`, and a
    /// payload of any encoder. Returns the pack, whose file is in `directory` under the name of its
    /// content.
    ///
    /// The pack has all of `tables`, those without objects too. [`PackBuilder`] has options, and
    /// takes objects one by one.
    ///
    /// # Errors
    /// As [`PackBuilder::add`] and [`PackBuilder::finish`].
    pub fn build<B: AsRef<[u8]>>(
        directory: impl AsRef<Path>,
        tables: impl IntoIterator<Item = Table>,
        objects: impl IntoIterator<Item = (Table, B)>,
    ) -> Result<Self> {
        let mut builder = PackBuilder::new(directory, tables, BuildOptions::default())?;
        for (table, payload) in objects {
            builder.add(&table, payload.as_ref())?;
        }
        builder.finish()
    }
}

/// Builds a pack from objects that are added one by one, in any order.
///
/// The file has no name until it is whole and its bytes are on the device. A builder that is
/// dropped, and a process that ends, leave nothing behind. On other systems than Linux, and on file
/// systems without nameless files, a process that is killed leaves a file `.dflat-*.partial`, which
/// the next build in the directory removes.
///
/// # Cost
/// A source that is sorted by the names of the tables, and then by keys, is written once. Any other
/// is written twice. Each time that 128 times the memory has come, the objects so far are written
/// once more.
pub struct PackBuilder {
    scratch: Scratch,
    types: Arc<[SourceType]>,
    options: BuildOptions,
    /// Takes the objects until one is out of order.
    writer: PackWriter,
    /// The key of the object that was written last.
    last: Vec<u8>,
    /// The objects from the first one on that is out of order.
    sorter: Option<Sorter>,
    progress: BuildProgress,
    /// Whether an object was written in part only.
    is_broken: bool,
}

impl PackBuilder {
    /// A builder of a pack with these types, in a directory that exists.
    ///
    /// # Errors
    /// - [`InvalidArgument`](ErrorKind::InvalidArgument) if two descriptors of one table differ.
    /// - [`ReadOnly`](ErrorKind::ReadOnly) and [`Io`](ErrorKind::Io) if the directory cannot be
    ///   written.
    pub fn new(
        directory: impl AsRef<Path>,
        tables: impl IntoIterator<Item = Table>,
        options: BuildOptions,
    ) -> Result<Self> {
        let scratch = Scratch::new(directory.as_ref());
        let types: Arc<[SourceType]> = source_types(tables)?.into();
        let (memory, compression) = (options.memory_max / 2, options.compression);
        let writer = PackWriter::create(&scratch, Arc::clone(&types), memory, compression)?;
        Ok(Self {
            scratch,
            types,
            options,
            writer,
            last: Vec::new(),
            sorter: None,
            progress: BuildProgress {
                added: 0,
                written: 0,
            },
            is_broken: false,
        })
    }

    /// Adds an object: a payload of any encoder, which is verified and made canonical.
    ///
    /// An object that is refused is not in the pack, and the builder goes on.
    ///
    /// # Errors
    /// - [`InvalidArgument`](ErrorKind::InvalidArgument) if the table is not one of the pack, or a
    ///   part of the key is missing.
    /// - [`Corrupt`](ErrorKind::Corrupt) if the payload is malformed.
    /// - [`NewerSchema`](ErrorKind::NewerSchema) if the payload has values that the table's
    ///   descriptor does not know.
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists) if the object before has the same key. Others
    ///   with the same key are found by [`finish`](Self::finish).
    /// - [`Cancelled`](ErrorKind::Cancelled) if the callback for the progress cancelled the build,
    ///   and [`Panicked`](ErrorKind::Panicked) if it panicked.
    /// - [`StorageFull`](ErrorKind::StorageFull) and [`Io`](ErrorKind::Io) if the files cannot be
    ///   written.
    /// - [`Aborted`](ErrorKind::Aborted) if the callback cancelled or panicked, or a write failed,
    ///   in an earlier call.
    pub fn add(&mut self, table: &Table, payload: &[u8]) -> Result<()> {
        self.refuse_broken()?;
        let (number, source) = self.source(table)?;
        let ready = source.ready(number, payload)?;
        if self.last == ready.key {
            return Err(source.exists_twice(&ready.derived.key));
        }
        self.is_broken = true;
        self.progress.added += 1;
        if self.sorter.is_none() && ready.key > self.last {
            write(&mut self.writer, number, &ready)?;
            self.last = ready.key;
            self.progress.written += 1;
        } else {
            let limit = self.options.memory_max / 2;
            let sorter = || Sorter::new(self.scratch.clone(), limit);
            let sorter = self.sorter.get_or_insert_with(sorter);
            sorter.push(&ready.key, &ready.payload)?;
        }
        self.options.report(self.progress)?;
        self.is_broken = false;
        Ok(())
    }

    /// The number of objects that were added.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.progress.added
    }

    /// Whether no object was added.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes what is left, and gives the file its name: that of its content. A file of the same
    /// name has the same content; it stays if it has the same bytes, and is replaced otherwise.
    /// Only the owner may read the file.
    ///
    /// # Errors
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists) if two objects of a type have the same key.
    /// - [`Cancelled`](ErrorKind::Cancelled), [`StorageFull`](ErrorKind::StorageFull) and
    ///   [`Io`](ErrorKind::Io) as [`add`](Self::add).
    pub fn finish(mut self) -> Result<Pack> {
        self.refuse_broken()?;
        let scratch = self.scratch.clone();
        let (file, digest) = match self.sorter.take() {
            None => self.writer.finish()?,
            Some(sorter) => self.merge(sorter)?,
        };
        let path = digest.path_in(scratch.directory());
        // A file of this name is not deleted as garbage while the new one takes its place.
        let held = hold(&path);
        let published = scratch.named(file.publish(&path))?;
        drop(held);
        let pack = Pack::open(path);
        drop(published);
        pack
    }

    /// Merges the objects that were written as they came with those that were sorted.
    fn merge(self, sorter: Sorter) -> Result<(NewFile, crate::Digest)> {
        let Self {
            scratch,
            types,
            mut options,
            mut progress,
            writer,
            ..
        } = self;
        let mut sorted = sorter.finish()?;
        let (file, _) = writer.finish()?;
        let file = scratch.named(file.file().try_clone())?;
        let before = Pack::of_file(file, scratch.directory(), OpenOptions::default())?;
        let mut before = Before::new(before.payloads(), &types);
        let (memory, compression) = (options.memory_max / 2, options.compression);
        let mut writer = PackWriter::create(&scratch, Arc::clone(&types), memory, compression)?;
        let mut last = Vec::new();
        let mut early = before.next()?;
        let mut late = sorted
            .next()?
            .map(|record| stored(&types, record))
            .transpose()?;
        progress.written = 0;
        loop {
            let is_early = match (&early, &late) {
                (Some(early), Some(late)) => early.key <= late.key,
                (early, late) => early.is_some() || late.is_none(),
            };
            let taken = if is_early { early.take() } else { late.take() };
            let Some(ready) = taken else { break };
            let number = number_in(&ready.key);
            if last == ready.key {
                return Err(source_of(&types, number)?.exists_twice(&ready.derived.key));
            }
            write(&mut writer, number, &ready)?;
            last = ready.key;
            progress.written += 1;
            options.report(progress)?;
            if is_early {
                early = before.next()?;
            } else {
                late = sorted
                    .next()?
                    .map(|record| stored(&types, record))
                    .transpose()?;
            }
        }
        writer.finish()
    }

    fn source(&self, table: &Table) -> Result<(usize, &SourceType)> {
        let of_name = |ty: &SourceType| ty.table.name.cmp(&table.name);
        let found = self.types.binary_search_by(of_name).ok();
        let found = found.and_then(|number| Some((number, self.types.get(number)?)));
        found.ok_or_else(|| {
            let name = &table.type_name;
            let message = format!("cannot add a {name} to a pack: it was built without this type");
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }

    fn refuse_broken(&self) -> Result<()> {
        if self.is_broken {
            let message = "cannot build a pack: an earlier call failed, so it must be built again";
            return Err(Error::new(ErrorKind::Aborted, message));
        }
        Ok(())
    }
}

impl fmt::Debug for PackBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackBuilder")
            .field("directory", &self.scratch.directory())
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

fn write(writer: &mut PackWriter, number: usize, ready: &Ready) -> Result<()> {
    let object = NewObject {
        key: ready.key.get(TYPE_BYTES..).unwrap_or_default(),
        payload: &ready.payload,
        entries: &ready.derived.entries,
    };
    writer.push(number, &object)
}

/// The number of the type in front of a key.
pub(crate) fn number_in(key: &[u8]) -> usize {
    key.first_chunk()
        .map_or(0, |bytes| u16::from_be_bytes(*bytes).into())
}

/// The type with a number.
fn source_of(types: &[SourceType], number: usize) -> Result<&SourceType> {
    types.get(number).ok_or_else(|| {
        let message = format!("cannot build a pack: there is no type {number}");
        Error::new(ErrorKind::Backend, message)
    })
}

/// A sorted object.
fn stored(types: &[SourceType], (key, payload): (&[u8], &[u8])) -> Result<Ready> {
    let number = number_in(key);
    source_of(types, number)?.stored(number, payload.to_vec())
}

/// The objects that were written as they came.
struct Before<'t> {
    payloads: StoredPayloads,
    types: &'t [SourceType],
}

impl<'t> Before<'t> {
    const fn new(payloads: StoredPayloads, types: &'t [SourceType]) -> Self {
        Self { payloads, types }
    }

    fn next(&mut self) -> Result<Option<Ready>> {
        let Some((number, payload)) = self.payloads.next()? else {
            return Ok(None);
        };
        let key = (number as u16).to_be_bytes();
        stored(self.types, (&key, payload)).map(Some)
    }
}
