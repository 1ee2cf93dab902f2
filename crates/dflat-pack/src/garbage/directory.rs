//! The packs of a directory.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use dflat_engine::{ErrorKind, Result};

use crate::digest::Digest;
use crate::failure::{delete_failed, read_failed};
use crate::file::PackFile;
use crate::layer::{LAYER_BYTES_MAX, Layer};
use crate::layout::Kind;
use crate::read::kind;

/// A file that has the name of a pack.
pub(super) struct Found {
    path: PathBuf,
    /// `None` if the file may not be read, or does not begin with the header of a pack or a layer.
    kind: Option<Kind>,
    /// Whether it is a file that begins with such a header, and no link to one.
    pub(super) is_pack: bool,
    pub(super) size_bytes: u64,
    /// The time of its last change.
    changed: Option<SystemTime>,
    /// Whether it was changed too late to be deleted.
    pub(super) is_young: bool,
}

/// The end of an attempt to delete a file.
pub(super) enum Deletion {
    Done,
    /// A process has a lock of it, or locks are not known here.
    InUse,
    /// Another process has deleted or replaced it, or has begun to save a layer over it.
    Gone,
}

/// The files of a directory that have the name of a pack, by their digests.
pub(super) fn found_in(directory: &Path, age: Duration) -> Result<BTreeMap<Digest, Found>> {
    let failed = |error| read_failed(directory, error);
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let Some(digest) = Digest::of_file_name(&path) else {
            continue;
        };
        if let Some(file) = found(path, age)? {
            files.insert(digest, file);
        }
    }
    Ok(files)
}

/// A file of a directory, or a link to a file; `None` for others.
fn found(path: PathBuf, age: Duration) -> Result<Option<Found>> {
    let metadata = match fs::symlink_metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(read_failed(&path, error)),
    };
    // To open a named pipe would wait for another process that writes to it.
    if !path.is_file() {
        return Ok(None);
    }
    let kind = match kind_at(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        kind => kind?,
    };
    let changed = metadata.modified().ok();
    // A time in the future is that of a clock which was set back: the age is not known.
    let passed = changed.and_then(|changed| changed.elapsed().ok());
    Ok(Some(Found {
        path,
        kind,
        is_pack: kind.is_some() && metadata.is_file(),
        size_bytes: metadata.len(),
        changed,
        is_young: kind.is_some() && passed.is_none_or(|passed| passed < age),
    }))
}

/// The kind of the file at a path; `None` if the file may not be read, or is no pack.
fn kind_at(path: &Path) -> Result<Option<Kind>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        opened => opened.map_err(|error| read_failed(path, error))?,
    };
    match PackFile::of(file, path).and_then(|file| kind(&file)) {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        kind => kind.map(Some),
    }
}

/// Opens a file without a lock.
fn open(path: &Path) -> Result<PackFile> {
    let file = File::open(path).map_err(|error| read_failed(path, error))?;
    PackFile::of(file, path)
}

impl Found {
    /// The base of a layer, whose bytes are checked; `None` if the file is no layer, or is gone.
    pub(super) fn checked_base(&self) -> Result<Option<Digest>> {
        if self.kind == Some(Kind::Whole) {
            return Ok(None);
        }
        let layer = open(&self.path).and_then(|file| Layer::load(file, LAYER_BYTES_MAX));
        match layer {
            Ok(layer) => Ok(Some(layer.base())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.context("cannot collect garbage: the base is not known")),
        }
    }

    /// The base of a layer as its first bytes state it.
    pub(super) fn stated_base(&self) -> Option<Digest> {
        let is_layer = self.kind == Some(Kind::Layer);
        let file = is_layer.then(|| open(&self.path).ok()).flatten()?;
        Layer::stated_base(&file).ok()
    }

    /// Deletes the file, unless a process uses it.
    pub(super) fn delete(&self) -> Result<Deletion> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Deletion::Gone),
            Err(error) => return Err(read_failed(&self.path, error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return Ok(Deletion::InUse),
        }
        // Order: the lock is held until the file is deleted, so no process begins to use it.
        let (held, named) = (file.metadata(), fs::symlink_metadata(&self.path));
        match (held, named) {
            (Ok(held), Ok(named)) if self.is_same(&held, &named) => {}
            _ => return Ok(Deletion::Gone),
        }
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(Deletion::Done),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Deletion::Gone),
            Err(error) => Err(delete_failed(&self.path, error)),
        }
    }

    /// Whether the locked file is the one that was found, and still has its name.
    fn is_same(&self, held: &Metadata, named: &Metadata) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            if (held.dev(), held.ino()) != (named.dev(), named.ino()) {
                return false;
            }
        }
        held.modified().ok() == self.changed && named.modified().ok() == self.changed
    }
}
