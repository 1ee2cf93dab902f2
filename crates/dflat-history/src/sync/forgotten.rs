//! Objects that one of the two sides has forgotten.

use dflat_engine::engine::Engine;
use dflat_engine::storage::Snapshot;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::Table;

use super::wire::{Channel, malformed, too_much};
use crate::commits::{Commit, Mark, MarkKey, Marks, collections};
use crate::garbage::ReceivedMarks;
use crate::tree::Root;

/// The marks and notes that a receiver takes of objects that the other side has forgotten.
#[derive(Debug)]
pub(super) struct Forgotten {
    is_accepted: bool,
    /// Whether commits have come, so that no further marks are taken.
    is_applied: bool,
    /// The marks that the other side has sent, and the number of them and of their keys.
    sent: Marks,
    count: usize,
    /// The marks of this file that the other side lacks, and the number of collections of garbage
    /// before they were read. An object that the other side has forgotten, too, is a new one there.
    own: Option<(u64, Marks)>,
}

impl Forgotten {
    pub(super) fn new(is_accepted: bool) -> Self {
        Self {
            is_accepted,
            is_applied: false,
            sent: Marks::default(),
            count: 0,
            own: None,
        }
    }

    /// Takes marks, if they are accepted.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] if there are more than `max` with those before;
    /// [`ErrorKind::Corrupt`] if a commit has come before.
    pub(super) fn take_marks(
        &mut self,
        max: usize,
        (key, marks): (MarkKey, Vec<Mark>),
    ) -> Result<()> {
        if self.is_applied {
            return Err(malformed("marks behind a commit"));
        }
        if !self.is_accepted {
            return Ok(());
        }
        self.count += 1 + marks.len();
        for mark in marks {
            self.sent.add(key, mark, 0);
        }
        match self.count > max {
            true => Err(too_much(&format!("more than {max} marks"))),
            false => Ok(()),
        }
    }

    /// Forgets the objects with the marks that were taken, before the first commit.
    ///
    /// # Errors
    /// Those of [`ReceivedMarks::apply`]; [`ErrorKind::DeadlineExceeded`] beyond the limit of time.
    pub(super) fn apply(
        &mut self,
        channel: &Channel<'_>,
        engine: &Engine,
        (tables, allowed): (&[Table], &[Table]),
    ) -> Result<()> {
        if std::mem::replace(&mut self.is_applied, true) || self.sent.is_empty() {
            return Ok(());
        }
        let received = ReceivedMarks {
            engine,
            tables,
            allowed,
            marks: &self.sent,
        };
        received.apply(&|| channel.check_time()).map(drop)
    }

    /// Whether an object was forgotten here, but not on the other side, by the marks that were
    /// [read](Self::read).
    pub(super) fn has(&self, table: &str, key: &[u8]) -> bool {
        let own = self.own.as_ref();
        own.is_some_and(|(_, marks)| marks.has(table, key))
    }

    /// Reads the marks of this file, if they may be others than before. Returns the number of
    /// collections of garbage.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if a mark is damaged; otherwise the errors of reading.
    pub(super) fn read(&mut self, snapshot: &mut dyn Snapshot) -> Result<u64> {
        // Order: before the marks, because each forgetting counts as a collection.
        let now = collections(snapshot)?;
        if self.own.as_ref().is_none_or(|(before, _)| *before != now) {
            let own = Marks::read(snapshot)?.without(&self.sent);
            self.own = Some((now, own));
        }
        Ok(now)
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
