//! The file that is being written, from its start to its end.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use dflat_engine::Result;
use xxhash_rust::xxh3::Xxh3;

use super::new_file::NewFile;
use crate::failure::write_failed;
use crate::layout::{ALIGN, Extent, Section, padding};

/// The bytes that are written at once.
const BUFFER_BYTES: usize = 256 * 1024;

/// Appends bytes to a new file.
pub(super) struct Output {
    file: NewFile,
    directory: Arc<Path>,
    buffer: Vec<u8>,
    /// The bytes of the file, those in the buffer included.
    len: u64,
}

impl Output {
    pub(super) fn create(directory: &Path) -> Result<Self> {
        let file = NewFile::create(directory).map_err(|error| write_failed(directory, error))?;
        Ok(Self {
            file,
            directory: directory.into(),
            buffer: Vec::with_capacity(BUFFER_BYTES),
            len: 0,
        })
    }

    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        if bytes.len() > BUFFER_BYTES {
            self.put(bytes)?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Appends zeros up to a multiple of `align`.
    pub(super) fn align(&mut self, align: u64) -> Result<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        let zeros = padding(self.len, align) as usize;
        self.write(ZEROS.get(..zeros).unwrap_or(&ZEROS))
    }

    /// Appends a part that is read as a whole: `write` gets a function that appends its bytes.
    pub(super) fn section(
        &mut self,
        write: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<Section> {
        self.align(ALIGN)?;
        let offset = self.len;
        let mut checksum = Xxh3::new();
        write(&mut |bytes| {
            checksum.update(bytes);
            self.write(bytes)
        })?;
        let len = self.len - offset;
        Ok(Section {
            extent: Extent { offset, len },
            checksum: checksum.digest(),
        })
    }

    /// The file, with all bytes written to the operating system.
    pub(super) fn finish(mut self) -> Result<NewFile> {
        self.flush()?;
        Ok(self.file)
    }

    fn flush(&mut self) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        self.put(&buffer)?;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    fn put(&self, bytes: &[u8]) -> Result<()> {
        let mut file: &File = self.file.file();
        let done: io::Result<()> = file.write_all(bytes);
        done.map_err(|error| write_failed(&self.directory, error))
    }
}
