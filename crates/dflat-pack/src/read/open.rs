//! Opening packs: a file, and the layers over it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;
use xxhash_rust::xxh3::xxh3_64;

use super::layered::{Draft, ReadType};
use super::options::OpenOptions;
use super::pack::{Inner, Pack};
use super::stored::StoredType;
use crate::digest::Digest;
use crate::failure::damaged;
use crate::file::PackFile;
use crate::layer::{LAYER_BYTES_MAX, LAYERS_MAX, Layer, LayerRow};
use crate::layout::{ALIGN, Directory, FOOTER_BYTES, Footer, HEADER_BYTES, Kind, kind_of};

/// The kind of a file.
pub(crate) fn kind(file: &PackFile) -> Result<Kind> {
    if file.len() < (HEADER_BYTES + FOOTER_BYTES) as u64 {
        return Err(damaged(file.path(), "it is no pack: it is too short"));
    }
    let mut header = [0; HEADER_BYTES];
    file.read(0, &mut header)?;
    kind_of(&header).map_err(|fault| damaged(file.path(), fault))
}

/// The footer and the directory of a file.
pub(super) fn load_directory(file: &PackFile) -> Result<(Footer, Directory)> {
    if kind(file)? != Kind::Whole {
        return Err(damaged(file.path(), "it is a layer"));
    }
    // It is not shorter than a header and a footer.
    let end = file.len().saturating_sub(FOOTER_BYTES as u64);
    let mut footer = [0; FOOTER_BYTES];
    file.read(end, &mut footer)?;
    let footer = Footer::from_bytes(Kind::Whole, &footer)
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
    /// Opens a pack. The bases of a layer are looked for in its directory, by the names of their
    /// digests.
    ///
    /// All but the objects is read into memory and compared with its checksums. A layer is read as
    /// a whole, and compared with its digest.
    ///
    /// # Errors
    /// - [`NotFound`](ErrorKind::NotFound) if there is no such file, or a base is missing. The
    ///   message names the digest of the base.
    /// - [`Corrupt`](ErrorKind::Corrupt) if a file is no pack, is damaged, was cut off, has another
    ///   digest than its name states, or was written by a newer version of the library; if there
    ///   are more than 64 layers, or the layers have more than 1 GiB together.
    /// - [`Io`](ErrorKind::Io) if a file cannot be read.
    ///
    /// # Cost
    /// Reads all but the objects. For each changed key of a layer, a block of the file below all
    /// layers is read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, OpenOptions::default())
    }

    /// As [`open`](Self::open), with options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        Self::open_on(path, options, |_| Ok(None))
    }

    /// As [`open`](Self::open). `find_base` is called with the digest of each base, and may return
    /// that pack, whose memory and options are then shared. If `find_base` returns `None`, the base
    /// is looked for in the directory of the file.
    ///
    /// # Examples
    /// ```
    /// use dflat_pack::{Digest, OpenOptions, Pack};
    ///
    /// /// Opens a layer over a pack that is open already.
    /// fn open_over(base: &Pack, path: &std::path::Path) -> dflat_engine::Result<Pack> {
    ///     Pack::open_on(path, OpenOptions::default(), |digest| {
    ///         Ok((digest == base.digest()).then(|| base.clone()))
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    /// - As [`open`](Self::open), and the errors of `find_base`.
    /// - [`Corrupt`](ErrorKind::Corrupt) if `find_base` returns a pack with another digest.
    pub fn open_on(
        path: impl AsRef<Path>,
        options: OpenOptions,
        mut find_base: impl FnMut(Digest) -> Result<Option<Self>>,
    ) -> Result<Self> {
        open_files(path.as_ref(), options, &mut find_base, Ok)
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
        let types = types.into_iter().map(|stored| ReadType::new(stored, None));
        Ok(Self::new(Inner {
            file,
            root: footer.digest,
            types: types.collect(),
            layers: Vec::new(),
            options,
        }))
    }

    /// The same pack, whose layers have files now.
    pub(crate) fn with_saved(&self, layers: Vec<Arc<Layer>>) -> Self {
        Self::new(Inner {
            file: Arc::clone(self.file()),
            root: self.root(),
            types: self.types().to_vec(),
            layers,
            options: self.options(),
        })
    }

    /// The pack with more layers, the lowest first. `kind` is that of the error of too many.
    pub(crate) fn with_layers(&self, more: &[Arc<Layer>], kind: ErrorKind) -> Result<Self> {
        if more.is_empty() {
            return Ok(self.clone());
        }
        let layers: Vec<_> = self
            .layers()
            .iter()
            .cloned()
            .chain(more.iter().cloned())
            .collect();
        if layers.len() > LAYERS_MAX {
            return Err(too_many_layers(kind, self.path()));
        }
        if layers.iter().map(|layer| layer.size_bytes()).sum::<u64>() > LAYER_BYTES_MAX {
            let path = self.path().display();
            let message = format!("cannot put layers over {path}: they have more than 1 GiB");
            return Err(Error::new(kind, message));
        }
        let tables: Vec<&Table> = self.tables().collect();
        let check_blocks = self.options().checks_blocks();
        let mut rows: Vec<Vec<(&Arc<Layer>, Vec<LayerRow>)>> = Vec::new();
        rows.resize_with(tables.len(), Vec::new);
        for layer in more {
            for table in layer.tables(&tables)? {
                if let Some(rows) = rows.get_mut(table.number) {
                    rows.push((layer, table.rows));
                }
            }
        }
        let mut types = Vec::with_capacity(tables.len());
        for (ty, rows) in self.types().iter().zip(rows) {
            if rows.is_empty() {
                types.push(ty.clone());
                continue;
            }
            let below = ty.changes().map(|changes| &**changes);
            let mut draft = Draft::new(ty.stored(), below, check_blocks);
            for (layer, rows) in rows {
                draft.put(layer, rows)?;
            }
            let changes = Arc::new(draft.finish()?);
            types.push(ReadType::new(Arc::clone(ty.stored()), Some(changes)));
        }
        Ok(Self::new(Inner {
            file: Arc::clone(self.file()),
            root: self.root(),
            types,
            layers,
            options: self.options(),
        }))
    }
}

