//! The position of an import in its input, stored in the file with each batch.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use dflat_engine::dictionary::{Dictionary, Value};
use dflat_workspace::Workspace;

use crate::failure::Failure;

/// The namespace of the dictionary that holds the positions.
const SPACE: &str = "dflat import";

/// The counts and the place of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// The byte of the input after the batch.
    pub(super) byte: u64,
    /// The number of lines up to there.
    pub(super) line: u64,
    pub(super) inserted: u64,
    pub(super) updated: u64,
    pub(super) unchanged: u64,
    pub(super) skipped: u64,
    pub(super) rejected: u64,
    /// The length of the file of rejects.
    pub(super) rejects_bytes: u64,
    /// A hash of the bytes before the position.
    hash: u64,
}

impl Position {
    /// The value that the dictionary keeps.
    fn to_value(&self) -> Value {
        let numbers = [
            self.byte,
            self.line,
            self.inserted,
            self.updated,
            self.unchanged,
            self.skipped,
            self.rejected,
            self.rejects_bytes,
            self.hash,
        ];
        let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
        Value::Text(texts.join(" ").into())
    }

    fn from_value(value: &Value) -> Option<Self> {
        let Value::Text(text) = value else {
            return None;
        };
        let numbers: Vec<u64> = text
            .split(' ')
            .map(|part| part.parse().ok())
            .collect::<Option<_>>()?;
        let [
            byte,
            line,
            inserted,
            updated,
            unchanged,
            skipped,
            rejected,
            rejects_bytes,
            hash,
        ] = numbers.try_into().ok()?;
        Some(Self {
            byte,
            line,
            inserted,
            updated,
            unchanged,
            skipped,
            rejected,
            rejects_bytes,
            hash,
        })
    }
}

/// The input of an import, by which its position is recognized: a hash of all bytes before it.
pub(super) struct Recognized {
    input: File,
    /// The state after the bytes before `byte`.
    hasher: blake3::Hasher,
    byte: u64,
}

impl Recognized {
    pub(super) fn new(input: File) -> Self {
        Self {
            input,
            hasher: blake3::Hasher::new(),
            byte: 0,
        }
    }

    /// The input, from its first byte on.
    pub(super) const fn input(&self) -> &File {
        &self.input
    }

    /// Notes the bytes before the position, which is not before the latest one.
    pub(super) fn note(&mut self, position: &mut Position) -> Result<(), Failure> {
        position.hash = self.hash_before(position.byte)?;
        Ok(())
    }

    /// A hash of the bytes before a byte. Reads those after the latest one.
    fn hash_before(&mut self, byte: u64) -> Result<u64, Failure> {
        let mut read = || {
            let before = self.input.stream_position()?;
            self.input.seek(SeekFrom::Start(self.byte))?;
            let rest = self.input.by_ref().take(byte.saturating_sub(self.byte));
            self.hasher.update_reader(rest)?;
            self.input.seek(SeekFrom::Start(before))
        };
        read().map_err(|error| Failure::file(format!("cannot read the input: {error}")))?;
        self.byte = byte;
        let hash = self.hasher.finalize();
        let (parts, _) = hash.as_bytes().as_chunks();
        Ok(parts.first().copied().map_or(0, u64::from_le_bytes))
    }
}

/// The stored position of an import.
pub(super) struct Stored {
    space: Dictionary,
    key: String,
}

impl Stored {
    /// That of an input and a type.
    pub(super) fn of(
        workspace: &Workspace,
        input: &Path,
        ty: Option<&str>,
    ) -> Result<Self, Failure> {
        let path = input
            .canonicalize()
            .map_err(|error| cannot_read(input, &error))?;
        let ty = ty.unwrap_or("all types");
        Ok(Self {
            space: workspace.dictionary().namespace(SPACE),
            key: format!("{ty} from {}", path.display()),
        })
    }

    pub(super) fn space(&self) -> &Dictionary {
        &self.space
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// The value of a position, or none at the end.
    pub(super) fn value(position: Option<&Position>) -> Option<Value> {
        position.map(Position::to_value)
    }

    /// The position of an interrupted import of this input.
    pub(super) fn find(&self, input: &mut Recognized) -> Result<Option<Position>, Failure> {
        let Some(value) = self.space.get(&self.key)? else {
            return Ok(None);
        };
        let position = Position::from_value(&value);
        match position {
            Some(position) if input.hash_before(position.byte)? == position.hash => {
                Ok(Some(position))
            }
            _ => Err(Failure::usage(
                "the input has changed since its import was interrupted\n\
                 help: pass --restart to begin at its first line",
            )),
        }
    }
}

/// An error of reading the input.
pub(super) fn cannot_read(path: &Path, error: &std::io::Error) -> Failure {
    Failure::file(format!("cannot read {}: {error}", path.display()))
}
