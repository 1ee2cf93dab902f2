//! Objects that one of the two sides has forgotten.

use dflat_engine::{Error, ErrorKind, Result};

use super::wire::{malformed, too_much};
use crate::commits::{Commit, Mark, MarkKey};
use crate::tree::Root;

/// The key of some marks, and these.
type Marked = (MarkKey, Vec<Mark>);

/// The marks and notes that a receiver takes of objects that the other side has forgotten.
#[derive(Debug)]
pub(super) struct Forgotten {
    is_accepted: bool,
    marks: Vec<Marked>,
}

impl Forgotten {
    pub(super) const fn new(is_accepted: bool) -> Self {
        Self {
            is_accepted,
            marks: Vec::new(),
        }
    }

    /// Takes marks, if they are accepted.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if there are more than `max` with those before.
    pub(super) fn take_marks(&mut self, max: usize, marked: Marked) -> Result<()> {
        if !self.is_accepted {
            return Ok(());
        }
        self.marks.push(marked);
        let count: usize = self.marks.iter().map(|(_, marks)| 1 + marks.len()).sum();
        match count > max {
            true => Err(too_much(&format!("more than {max} marks"))),
            false => Ok(()),
        }
    }

    /// The marks that were taken.
    pub(super) fn marks(&mut self) -> Vec<Marked> {
        std::mem::take(&mut self.marks)
    }

    /// Notes that a commit has lost objects of a type, and the tree of the others.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if this is not accepted; [`ErrorKind::Corrupt`] if the commit
    /// has no such type, or this is known.
    pub(super) fn take_rest(&self, commit: &mut Commit, number: u32, root: Root) -> Result<()> {
        if !self.is_accepted {
            let message = "cannot sync: objects were forgotten on the other side, so that commits \
                           cannot be checked; trust the other side, and accept forgotten objects";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let number = usize::try_from(number).ok();
        match number.and_then(|number| commit.tables.get_mut(number)) {
            Some(of) if !of.has_forgotten_objects => {
                (of.has_forgotten_objects, of.rest) = (true, Some(root));
                Ok(())
            }
            _ => Err(malformed("the tree of no type, or a second one of a type")),
        }
    }
}

/// The error of a commit with an object that was forgotten here.
pub(super) fn forgotten_here(commit: &Commit, table: &str, why: &str) -> Error {
    let message = format!(
        "cannot sync commit {}: {why} of {table} that was forgotten on this side; forget it on the \
         other side, too",
        commit.id
    );
    Error::new(ErrorKind::InvalidArgument, message)
}
