//! The states of rows, as far as the history has them.

use dflat_engine::storage::{Snapshot, StepId};
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::record::{Before, Change, RowRecord};
use dflat_model::{RowId, Table, Value, key};

use super::{Note, StoredStep};

/// The state of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    /// The payload of the object; `None` if there is no such row.
    Known(Option<Vec<u8>>),
    /// The history lacks the state: a program has changed the row, or may have changed it, and no
    /// trigger has noted that.
    Lost(Lost),
}

/// A state that the history lacks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lost {
    /// The step that lacks its state before.
    pub(crate) step: StepId,
    /// The primary key of the object; `None` if it is lost, too.
    pub(crate) key: Option<Vec<Value>>,
    /// The payload after the step, which was perhaps the one before as well.
    after: Option<Vec<u8>>,
}

impl Default for State {
    fn default() -> Self {
        Self::Known(None)
    }
}

impl State {
    /// The payload, if there was an object and its payload is known.
    pub(crate) fn payload(&self) -> Option<&[u8]> {
        match self {
            Self::Known(payload) => payload.as_deref(),
            Self::Lost(_) => None,
        }
    }

    /// Why the state is not known.
    pub(crate) const fn lost(&self) -> Option<&Lost> {
        match self {
            Self::Known(_) => None,
            Self::Lost(lost) => Some(lost),
        }
    }

    /// The state before a step that lacks the states of all rows of the table.
    pub(crate) fn before_unnoted(self, step: StepId) -> Self {
        let after = match self {
            Self::Known(after) => after,
            Self::Lost(_) => None,
        };
        Self::Lost(Lost {
            step,
            key: None,
            after,
        })
    }
}

impl Lost {
    /// The encoded key of the object, if it is known.
    pub(crate) fn encoded_key(&self) -> Option<Vec<u8>> {
        let key = self.key.as_ref()?;
        Some(key::encode(key.iter().map(Value::as_ref)))
    }

    /// The error of a reader that needs the state.
    pub(crate) fn error(&self, table: &Table) -> Error {
        let message = match &self.key {
            Some(key) => {
                let key: Vec<String> = key.iter().map(ToString::to_string).collect();
                format!(
                    "the object {} of {} is not known as it was before step {}: a program has \
                     changed it and prevented that its state was noted",
                    key.join(", "),
                    table.type_name,
                    self.step.0
                )
            }
            None => return unnoted(table, self.step),
        };
        Error::new(ErrorKind::NotFound, message)
    }
}

/// The error of a reader that needs a state before a step that lacks the states of all rows.
pub(crate) fn unnoted(table: &Table, step: StepId) -> Error {
    let message = format!(
        "the objects of {} are not known as they were before step {}: a program may have changed \
         them, and has prevented that their states were noted",
        table.type_name, step.0
    );
    Error::new(ErrorKind::NotFound, message)
}

/// The state of a row before a change of a step, from the state after it.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if the change does not fit the state.
pub(crate) fn state_before(step: &StoredStep, row: &RowRecord<'_>, after: State) -> Result<State> {
    before(step.id, row, after).map_err(|why| misfit(step.id, row.row_id, why))
}

fn before(id: StepId, row: &RowRecord<'_>, after: State) -> Result<State, &'static str> {
    match (row.change, after) {
        (Change::Mended, after) => Ok(after),
        (Change::Updated(Before::Unknown) | Change::Deleted(None), after) => {
            let State::Lost(mut lost) = after.before_unnoted(id) else {
                return Err("the step lacks the state before");
            };
            lost.key = Some(key_of(row));
            Ok(State::Lost(lost))
        }
        (Change::Inserted | Change::Updated(_), State::Known(None)) => {
            Err("the object does not exist")
        }
        (Change::Deleted(_), State::Known(Some(_))) => Err("the object exists"),
        (Change::Inserted, _) => Ok(State::Known(None)),
        (Change::Updated(Before::Object(before)) | Change::Deleted(Some(before)), _) => {
            Ok(State::Known(Some(before.to_vec())))
        }
        (Change::Updated(Before::Difference(difference)), State::Known(Some(after))) => {
            let before = difference.apply(&after);
            let before = before.map_err(|_| "the object has other bytes")?;
            Ok(State::Known(Some(before)))
        }
        (Change::Updated(Before::Difference(difference)), State::Lost(lost)) => {
            // The hash in the difference shows whether the object was the same after all.
            let same = lost.after.as_deref();
            Ok(match same.and_then(|same| difference.apply(same).ok()) {
                Some(before) => State::Known(Some(before)),
                // A difference never hides another key before it.
                None => State::Lost(Lost {
                    step: lost.step,
                    key: Some(key_of(row)),
                    after: None,
                }),
            })
        }
    }
}

fn key_of(row: &RowRecord<'_>) -> Vec<Value> {
    row.key.iter().map(|part| part.to_value()).collect()
}

/// Fails if a program has prevented the notes of its changes to one of these tables, and no step
/// has them yet: the steps do not lead back from the present objects.
///
/// # Errors
/// [`ErrorKind::OutOfDate`]; otherwise the errors of reading.
pub(crate) fn check_notes(snapshot: &mut dyn Snapshot, tables: &[Table]) -> Result<()> {
    for table in tables {
        if !snapshot.has_all_notes(table)? {
            let message = format!(
                "cannot go back from the present objects of {}: a program has prevented that its \
                 changes were noted, and they are in no step yet; a transaction on the type, or a \
                 commit, finds them",
                table.type_name
            );
            return Err(Error::new(ErrorKind::OutOfDate, message));
        }
    }
    Ok(())
}

/// The tables of a step of which any row may have been changed before the step, without a note.
///
/// # Errors
/// [`ErrorKind::Corrupt`] for a step that cannot be read.
pub(crate) fn unnoted_tables(step: &StoredStep) -> Result<Vec<String>> {
    let mut names = Vec::new();
    // Only these steps have the flag, and to decode others again takes time.
    if step.note != Note::Unknown {
        return Ok(names);
    }
    for record in step.records() {
        for table in record?.tables {
            if table.table.is_foreign && !names.iter().any(|name| name == table.table.name) {
                names.push(table.table.name.to_owned());
            }
        }
    }
    Ok(names)
}

/// Whether any row of a table may have been changed before a step, without a note.
///
/// # Errors
/// [`ErrorKind::Corrupt`] for a step that cannot be read.
pub(crate) fn lacks_all(step: &StoredStep, table: &Table) -> Result<bool> {
    let mut names = unnoted_tables(step)?.into_iter();
    Ok(names.any(|name| *name == *table.name))
}

pub(crate) fn misfit(id: StepId, row_id: RowId, why: &str) -> Error {
    let message = format!(
        "cannot go back over step {} of the history: it does not fit row {row_id}: {why}; a program \
         has changed the row and kept no history",
        id.0
    );
    Error::new(ErrorKind::Corrupt, message)
}
