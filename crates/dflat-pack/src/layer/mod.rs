//! Layers: changes over a pack, which they name by its digest.
//!
//! A layer is in memory as a whole, as its file has it. `docs/pack-format.md` describes the file.

mod record;

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;
use xxhash_rust::xxh3::xxh3_64;

use crate::digest::Digest;
use crate::failure::damaged;
use crate::file::PackFile;
use crate::layout::{
    ALIGN, Extent, FOOTER_BYTES, Footer, HEADER_BYTES, Kind, LAYER_CONTENT, header_of, padding,
};

pub(crate) use record::{LayerRow, LayerTable, NewRow, NewTable};

/// The largest number of layers over one file.
pub(crate) const LAYERS_MAX: usize = 64;

/// The bytes that the layers over one file may have together: they are in memory.
pub(crate) const LAYER_BYTES_MAX: u64 = 1 << 30;

/// The digest of the base, in front of the record.
const BASE_BYTES: usize = 32;

/// An immutable set of changes over a pack.
pub(crate) struct Layer {
    digest: Digest,
    /// The digest of the base, and the change record.
    body: Arc<Vec<u8>>,
    /// The file, which is open so that it is not deleted as garbage; `None` if the layer is in
    /// memory only.
    file: Option<PackFile>,
}

impl Layer {
    /// A layer of these tables, which come by their names, over a base.
    pub(crate) fn new(base: Digest, tables: &[NewTable<'_>]) -> Self {
        let mut body = base.0.to_vec();
        record::write(tables, &mut body);
        Self {
            digest: digest_of(&body),
            body: Arc::new(body),
            file: None,
        }
    }

    /// Reads a file. All its bytes are checked. At most `bytes_max` are read.
    pub(crate) fn load(file: PackFile, bytes_max: u64) -> Result<Self> {
        let why = |why: &str| damaged(file.path(), why);
        if file.len() > bytes_max {
            let message = format!(
                "cannot read {}: its layers have more than {LAYER_BYTES_MAX} bytes",
                file.path().display()
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        let end = file.len().checked_sub(FOOTER_BYTES as u64);
        let end = end.filter(|end| *end >= (HEADER_BYTES + BASE_BYTES) as u64);
        let end = end.ok_or_else(|| why("it is no layer: it is too short"))?;
        let mut footer = [0; FOOTER_BYTES];
        file.read(end, &mut footer)?;
        let footer = Footer::from_bytes(Kind::Layer, &footer);
        let footer = footer.ok_or_else(|| why("its end is damaged or missing"))?;
        let place = footer.directory;
        let is_whole = place.offset == HEADER_BYTES as u64
            && place.len >= BASE_BYTES as u64
            && place
                .end()
                .is_some_and(|last| last <= end && end - last < ALIGN);
        if !is_whole {
            return Err(why("its parts leave gaps"));
        }
        let extent = Extent {
            offset: place.offset,
            len: end - place.offset,
        };
        let mut body = file.read_extent(extent)?;
        let zeros = body.split_off(place.len as usize);
        let is_sound = xxh3_64(&body) == footer.directory_checksum
            && zeros.iter().all(|byte| *byte == 0)
            && zeros.len() as u64 == padding(place.len, ALIGN);
        if !is_sound {
            return Err(why("its changes are damaged"));
        }
        if digest_of(&body) != footer.digest {
            return Err(why("its content has another name"));
        }
        Ok(Self {
            digest: footer.digest,
            body: Arc::new(body),
            file: Some(file),
        })
    }

    /// The base that the first bytes of a file state. Nothing else is checked.
    pub(crate) fn stated_base(file: &PackFile) -> Result<Digest> {
        let mut base = [0; BASE_BYTES];
        file.read(HEADER_BYTES as u64, &mut base)?;
        Ok(Digest(base))
    }

    /// Reads the file again, if there is one, and compares it with its digest.
    pub(crate) fn verify(&self) -> Result<()> {
        let Some(path) = self.path() else {
            return Ok(());
        };
        let again = Self::load(PackFile::open(path)?, LAYER_BYTES_MAX)?;
        match again.digest == self.digest {
            true => Ok(()),
            false => Err(self.damaged("it was replaced by another layer")),
        }
    }

    /// The same layer, whose file is now at a path.
    pub(crate) fn saved(&self, path: &Path) -> Result<Self> {
        Ok(Self {
            digest: self.digest,
            body: Arc::clone(&self.body),
            file: Some(PackFile::open(path)?),
        })
    }

    pub(crate) const fn digest(&self) -> Digest {
        self.digest
    }

    /// The digest of the pack below.
    pub(crate) fn base(&self) -> Digest {
        Digest(self.body.first_chunk().copied().unwrap_or_default())
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(PackFile::path)
    }

    /// The length of the file, which counts against the bound of all layers.
    pub(crate) fn size_bytes(&self) -> u64 {
        let len = self.body.len() as u64;
        (HEADER_BYTES + FOOTER_BYTES) as u64 + len + padding(len, ALIGN)
    }

    /// The changed tables, by their names. The rows come by their keys. `tables` are those of the
    /// file below all layers, by their names.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the record is malformed, or has another table.
    pub(crate) fn tables(&self, tables: &[&Table]) -> Result<Vec<LayerTable>> {
        record::read(&self.body, BASE_BYTES, tables).map_err(|why| self.damaged(why))
    }

    /// Bytes of a row, as [`tables`](Self::tables) states them.
    pub(crate) fn bytes(&self, place: Range<usize>) -> &[u8] {
        self.body.get(place).unwrap_or_default()
    }

    /// Writes the file.
    pub(crate) fn write(&self, mut file: &File) -> io::Result<()> {
        let len = self.body.len() as u64;
        let footer = Footer {
            kind: Kind::Layer,
            directory: Extent {
                offset: HEADER_BYTES as u64,
                len,
            },
            directory_checksum: xxh3_64(&self.body),
            digest: self.digest,
        };
        let zeros = [0; ALIGN as usize];
        let zeros = zeros.get(..padding(len, ALIGN) as usize);
        file.write_all(&header_of(Kind::Layer))?;
        file.write_all(&self.body)?;
        file.write_all(zeros.unwrap_or_default())?;
        file.write_all(&footer.to_bytes())
    }

    #[cold]
    pub(crate) fn damaged(&self, why: impl fmt::Display) -> Error {
        match self.path() {
            Some(path) => damaged(path, why),
            None => {
                let message = format!("cannot read the layer {}: {why}", self.digest);
                Error::new(ErrorKind::Corrupt, message)
            }
        }
    }
}

impl fmt::Debug for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layer")
            .field("digest", &self.digest)
            .field("base", &self.base())
            .finish_non_exhaustive()
    }
}

/// The digest of a layer, of its base and its record.
fn digest_of(body: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(LAYER_CONTENT);
    hasher.update(body);
    Digest(*hasher.finalize().as_bytes())
}
