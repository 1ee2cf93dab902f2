//! Opening a pack.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;
use xxhash_rust::xxh3::xxh3_64;

use super::objects::Objects;
use super::options::OpenOptions;
use super::stored::{StoredPayloads, StoredType};
use crate::digest::Digest;
use crate::failure::damaged;
use crate::file::PackFile;
use crate::layout::{ALIGN, Directory, FOOTER_BYTES, Footer, HEADER_BYTES, header_fault};

/// An immutable collection of objects in one file, which is named by its content.
///
/// Clones share one open file. Any thread may read at any time; reads take no lock. The places of
/// the objects are in memory: about 10 bytes for each object, 2 bytes for each entry of an index,
/// and 24 bytes and one key for each block of 4 KiB of either. The objects are read from the file.
///
/// # Examples
/// ```
/// use dflat_pack::Pack;
/// # use dflat_engine::object::Writer;
/// # use dflat_model::{Table, ValueRef};
/// # use dflat_schema::{MemoryLoader, compile, describe};
/// # fn main() -> dflat_engine::Result<()> {
/// # let text = "table Word { word: string (primary); } root_type Word;";
/// # let loader = MemoryLoader::new().with_file("word.fbs", text);
/// # let schema = compile(&["word.fbs".to_owned()], &loader, &Default::default()).schema;
/// # let schema = schema.expect("the schema has no errors");
/// # let root = schema.files[0].root.expect("the schema has a root type");
/// # let table = Table::new(describe(&schema, root));
/// # let payload = |text: &str| {
/// #     let mut writer = Writer::new();
/// #     let root = writer.begin();
/// #     assert!(writer.begin_table(root));
/// #     let slot = writer.slot(4);
/// #     writer.end_table();
/// #     writer.text(slot, text);
/// #     writer.leave();
/// #     writer.finish().expect("it is small").to_vec()
/// # };
/// # let directory = tempfile::tempdir().expect("a directory");
/// let words = ["pear", "apple"].map(|word| (table.clone(), payload(word)));
/// let pack = Pack::build(directory.path(), [table.clone()], words)?;
///
/// let words = pack.objects(&table)?;
/// assert_eq!(words.len(), 2);
/// assert!(words.contains(&[ValueRef::Text("apple")])?);
/// assert_eq!(words.index_of(&[ValueRef::Text("pear")])?, Some(1));
/// assert_eq!(Pack::open(pack.path())?.digest(), pack.digest());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Pack {
    inner: Arc<Inner>,
}

struct Inner {
    file: Arc<PackFile>,
    digest: Digest,
    types: Vec<Arc<StoredType>>,
    options: OpenOptions,
}

/// The footer and the directory of a file.
pub(super) fn load_directory(file: &PackFile) -> Result<(Footer, Directory)> {
    let mut header = [0; HEADER_BYTES];
    let end = file.len().checked_sub(FOOTER_BYTES as u64);
    let end = end.filter(|end| *end >= HEADER_BYTES as u64);
    let end = end.ok_or_else(|| damaged(file.path(), "it is no pack: it is too short"))?;
    file.read(0, &mut header)?;
    if let Some(fault) = header_fault(&header) {
        return Err(damaged(file.path(), fault));
    }
    let mut footer = [0; FOOTER_BYTES];
    file.read(end, &mut footer)?;
    let footer = Footer::from_bytes(&footer)
        .ok_or_else(|| damaged(file.path(), "its end is damaged or missing"))?;
    let bytes = file.read_extent(footer.directory)?;
    let is_sound = xxh3_64(&bytes) == footer.directory_checksum;
    let directory = is_sound.then(|| Directory::from_bytes(&bytes)).flatten();
    let start = footer.directory.offset;
    let directory = directory
        .filter(|directory| directory.is_gapless(HEADER_BYTES as u64, start))
        .filter(|_| {
            footer
                .directory
                .end()
                .is_some_and(|at| at.next_multiple_of(ALIGN) == end)
        });
    let directory = directory.ok_or_else(|| damaged(file.path(), "its directory is damaged"))?;
    Ok((footer, directory))
}

