//! Bytes that wait in unlinked temporary files until they are needed, so that memory is bounded.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use dflat_engine::Result;

use crate::failure::write_failed;
use crate::file::read_exact_at;

/// The bytes that a spool keeps in memory.
const SPOOL_BYTES: usize = 1 << 20;

/// A directory for temporary files. They have no name, so they end with the process.
#[derive(Clone, Debug)]
pub(super) struct Scratch(Arc<Path>);

impl Scratch {
    pub(super) fn new(directory: &Path) -> Self {
        Self(directory.into())
    }

    pub(super) fn directory(&self) -> &Path {
        &self.0
    }

    pub(super) fn file(&self) -> Result<File> {
        self.named(tempfile::tempfile_in(&self.0))
    }

    /// Names the directory in an error of a temporary file.
    pub(super) fn named<T>(&self, done: io::Result<T>) -> Result<T> {
        done.map_err(|error| write_failed(&self.0, error))
    }
}

/// Bytes that are written first, and read afterwards from the start.
#[derive(Debug)]
pub(super) struct Spool {
    scratch: Scratch,
    /// The last bytes.
    memory: Vec<u8>,
    file: Option<File>,
    /// The bytes in the file.
    stored: u64,
}

impl Spool {
    pub(super) const fn new(scratch: Scratch) -> Self {
        Self {
            scratch,
            memory: Vec::new(),
            file: None,
            stored: 0,
        }
    }

    pub(super) const fn len(&self) -> u64 {
        self.stored + self.memory.len() as u64
    }

    /// Appends bytes. The pieces of [`read`](Self::read) begin and end where bytes were appended,
    /// if all appended bytes have one length that divides 65,536.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.memory.extend_from_slice(bytes);
        if self.memory.len() < SPOOL_BYTES {
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(self.scratch.file()?);
        }
        if let Some(file) = &mut self.file {
            self.scratch.named(file.write_all(&self.memory))?;
        }
        self.stored += self.memory.len() as u64;
        self.memory.clear();
        Ok(())
    }

    /// Calls `read` with all bytes, in pieces.
    pub(super) fn read(&self, read: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        const PIECE: usize = 64 * 1024;
        if let Some(file) = &self.file {
            let mut piece = vec![0; PIECE];
            for start in (0..self.stored).step_by(PIECE) {
                let len = (self.stored - start).min(PIECE as u64) as usize;
                let piece = piece.get_mut(..len).unwrap_or_default();
                self.scratch.named(read_exact_at(file, start, piece))?;
                read(piece)?;
            }
        }
        self.memory.chunks(PIECE).try_for_each(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_they_were_appended() {
        let directory = tempfile::tempdir().expect("it is made");
        for count in [0, 1, 300_000, 1_000_000_u32] {
            let mut spool = Spool::new(Scratch::new(directory.path()));
            for number in 0..count {
                spool.append(&number.to_le_bytes()).expect("it is written");
            }
            assert_eq!(spool.len(), u64::from(count) * 4);
            let mut next = 0;
            let mut check = |piece: &[u8]| {
                let (numbers, rest) = piece.as_chunks::<4>();
                assert!(rest.is_empty());
                for number in numbers {
                    assert_eq!(u32::from_le_bytes(*number), next);
                    next += 1;
                }
                Ok(())
            };
            spool.read(&mut check).expect("it is read");
            assert_eq!(next, count);
        }
        assert!(
            std::fs::read_dir(directory.path())
                .expect("it is there")
                .next()
                .is_none()
        );
    }
}
