//! Reads at an offset of a file. They need no lock and no position, so any thread may read.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{io, thread};

use dflat_engine::Result;

use crate::failure::{damaged, read_failed};
use crate::layout::Extent;
#[cfg(feature = "map")]
use crate::map::Map;

/// The attempts to lock a file, for a second or longer. A collection of garbage holds its lock only
/// while it looks at the file and deletes it; if another program holds the lock for longer, the
/// pack is opened without a lock.
const LOCK_ATTEMPTS: u32 = 1000;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(1);

/// An open pack.
#[derive(Debug)]
pub(crate) struct PackFile {
    file: File,
    path: PathBuf,
    /// The length when it was opened.
    len: u64,
    #[cfg(feature = "map")]
    map: Option<Map>,
}

impl PackFile {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut attempts = 1..LOCK_ATTEMPTS;
        loop {
            // To open a named pipe would wait for another process that writes to it.
            let metadata = path.metadata().map_err(|error| read_failed(path, error))?;
            if !metadata.is_file() {
                return Err(damaged(path, "it is no file"));
            }
            let file = File::open(path).map_err(|error| read_failed(path, error))?;
            // An open file is not deleted as garbage, where the file system has locks.
            match file.try_lock_shared() {
                // A collection of garbage looks at the file, and may delete it.
                Err(TryLockError::WouldBlock) if attempts.next().is_some() => thread::sleep(PAUSE),
                _ => return Self::of(file, path),
            }
        }
    }

    /// A file that is open already; `path` is for messages.
    pub(crate) fn of(file: File, path: &Path) -> Result<Self> {
        let metadata = file.metadata().map_err(|error| read_failed(path, error))?;
        if !metadata.is_file() {
            return Err(damaged(path, "it is no file"));
        }
        Ok(Self {
            file,
            path: path.to_owned(),
            len: metadata.len(),
            #[cfg(feature = "map")]
            map: None,
        })
    }

    /// The file, whose bytes are read through a map from now on.
    #[cfg(feature = "map")]
    pub(crate) fn with_map(self, map: Map) -> Self {
        Self {
            len: map.bytes().len() as u64,
            map: Some(map),
            ..self
        }
    }

    #[cfg(feature = "map")]
    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// All bytes, if the file is mapped.
    #[inline]
    pub(crate) fn mapped(&self) -> Option<&[u8]> {
        #[cfg(feature = "map")]
        return self.map.as_ref().map(Map::bytes);
        #[cfg(not(feature = "map"))]
        None
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// Fills `bytes` from an offset on.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`](dflat_engine::ErrorKind::Corrupt) if the file is shorter.
    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let read = match self.mapped() {
            Some(map) => copy(map, offset, bytes),
            None => read_exact_at(&self.file, offset, bytes),
        };
        read.map_err(|error| read_failed(&self.path, error))
    }

    /// The bytes of an extent, which must lie in the file, so that no more memory is allocated than
    /// the file has bytes.
    pub(crate) fn read_extent(&self, extent: Extent) -> Result<Vec<u8>> {
        let len = usize::try_from(extent.len).ok();
        let len = len.filter(|_| extent.end().is_some_and(|end| end <= self.len));
        let len = len.ok_or_else(|| damaged(&self.path, "a part is larger than the file"))?;
        let mut bytes = vec![0; len];
        self.read(extent.offset, &mut bytes)?;
        Ok(bytes)
    }
}

fn copy(map: &[u8], offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    let start = usize::try_from(offset).ok();
    let end = start.and_then(|start| start.checked_add(bytes.len()));
    let range = start.zip(end).map(|(start, end)| start..end);
    let from = range.and_then(|range| map.get(range));
    bytes.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
    Ok(())
}

#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut offset: u64, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                bytes = bytes.get_mut(read..).unwrap_or_default();
                offset += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
