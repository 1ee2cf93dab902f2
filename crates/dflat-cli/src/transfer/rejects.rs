//! The file of the lines that are not imported.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::display::{Entries, write_json};
use crate::failure::Failure;

/// The open file of rejects.
pub(super) struct Rejects {
    path: PathBuf,
    /// `None` before the first line is written.
    file: Option<File>,
    bytes: u64,
    /// Lines that are not written yet.
    pending: Vec<u8>,
}

impl Rejects {
    /// The rejects of an import that begins, or that continues with a length of the file.
    pub(super) fn new(path: &Path, bytes: u64) -> Self {
        Self {
            path: path.to_owned(),
            file: None,
            bytes,
            pending: Vec::new(),
        }
    }

    /// Fails if a file has contents, which a new import would overwrite.
    pub(super) fn check_new(path: &Path) -> Result<(), Failure> {
        match fs::metadata(path) {
            Ok(found) if found.len() > 0 => {
                let path = path.display();
                Err(Failure::usage(format!(
                    "cannot write rejects to {path}: the file exists already\n\
                     help: name a new file, or delete this one"
                )))
            }
            _ => Ok(()),
        }
    }

    /// The file, cut at the length that it had when the import was interrupted.
    fn open(&mut self) -> std::io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(false);
                // Lines of the input are as private as the database.
                #[cfg(unix)]
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                let mut file = options.open(&self.path)?;
                // A device has no length.
                if file.metadata()?.is_file() {
                    file.set_len(self.bytes)?;
                    file.seek(SeekFrom::Start(self.bytes))?;
                }
                file
            }
        };
        Ok(self.file.insert(file))
    }

    /// Adds a line of the input.
    pub(super) fn add(&mut self, line: u64, reason: &str, text: &str) -> Result<(), Failure> {
        let entries = [
            ("line", json!(line)),
            ("reason", json!(reason)),
            ("text", json!(text)),
        ];
        write_json(&mut self.pending, &Entries(&entries))
            .map_err(|error| Failure::file(error.to_string()))?;
        self.pending.push(b'\n');
        Ok(())
    }

    /// Writes the lines of a batch before its commit, and returns the length of the file.
    pub(super) fn write(&mut self) -> Result<u64, Failure> {
        if !self.pending.is_empty() {
            let pending = std::mem::take(&mut self.pending);
            let written = self.open().and_then(|file| {
                file.write_all(&pending)?;
                match file.metadata()?.is_file() {
                    true => file.sync_data(),
                    false => Ok(()),
                }
            });
            written.map_err(|error| cannot_write(&self.path, &error))?;
            self.bytes += pending.len() as u64;
        }
        Ok(self.bytes)
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::file(format!("cannot write {}: {error}", path.display()))
}
