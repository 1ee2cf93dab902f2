//! The file of the lines that are not imported.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::display::{Entries, write_json};
use crate::failure::Failure;

/// The largest part of a line that is written.
const TEXT_MAX: usize = 1000;

/// The open file of rejects.
pub(super) struct Rejects {
    path: PathBuf,
    file: File,
    bytes: u64,
    /// Lines that are not written yet.
    pending: Vec<u8>,
}

impl Rejects {
    /// Opens the file, and cuts it at the length that it had when the import was interrupted.
    pub(super) fn open(path: &Path, bytes: u64) -> Result<Self, Failure> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let opened = options.open(path).and_then(|mut file| {
            file.set_len(bytes)?;
            file.seek(SeekFrom::Start(bytes))?;
            Ok(file)
        });
        let file = opened.map_err(|error| cannot_write(path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            bytes,
            pending: Vec::new(),
        })
    }

    /// Adds a line of the input.
    pub(super) fn add(&mut self, line: u64, reason: &str, text: &str) -> Result<(), Failure> {
        let cut: String = text.chars().take(TEXT_MAX).collect();
        let entries = [
            ("line", json!(line)),
            ("reason", json!(reason)),
            ("text", json!(cut)),
        ];
        write_json(&mut self.pending, &Entries(&entries))
            .map_err(|error| Failure::file(error.to_string()))?;
        self.pending.push(b'\n');
        Ok(())
    }

    /// Writes the lines of a batch before its commit, and returns the length of the file.
    pub(super) fn write(&mut self) -> Result<u64, Failure> {
        if !self.pending.is_empty() {
            let written = self.file.write_all(&self.pending);
            let written = written.and_then(|()| self.file.sync_data());
            written.map_err(|error| cannot_write(&self.path, &error))?;
            self.bytes += self.pending.len() as u64;
            self.pending.clear();
        }
        Ok(self.bytes)
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::file(format!("cannot write {}: {error}", path.display()))
}
