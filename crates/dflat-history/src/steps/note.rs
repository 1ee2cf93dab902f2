//! The part of a step that its change record does not have.

use dflat_engine::storage::StepId;

use crate::commit_id::CommitId;

/// How a step came about. `docs/storage-format.md` has the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// A transaction of a program.
    #[default]
    Change,
    /// An undo of these steps, the latest one first.
    Undo(Vec<StepId>),
    /// A redo of these steps, the latest one first.
    Redo(Vec<StepId>),
    /// Changes of a program that keeps no history, such as the shell of SQLite. The step was made
    /// when they were noticed.
    Unknown,
    /// A checkout: the objects were set to those of this commit.
    Checkout(CommitId),
    /// A merge: the objects were set to those of this commit.
    Merge(CommitId),
}

const UNDO: u8 = 1;
const REDO: u8 = 2;
const UNKNOWN: u8 = 3;
const CHECKOUT: u8 = 4;
const MERGE: u8 = 5;

impl Note {
    /// The bytes of the note.
    #[must_use]
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let (kind, steps): (_, &[StepId]) = match self {
            Self::Change => return Vec::new(),
            Self::Undo(steps) => (UNDO, steps),
            Self::Redo(steps) => (REDO, steps),
            Self::Unknown => (UNKNOWN, &[]),
            Self::Checkout(commit) => return of_commit(CHECKOUT, commit),
            Self::Merge(commit) => return of_commit(MERGE, commit),
        };
        let mut bytes = vec![kind];
        for step in steps {
            bytes.extend(step.0.to_le_bytes());
        }
        bytes
    }

    /// The note of these bytes; `None` if they are malformed.
    #[must_use]
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let Some((&kind, steps)) = bytes.split_first() else {
            return Some(Self::Change);
        };
        if let CHECKOUT | MERGE = kind {
            let commit = CommitId::from_bytes(steps.try_into().ok()?);
            return Some(match kind {
                CHECKOUT => Self::Checkout(commit),
                _ => Self::Merge(commit),
            });
        }
        let (steps, rest) = steps.as_chunks::<8>();
        let steps = steps.iter().map(|step| StepId(i64::from_le_bytes(*step)));
        let steps: Vec<StepId> = steps.collect();
        match kind {
            _ if !rest.is_empty() => None,
            UNDO => Some(Self::Undo(steps)),
            REDO => Some(Self::Redo(steps)),
            UNKNOWN if steps.is_empty() => Some(Self::Unknown),
            _ => None,
        }
    }

    /// The steps that were undone or redone.
    #[must_use]
    pub fn steps(&self) -> &[StepId] {
        match self {
            Self::Undo(steps) | Self::Redo(steps) => steps,
            Self::Change | Self::Unknown | Self::Checkout(_) | Self::Merge(_) => &[],
        }
    }

    /// The commit to which the objects were set.
    #[must_use]
    pub const fn commit(&self) -> Option<CommitId> {
        match self {
            Self::Checkout(commit) | Self::Merge(commit) => Some(*commit),
            _ => None,
        }
    }
}

fn of_commit(kind: u8, commit: &CommitId) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend(commit.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_as_they_were_written() {
        let steps = || vec![StepId(i64::MAX), StepId(1)];
        let notes = [
            Note::Change,
            Note::Undo(steps()),
            Note::Redo(steps()),
            Note::Unknown,
            Note::Checkout(CommitId::from_bytes([7; 32])),
            Note::Merge(CommitId::from_bytes([0; 32])),
        ];
        for note in notes {
            let bytes = note.to_bytes();
            assert_eq!(Note::from_bytes(&bytes), Some(note.clone()));
            if !bytes.is_empty() {
                assert_eq!(Note::from_bytes(&[&bytes[..], &[0]].concat()), None);
            }
        }
        assert_eq!(Note::from_bytes(&[4]), None);
        assert_eq!(Note::from_bytes(&[6]), None);
    }
}
