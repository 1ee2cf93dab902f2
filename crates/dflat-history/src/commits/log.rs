//! Finds commits.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::ControlFlow;

use dflat_engine::engine::Engine;
use dflat_engine::storage::{NamedTable, Snapshot, StepId, WriteTransaction};
use dflat_engine::{Error, ErrorKind, Result};

use super::commit::Commit;
use crate::past::Place;
use crate::received::has_part;
use crate::steps::CommitId;

/// The commit with an id.
///
/// # Errors
/// [`ErrorKind::NotFound`] if there is none; [`ErrorKind::Corrupt`] if it is damaged; otherwise the
/// errors of reading.
pub fn load(snapshot: &mut dyn Snapshot, id: CommitId) -> Result<Commit> {
    let mut found = None;
    snapshot.named(NamedTable::Commits, &[id.as_bytes()], &mut |row| {
        found = Some(Commit::from_row(row.name, row.bytes));
        ControlFlow::Break(())
    })?;
    found.unwrap_or_else(|| {
        let message = format!("there is no commit {id} in the history");
        Err(Error::new(ErrorKind::NotFound, message))
    })
}

/// Whether the file has each of these commits.
///
/// # Errors
/// The errors of reading.
pub fn has(snapshot: &mut dyn Snapshot, ids: &[CommitId]) -> Result<Vec<bool>> {
    let names: Vec<&[u8]> = ids.iter().map(|id| &id.as_bytes()[..]).collect();
    let mut found = BTreeSet::new();
    snapshot.named(NamedTable::Commits, &names, &mut |row| {
        found.insert(row.name.to_vec());
        ControlFlow::Continue(())
    })?;
    Ok(names.into_iter().map(|name| found.contains(name)).collect())
}

/// Stores a commit of another file, after its parents. Its
/// [parts](crate::received::put_part) have to be there, the last one from this transaction.
///
/// # Errors
/// The errors of writing.
pub fn store_commit(writer: &mut dyn WriteTransaction, commit: &Commit) -> Result<()> {
    let row = Commit {
        last_step: None,
        ..commit.clone()
    };
    writer.put_named(NamedTable::Commits, commit.id.as_bytes(), &row.to_row())
}

/// Notes that the tables are set to the objects of a commit after a step. From then on the commit
/// has a place among the steps.
///
/// # Errors
/// As [`load`], and the errors of writing.
pub(crate) fn put_place(
    writer: &mut dyn WriteTransaction,
    id: CommitId,
    step: StepId,
) -> Result<()> {
    let mut commit = load(writer, id)?;
    if commit.last_step.is_some() {
        return Ok(());
    }
    commit.last_step = Some(step);
    writer.put_named(NamedTable::Commits, id.as_bytes(), &commit.to_row())
}

/// The place of a commit among the steps of the file. From a commit of another file, this follows
/// the first parents to one that has a place.
///
/// # Errors
/// As [`load`].
pub fn place(snapshot: &mut dyn Snapshot, id: CommitId) -> Result<Place> {
    let mut received = Vec::new();
    let mut next = Some(id);
    while let Some(id) = next {
        let commit = load(snapshot, id)?;
        if commit.last_step.is_some() || !has_part(snapshot, id, 0)? {
            let named = commit.tables.into_iter().map(|table| table.name);
            return Ok(Place {
                step: commit.last_step,
                commit: Some(id),
                received,
                named: Some(named.collect()),
            });
        }
        received.push(id);
        next = commit.parents.first().copied();
    }
    Ok(Place {
        step: None,
        commit: None,
        received,
        named: None,
    })
}

/// The commit whose id begins with hexadecimal digits.
///
/// # Errors
/// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::InvalidArgument`] if there are several;
/// otherwise the errors of reading.
pub fn find(engine: &Engine, digits: &str) -> Result<CommitId> {
    let mut found = BTreeSet::new();
    engine.read_history(|snapshot| {
        snapshot.all_named(NamedTable::Commits, None, &mut |row| {
            let mut text = String::new();
            for byte in row.name {
                // A write into a text does not fail.
                let _ = write!(text, "{byte:02x}");
            }
            if let Ok(name) = row.name.try_into()
                && text.starts_with(&digits.to_ascii_lowercase())
            {
                found.insert(CommitId::from_bytes(name));
            }
            ControlFlow::Continue(())
        })
    })?;
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(id), None) => Ok(id),
        (Some(_), Some(_)) => {
            let message = format!("several commits begin with {digits}");
            Err(Error::new(ErrorKind::InvalidArgument, message))
        }
        (None, _) => {
            let message = format!("there is no commit {digits} in the history");
            Err(Error::new(ErrorKind::NotFound, message))
        }
    }
}

/// The commits from some of them back to the first, each before its parents. They are read one by
/// one.
#[derive(Debug)]
pub struct CommitLog {
    /// Commits that are to come.
    wanted: BTreeSet<CommitId>,
    below: Option<i64>,
}

/// The rows that are passed at once.
const ROWS_MAX: usize = 64;

impl CommitLog {
    /// Begins with these commits.
    #[must_use]
    pub fn of(commits: impl IntoIterator<Item = CommitId>) -> Self {
        Self {
            wanted: commits.into_iter().collect(),
            below: None,
        }
    }

    /// The next commit.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if a commit is damaged or missing; otherwise the errors of reading.
    pub fn next(&mut self, engine: &Engine) -> Result<Option<Commit>> {
        let mut found = None;
        while found.is_none() && !self.wanted.is_empty() {
            let (wanted, below, mut rows) = (&self.wanted, &mut self.below, 0);
            // A parent has an earlier row than its children.
            engine.read_history(|snapshot| {
                snapshot.all_named(NamedTable::Commits, *below, &mut |row| {
                    (*below, rows) = (Some(row.id), rows + 1);
                    if wanted.iter().any(|id| id.as_bytes() == row.name) {
                        found = Some(Commit::from_row(row.name, row.bytes));
                    }
                    match found.is_none() && rows < ROWS_MAX {
                        true => ControlFlow::Continue(()),
                        false => ControlFlow::Break(()),
                    }
                })
            })?;
            if rows == 0
                && let Some(id) = self.wanted.first()
            {
                let message = format!("commit {id} is missing from the history");
                return Err(Error::new(ErrorKind::Corrupt, message));
            }
        }
        let Some(commit) = found.transpose()? else {
            return Ok(None);
        };
        self.wanted.remove(&commit.id);
        self.wanted.extend(&commit.parents);
        Ok(Some(commit))
    }
}
