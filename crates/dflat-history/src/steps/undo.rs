//! Undo and redo: transactions that set objects to earlier states.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::rc::Rc;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::StepId;
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{RowId, Table, Value};

use super::apply::{RowToSet, apply};
use super::find::{self, Decided, Found, load};
use super::reverse::{ReversedRows, reverse};
use super::{Note, Scope};

/// The steps to undo or to redo.
#[derive(Clone, Debug)]
pub enum Target {
    /// Undo the latest change that is not undone.
    Latest(Scope),
    /// Redo the latest undo, unless a change came after it.
    Undone(Scope),
    /// Undo one step.
    Step(StepId),
}

/// The treatment of objects that others have changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is changed.
    Whole,
    /// All other objects are set back.
    Rest,
}

/// An object that was changed since, by steps that are not undone with it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Conflict {
    /// The name of the table in the file.
    pub table: String,
    /// The name of the type.
    pub type_name: String,
    /// The primary key of the object, as the undone step has it.
    pub key: Vec<Value>,
    /// The row id of the object.
    pub row_id: RowId,
    /// The later steps that have changed the object, or the step that lacks its state before. None
    /// if another object has its key or a unique value.
    pub steps: Vec<StepId>,
}

/// An undo or a redo that was committed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Undone {
    /// The steps that were undone or redone, the latest one first. Steps whose undo would have
    /// changed nothing may be the first ones.
    pub steps: Vec<StepId>,
    /// The label of the latest step whose undo, or redo, changed an object.
    pub label: Option<String>,
    /// The number of objects that were changed.
    pub changed: u64,
    /// The objects that were left as they are.
    pub conflicts: Vec<Conflict>,
    /// The tables in which the transactions have changed more, which the history does not have:
    /// the types are not versioned. These changes remain.
    pub remaining: Vec<String>,
}

/// An undo or a redo to do.
#[derive(Clone, Debug)]
pub struct Undo {
    /// The steps.
    pub target: Target,
    /// The treatment of conflicts.
    pub mode: Mode,
}

/// Makes steps of the changes that programs without a history have made to these tables, in a
/// transaction, if there are any.
///
/// # Errors
/// Those of [`Engine::perform_here`].
pub fn notice(engine: &Engine, tables: &[Table]) -> Result<()> {
    let mut noted = Vec::new();
    for table in tables {
        if engine.has_foreign_changes(table)? {
            noted.push(table.clone());
        }
    }
    if noted.is_empty() {
        return Ok(());
    }
    let options = PerformOptions { write_first: true };
    let handler = |transaction: &Rc<Transaction>| prepare(transaction, &noted);
    engine.perform_here(noted.iter().cloned(), options, handler, |_| ())
}

/// Prepares tables for writing, by which the rows that other programs have changed become steps.
pub(crate) fn prepare(transaction: &Transaction, tables: &[Table]) -> Result<()> {
    for table in tables {
        transaction.read_to_write(table, |_| Ok(()))?;
    }
    Ok(())
}

impl Undo {
    /// Undoes or redoes in a transaction over these tables, which must be all versioned ones.
    /// `None` if there is nothing to undo or redo.
    ///
    /// # Errors
    /// - [`ErrorKind::OutOfDate`] if others have changed the same objects since; in mode `Rest` if
    ///   they have changed all of them.
    /// - [`ErrorKind::NotFound`] and [`ErrorKind::InvalidArgument`] for a chosen step that cannot
    ///   be undone; `NotFound` also if it lacks the state of an object before.
    /// - [`ErrorKind::Corrupt`] if the history does not fit the objects.
    /// - Otherwise those of [`Engine::perform_here`].
    pub fn perform(&self, engine: &Engine, tables: &[Table]) -> Result<Option<Undone>> {
        let options = PerformOptions { write_first: true };
        if tables.is_empty() {
            return match self.target {
                Target::Step(id) => Err(missing(id)),
                Target::Latest(_) | Target::Undone(_) => Ok(None),
            };
        }
        let handler = |transaction: &Rc<Transaction>| self.run(transaction, tables);
        engine.perform_here(tables.iter().cloned(), options, handler, |_| ())
    }

    fn run(&self, transaction: &Transaction, tables: &[Table]) -> Result<Option<Undone>> {
        prepare(transaction, tables)?;
        let Some(first) = tables.first() else {
            return Ok(None);
        };
        let (mut decided, mut steps) = (Decided::new(), Vec::new());
        loop {
            let found = transaction.read_to_write(first, |snapshot| {
                let Some(found) = self.find(snapshot, &decided)? else {
                    return Ok(None);
                };
                let rows = reverse(snapshot, tables, &found.reversed)?;
                let remaining = remaining(snapshot, &found.steps)?;
                Ok(Some((found, rows, remaining)))
            })?;
            let Some((found, rows, remaining)) = found else {
                return Ok(None);
            };
            steps.extend(&found.steps);
            let undone = self.set(transaction, tables, &rows)?;
            if undone.0 > 0 {
                transaction.set_history_note(&self.note(steps.clone()).to_bytes());
                if let Some(label) = &found.label {
                    transaction.set_label(label);
                }
                return Ok(Some(Undone {
                    steps,
                    label: found.label,
                    changed: undone.0,
                    conflicts: undone.1,
                    remaining,
                }));
            }
            // An undo that changes nothing has no step that tells of it, so the next one is undone
            // with it.
            if matches!(self.target, Target::Step(_)) {
                return Ok(None);
            }
            let is_undo = matches!(self.target, Target::Latest(_));
            decided.extend(found.steps.into_iter().map(|id| (id, is_undo)));
        }
    }