impl Pack {
    /// Opens a pack.
    ///
    /// All but the objects is read into memory and compared with its checksums.
    ///
    /// # Errors
    /// - [`NotFound`](ErrorKind::NotFound) if there is no such file.
    /// - [`Corrupt`](ErrorKind::Corrupt) if the file is no pack, is damaged, was cut off, has
    ///   another digest than its name states, or was written by a newer version of the library.
    /// - [`Io`](ErrorKind::Io) if the file cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// As [`open`](Self::open), with options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let pack = Self::of(PackFile::open(path)?, options)?;
        match Digest::of_file_name(path) {
            Some(name) if name != pack.digest() => {
                Err(damaged(path, "its content has another name"))
            }
            _ => Ok(pack),
        }
    }

    /// Opens a file that has no name; `path` is for messages.
    pub(crate) fn of_file(file: File, path: &Path, options: OpenOptions) -> Result<Self> {
        Self::of(PackFile::of(file, path)?, options)
    }

    fn of(file: PackFile, options: OpenOptions) -> Result<Self> {
        let file = Arc::new(file);
        let (footer, directory) = load_directory(&file)?;
        let types = directory.types.iter();
        let types = types.map(|layout| StoredType::load(&file, layout).map(Arc::new));
        let types = types.collect::<Result<Vec<_>>>()?;
        if !types.is_sorted_by(|a, b| a.table.name < b.table.name) {
            return Err(damaged(file.path(), "its types are not in order"));
        }
        Ok(Self {
            inner: Arc::new(Inner {
                file,
                digest: footer.digest,
                types,
                options,
            }),
        })
    }

    /// The digest of the content, which is the name of the file.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.inner.digest
    }

    /// The path by which the pack was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.inner.file.path()
    }

    /// The size of the file in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.inner.file.len()
    }

    /// The types of the pack, as the pack describes them, by the names of their tables.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.inner.types.iter().map(|ty| &ty.table)
    }

    /// The objects of a type, as the program describes it. The program's descriptor may be of
    /// another version of the schema.
    ///
    /// # Errors
    /// - [`NotFound`](ErrorKind::NotFound) if the pack was built without the type.
    /// - [`InvalidArgument`](ErrorKind::InvalidArgument) if the program's type has another primary
    ///   key.
    pub fn objects(&self, table: &Table) -> Result<Objects> {
        let stored = self.stored(table)?.ok_or_else(|| {
            let message = format!(
                "cannot read {} in {}: the pack was built without this type",
                table.type_name,
                self.path().display()
            );
            Error::new(ErrorKind::NotFound, message)
        })?;
        let stored = Arc::clone(stored);
        Ok(Objects::new(stored, table.clone(), self.inner.options))
    }

    /// The parts of a type; `None` if the pack was built without it.
    pub(crate) fn stored(&self, table: &Table) -> Result<Option<&Arc<StoredType>>> {
        let types = &self.inner.types;
        let of_name = |ty: &Arc<StoredType>| ty.table.name.cmp(&table.name);
        let found = types.binary_search_by(of_name).ok();
        let Some(stored) = found.and_then(|number| types.get(number)) else {
            return Ok(None);
        };
        if !stored.has_key_of(table) {
            let message = format!(
                "cannot read {} in {}: the pack has objects with another primary key",
                table.type_name,
                self.path().display()
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        Ok(Some(stored))
    }

    pub(super) fn file(&self) -> &Arc<PackFile> {
        &self.inner.file
    }

    pub(crate) fn options(&self) -> OpenOptions {
        self.inner.options
    }

    /// All payloads, by type and key.
    pub(crate) fn payloads(&self) -> StoredPayloads {
        StoredPayloads::new(self.inner.types.clone(), self.inner.options.checks_blocks())
    }
}

impl fmt::Debug for Pack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pack")
            .field("path", &self.path())
            .field("digest", &self.digest())
            .finish_non_exhaustive()
    }
}