/// Opens the files of a pack, from the top to the one below all layers, which `read_as` prepares.
pub(super) fn open_files(
    top: &Path,
    options: OpenOptions,
    mut find_base: impl FnMut(Digest) -> Result<Option<Pack>>,
    read_as: impl Fn(PackFile) -> Result<PackFile>,
) -> Result<Pack> {
    let mut layers = Vec::new();
    let mut room = LAYER_BYTES_MAX;
    let mut file = PackFile::open(top)?;
    let base = loop {
        if kind(&file)? == Kind::Whole {
            let pack = Pack::of(read_as(file)?, options)?;
            check_name(pack.path(), pack.digest())?;
            break pack;
        }
        let name = file.path().to_owned();
        let layer = Layer::load(file, room)?;
        check_name(&name, layer.digest())?;
        room = room.saturating_sub(layer.size_bytes());
        let base = layer.base();
        layers.push(Arc::new(layer));
        if layers.len() > LAYERS_MAX {
            return Err(too_many_layers(ErrorKind::Corrupt, top));
        }
        if let Some(pack) = find_base(base)? {
            if pack.digest() != base {
                let found = pack.digest();
                let why = format!("its base is {base}, but the loader gave {found}");
                return Err(damaged(top, why));
            }
            break pack;
        }
        file = open_base(top, base)?;
    };
    layers.reverse();
    base.with_layers(&layers, ErrorKind::Corrupt)
}

/// Refuses a file whose name states another digest.
fn check_name(path: &Path, digest: Digest) -> Result<()> {
    match Digest::of_file_name(path) {
        Some(name) if name != digest => Err(damaged(path, "its content has another name")),
        _ => Ok(()),
    }
}

/// Opens the base of a layer in the directory of the file on top.
fn open_base(top: &Path, base: Digest) -> Result<PackFile> {
    let path = base.path_in(top.parent().unwrap_or_else(|| Path::new("")));
    PackFile::open(&path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let (top, path) = (top.display(), path.display());
            let message = format!("cannot open {top}: its base {base} is missing: no file {path}");
            Error::with_source(ErrorKind::NotFound, message, error)
        }
        _ => error,
    })
}

#[cold]
fn too_many_layers(kind: ErrorKind, path: &Path) -> Error {
    let message = format!(
        "cannot put a layer over {}: a pack has at most {LAYERS_MAX} layers; compact it first",
        path.display()
    );
    Error::new(kind, message)
}