    fn find(
        &self,
        snapshot: &mut dyn dflat_engine::storage::Snapshot,
        decided: &Decided,
    ) -> Result<Option<Found>> {
        match &self.target {
            Target::Latest(scope) => find::to_undo(snapshot, scope, decided.clone()),
            Target::Undone(scope) => find::to_redo(snapshot, scope, decided.clone()),
            Target::Step(id) => find::chosen(snapshot, *id).map(Some),
        }
    }

    const fn note(&self, steps: Vec<StepId>) -> Note {
        match self.target {
            Target::Latest(_) | Target::Step(_) => Note::Undo(steps),
            Target::Undone(_) => Note::Redo(steps),
        }
    }

    /// Sets the rows back, those in conflict excepted. Returns how many were changed.
    fn set(
        &self,
        transaction: &Transaction,
        tables: &[Table],
        rows: &ReversedRows,
    ) -> Result<(u64, Vec<Conflict>)> {
        let mut conflicts = Vec::new();
        let mut to_set = Vec::new();
        for (name, rows) in rows {
            let Some(table) = tables.iter().find(|table| table.name == *name) else {
                continue;
            };
            for (row_id, row) in rows {
                let row_id = *row_id;
                let mut later = row.later.clone();
                match row.target.lost() {
                    Some(lost) if later.is_empty() => match self.mode {
                        Mode::Whole => return Err(lost.error(table)),
                        Mode::Rest => later.push(lost.step),
                    },
                    _ => {}
                }
                match later.is_empty() {
                    true => to_set.push(RowToSet {
                        table,
                        row_id,
                        current: row.current.as_deref(),
                        target: row.target.payload(),
                    }),
                    false => conflicts.push(Conflict {
                        table: name.clone(),
                        type_name: table.type_name.to_string(),
                        key: row.key.clone(),
                        row_id,
                        steps: later,
                    }),
                }
            }
        }
        self.admit(&conflicts, !to_set.is_empty())?;
        let (changed, refused) = apply(transaction, &to_set)?;
        for (table, row_id) in refused {
            let row = rows
                .get(table.name.as_ref())
                .and_then(|rows| rows.get(&row_id));
            conflicts.push(Conflict {
                table: table.name.to_string(),
                type_name: table.type_name.to_string(),
                key: row.map(|row| row.key.clone()).unwrap_or_default(),
                row_id,
                steps: Vec::new(),
            });
        }
        self.admit(&conflicts, changed > 0)?;
        Ok((changed, conflicts))
    }

    /// Refuses conflicts, unless the rest is to be undone and there is any.
    fn admit(&self, conflicts: &[Conflict], has_rest: bool) -> Result<()> {
        if conflicts.is_empty() || self.mode == Mode::Rest && has_rest {
            return Ok(());
        }
        let verb = match self.target {
            Target::Latest(_) | Target::Step(_) => "undo",
            Target::Undone(_) => "redo",
        };
        Err(Error::new(ErrorKind::OutOfDate, describe(verb, conflicts)))
    }
}

/// The most conflicts that a message names.
const NAMED_MAX: usize = 3;

fn describe(verb: &str, conflicts: &[Conflict]) -> String {
    let mut text = format!("cannot {verb}: ");
    for (position, conflict) in conflicts.iter().take(NAMED_MAX).enumerate() {
        let Conflict { type_name, key, .. } = conflict;
        let key: Vec<String> = key.iter().map(ToString::to_string).collect();
        let between = if position > 0 { "; " } else { "" };
        // A write into a text does not fail.
        let _ = write!(
            text,
            "{between}the object {} of {type_name} ",
            key.join(", ")
        );
        let steps: BTreeSet<i64> = conflict.steps.iter().map(|step| step.0).collect();
        let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
        let _ = match &steps[..] {
            [] => write!(text, "has a key or a unique value of another object"),
            [step] => write!(text, "was changed by step {step} since"),
            steps => write!(text, "was changed by steps {} since", steps.join(", ")),
        };
    }
    if let Some(more @ 1..) = conflicts.len().checked_sub(NAMED_MAX) {
        let _ = write!(text, "; and {more} more");
    }
    text
}

/// The tables that are not versioned, and that the steps have changed.
fn remaining(
    snapshot: &mut dyn dflat_engine::storage::Snapshot,
    steps: &[StepId],
) -> Result<Vec<String>> {
    let mut names = BTreeSet::new();
    for id in steps {
        if let Some(step) = load(snapshot, *id)? {
            let tables = step.step()?.tables.into_iter();
            names.extend(
                tables
                    .filter(|table| !table.is_kept())
                    .map(|table| table.name),
            );
        }
    }
    Ok(names.into_iter().collect())
}

fn missing(id: StepId) -> Error {
    let message = format!("cannot undo step {}: there is no such step", id.0);
    Error::new(ErrorKind::NotFound, message)
}
