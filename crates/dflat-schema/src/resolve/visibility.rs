//! Which files see the types of which other files.
//!
//! A requested file sees its own types and those of all files it includes, directly or through
//! others. An included file sees the types that all requested files that lead to it see. So a file
//! that compiles together with others also compiles alone, with the same meaning, as with `flatc`.

use super::include::{Unit, Units};
use crate::schema::FileId;

/// For each file, a set of files.
#[derive(Debug, Default)]
pub(crate) struct Visibility(Vec<FileSet>);

impl Visibility {
    pub(crate) fn of(units: &Units) -> Self {
        let count = units.units.len();
        let mut visible = vec![FileSet::full(count); count];
        for (file, unit) in (0..).map(FileId).zip(&units.units) {
            if unit.requested {
                let reached = reached(&units.units, file);
                for (position, seen) in visible.iter_mut().enumerate() {
                    if reached.contains(position) {
                        seen.intersect(&reached);
                    }
                }
            }
        }
        Self(visible)
    }

    /// Whether the file `from` sees the types of `file`.
    pub(crate) fn sees(&self, from: FileId, file: FileId) -> bool {
        let seen = self.0.get(from.0 as usize);
        seen.is_some_and(|seen| seen.contains(file.0 as usize))
    }
}

/// The file and all files it includes, directly or through others.
fn reached(units: &[Unit], root: FileId) -> FileSet {
    let mut reached = FileSet::empty(units.len());
    let mut pending = vec![root];
    while let Some(file) = pending.pop() {
        let position = file.0 as usize;
        if !reached.contains(position) {
            reached.insert(position);
            pending.extend(&units[position].includes);
        }
    }
    reached
}

/// A bit for each file.
#[derive(Clone, Debug)]
struct FileSet(Vec<u64>);

impl FileSet {
    fn empty(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn full(count: usize) -> Self {
        Self(vec![u64::MAX; count.div_ceil(64)])
    }

    fn contains(&self, position: usize) -> bool {
        self.0[position / 64] >> (position % 64) & 1 == 1
    }

    fn insert(&mut self, position: usize) {
        self.0[position / 64] |= 1 << (position % 64);
    }

    fn intersect(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
    }
}
