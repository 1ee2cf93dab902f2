//! An open pack.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use super::layered::ReadType;
use super::objects::Objects;
use super::options::OpenOptions;
use super::payloads::StoredPayloads;
use crate::digest::Digest;
use crate::file::PackFile;
use crate::layer::Layer;

/// An immutable collection of objects in one file, which is named by its content.
///
/// Clones share one open file. Any thread may read at any time; reads take no lock. The places of
/// the objects are in memory: about 11 bytes for each object, 2 bytes for each entry of an index,
/// and 24 bytes and one key for each block of 4 KiB of either. The objects are read from the file.
///
/// # Layers
/// A pack may consist of such a file and of *layers* over it, each with the objects that were put
/// and removed since the pack below, its *base*. [`edit`](Self::edit) makes one in memory,
/// [`save`](Self::save) gives it a file, and [`compact`](Self::compact) makes one file of all. A
/// layered pack is read as any other. All its layers are in memory, with about 100 bytes, the key
/// and the index entries for each changed object.
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

pub(super) struct Inner {
    /// The file below all layers.
    pub(super) file: Arc<PackFile>,
    /// The digest of the file.
    pub(super) root: Digest,
    pub(super) types: Vec<ReadType>,
    /// The layers, the lowest first.
    pub(super) layers: Vec<Arc<Layer>>,
    pub(super) options: OpenOptions,
}

impl Pack {
    pub(super) fn new(inner: Inner) -> Self {
        let inner = Arc::new(inner);
        Self { inner }
    }

    /// The digest of the content, which is the name of the file. That of a layered pack is made of
    /// its base and of its changes, so it differs from that of a pack that was built of the same
    /// objects.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let top = self.inner.layers.last();
        top.map_or(self.inner.root, |layer| layer.digest())
    }

    /// The digests of the packs below, from the base of this one to the file below all layers. None
    /// if the pack has no layers.
    pub fn bases(&self) -> impl ExactSizeIterator<Item = Digest> {
        self.inner.layers.iter().rev().map(|layer| layer.base())
    }

    /// The path by which the pack was opened, or was saved. That of a layer in memory is the path
    /// of the first pack below that has a file.
    #[must_use]
    pub fn path(&self) -> &Path {
        let layers = self.inner.layers.iter().rev();
        let saved = layers.filter_map(|layer| layer.path()).next();
        saved.unwrap_or_else(|| self.inner.file.path())
    }

    /// The size in bytes of the file and of the files of all layers, also of those in memory.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        let layers = self.inner.layers.iter().map(|layer| layer.size_bytes());
        self.inner.file.len() + layers.sum::<u64>()
    }

    /// The types of the pack, as the pack describes them, by the names of their tables.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.inner.types.iter().map(|ty| ty.table())
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
        Ok(Objects::new(
            stored.clone(),
            table.clone(),
            self.inner.options,
        ))
    }

    /// The parts of a type; `None` if the pack was built without it.
    pub(crate) fn stored(&self, table: &Table) -> Result<Option<&ReadType>> {
        let types = &self.inner.types;
        let of_name = |ty: &ReadType| ty.table().name.cmp(&table.name);
        let found = types.binary_search_by(of_name).ok();
        let Some(stored) = found.and_then(|number| types.get(number)) else {
            return Ok(None);
        };
        if !stored.stored().has_key_of(table) {
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

    /// The digest of the file below all layers.
    pub(crate) fn root(&self) -> Digest {
        self.inner.root
    }

    /// The types, by the names of their tables.
    pub(crate) fn types(&self) -> &[ReadType] {
        &self.inner.types
    }

    /// The layers, the lowest first.
    pub(crate) fn layers(&self) -> &[Arc<Layer>] {
        &self.inner.layers
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
