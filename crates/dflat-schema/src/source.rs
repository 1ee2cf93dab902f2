//! The source texts, and the line and column of each byte.
//!
//! This crate does no I/O. The caller of [`compile`](crate::compile) passes a [`Loader`], which
//! finds files; [`MemoryLoader`] returns texts held in memory. [`Sources`] keeps all files that
//! were read, because diagnostics quote them.

use std::collections::BTreeMap;
use std::io;

use crate::schema::{FileId, Span};

/// Finds the text of a schema file.
pub trait Loader {
    /// Finds the file at `path`.
    ///
    /// Without an `includer`, the caller of the compiler requested `path`. With an `includer`,
    /// which is the [`Loaded::path`] of a file, `path` is in an `include` of that file: the loader
    /// looks beside the includer first, then in its include directories. `None` means that no such
    /// file exists.
    ///
    /// # Errors
    ///
    /// Returns an error when the file exists but cannot be read, or is not UTF-8
    /// ([`io::ErrorKind::InvalidData`]). The compiler reports the error as a diagnostic.
    fn load(&self, path: &str, includer: Option<&str>) -> io::Result<Option<Loaded>>;
}

/// A file that a [`Loader`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The path for messages, which is also the file's identity. The loader must return the same
    /// path for the same file; otherwise the file is compiled twice, and all its types are reported
    /// as defined twice.
    pub path: String,
    /// The text.
    pub text: String,
}

/// A [`Loader`] of texts held in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryLoader {
    files: BTreeMap<String, String>,
    include_directories: Vec<String>,
}

impl MemoryLoader {
    /// Creates a loader without files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file, or replaces the file with the same path.
    #[must_use]
    pub fn with_file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(normalized(path), text.to_owned());
        self
    }

    /// Adds a directory in which includes are looked up, after the directories added before.
    #[must_use]
    pub fn with_include_directory(mut self, path: &str) -> Self {
        self.include_directories.push(path.to_owned());
        self
    }
}

impl Loader for MemoryLoader {
    fn load(&self, path: &str, includer: Option<&str>) -> io::Result<Option<Loaded>> {
        let mut candidates = Vec::new();
        if let Some(includer) = includer {
            let directory = includer
                .rsplit_once('/')
                .map_or("", |(directory, _)| directory);
            candidates.push(normalized(&format!("{directory}/{path}")));
            for directory in &self.include_directories {
                candidates.push(normalized(&format!("{directory}/{path}")));
            }
        } else {
            candidates.push(normalized(path));
        }
        let found = candidates.into_iter().find_map(|path| {
            let text = self.files.get(&path)?.clone();
            Some(Loaded { path, text })
        });
        Ok(found)
    }
}

/// Removes `.`, empty parts, and each `..` together with the part before it; a leading `..` stays.
fn normalized(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The files of a compilation, in the order of their [`FileId`]s.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Source>,
}

/// One file of [`Sources`].
#[derive(Clone, Debug)]
struct Source {
    path: String,
    text: String,
    line_starts: Vec<usize>,
}

/// A line and a column in a file, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Sources {
    pub(crate) fn add(&mut self, loaded: Loaded) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        let newlines = loaded
            .text
            .match_indices('\n')
            .map(|(position, _)| position + 1);
        let line_starts = std::iter::once(0).chain(newlines).collect();
        self.files.push(Source {
            path: loaded.path,
            text: loaded.text,
            line_starts,
        });
        id
    }

    /// The files of `self`, then those of `others`. The ids of the latter grow by the number of the
    /// former.
    pub(crate) fn joined(&self, others: &Self) -> Self {
        let files = self.files.iter().chain(&others.files).cloned().collect();
        Self { files }
    }

    pub(crate) fn find(&self, path: &str) -> Option<FileId> {
        let position = self.files.iter().position(|source| source.path == path)?;
        u32::try_from(position).ok().map(FileId)
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// The paths of all files that were read, requested or included, as a depfile lists them.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|source| source.path.as_str())
    }

    /// The path of a file.
    #[must_use]
    pub fn path(&self, file: FileId) -> &str {
        self.files
            .get(file.0 as usize)
            .map_or("", |source| source.path.as_str())
    }

    /// The text of a file.
    #[must_use]
    pub fn text(&self, file: FileId) -> &str {
        self.files
            .get(file.0 as usize)
            .map_or("", |source| source.text.as_str())
    }

    /// The location of the first character of `span`.
    #[must_use]
    pub fn start(&self, span: &Span) -> Location {
        self.location(span.file, span.range.start)
    }

    /// The location after the last character of `span`.
    #[must_use]
    pub fn end(&self, span: &Span) -> Location {
        self.location(span.file, span.range.end)
    }

    fn location(&self, file: FileId, offset: usize) -> Location {
        let Some(source) = self.files.get(file.0 as usize) else {
            return Location { line: 1, column: 1 };
        };
        let line = source
            .line_starts
            .partition_point(|start| *start <= offset)
            .max(1);
        let start = source.line_starts.get(line - 1).copied().unwrap_or(0);
        let before = source
            .text
            .get(start..offset.min(source.text.len()))
            .unwrap_or("");
        Location {
            line,
            column: before.chars().count() + 1,
        }
    }

    /// The offset at which a line begins; lines count from 1.
    pub(crate) fn line_start(&self, file: FileId, line: usize) -> usize {
        let source = self.files.get(file.0 as usize);
        let start = source.and_then(|source| source.line_starts.get(line.saturating_sub(1)));
        start.copied().unwrap_or(0)
    }

    /// A line, with its end; lines count from 1.
    pub(crate) fn line(&self, file: FileId, line: usize) -> &str {
        let Some(source) = self.files.get(file.0 as usize) else {
            return "";
        };
        let end = source.line_starts.get(line).copied();
        let range = self.line_start(file, line)..end.unwrap_or(source.text.len());
        source.text.get(range).unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_removed_from_paths() {
        assert_eq!(normalized("./a//b/../c.fbs"), "a/c.fbs");
        assert_eq!(normalized("../a.fbs"), "../a.fbs");
        assert_eq!(normalized("../../a.fbs"), "../../a.fbs");
    }

    #[test]
    fn columns_count_characters() {
        let mut sources = Sources::default();
        let file = sources.add(Loaded {
            path: "a.fbs".to_owned(),
            text: "// one\n/* äö */ table".to_owned(),
        });
        let start = "// one\n/* äö */ ".len();
        let span = Span {
            file,
            range: start..start + 5,
        };
        assert_eq!(
            sources.start(&span),
            Location {
                line: 2,
                column: 10
            }
        );
        assert_eq!(
            sources.end(&span),
            Location {
                line: 2,
                column: 15
            }
        );
    }
}
