//! The changes of one step or commit.

use dflat_engine::object::{Object, Origin};
use dflat_engine::storage::View;
use dflat_history::commits::load;
use dflat_history::compare::{ObjectDiff, Version};
use dflat_history::steps::changes;
use dflat_model::{RowId, Table};

use super::version::version;
use super::{no_history, versioned};
use crate::arguments::ShowArguments;
use crate::failure::{Failure, Found, Outcome, note};
use crate::object::{Column, columns, row};
use crate::record::Cell;
use crate::session::Session;
use crate::transfer::{Fields, Printer};

/// Prints the objects that a step or a commit has changed.
pub(crate) fn show(arguments: &ShowArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.file)?;
    let tables = versioned(&file)?;
    let Some(first) = tables.first() else {
        return Err(no_history(&file));
    };
    let engine = file.workspace.engine();
    let mut printer = Printer::new(arguments.format.get(), session.out())?;
    match version(&file, &arguments.version)? {
        Version::Commit(id) => {
            let commit = engine.read_history(|snapshot| load(snapshot, id))?;
            for of in commit.tables.iter().filter(|of| of.has_forgotten_objects) {
                note(&format!(
                    "objects of {} in the commit were forgotten since: its root can no longer be \
                     checked",
                    file.type_name(&of.name)
                ));
            }
            for table in &tables {
                let states = (commit.parents.first().copied(), id);
                for change in ObjectDiff::since(engine, &tables, table, states)? {
                    session.check()?;
                    let change = change?;
                    print(&mut printer, table, (&change.before, &change.after))?;
                }
            }
        }
        Version::Step(id) => {
            let found = engine.read(first, View::Pinned, |snapshot, _| {
                changes(snapshot, &tables, id)
            })?;
            for change in found {
                session.check()?;
                let table = tables.iter().find(|table| table.name == change.table);
                let state = |payload: Option<Vec<u8>>| payload.map(|p| (change.row_id, p));
                let (before, after) = (state(change.before), state(change.after));
                if change.is_lost {
                    let key: Vec<String> = change.key.iter().map(ToString::to_string).collect();
                    note(&format!(
                        "the object {} of {} is not known as it was before or after the step: a \
                         program has changed it and prevented that its state was noted",
                        key.join(", "),
                        file.type_name(&change.table)
                    ));
                } else if let Some(table) = table {
                    print(&mut printer, table, (&before, &after))?;
                }
            }
        }
        _ => {}
    }
    printer.end()?;
    file.close()?;
    Ok(Found::Yes)
}

/// A state of an object: its row id and its bytes.
type State = Option<(RowId, Vec<u8>)>;

/// Prints a change of an object.
pub(super) fn print<W: std::io::Write>(
    printer: &mut Printer<W>,
    table: &Table,
    (before, after): (&State, &State),
) -> Result<(), Failure> {
    let columns = columns(table);
    let object = |(row_id, payload): &(RowId, Vec<u8>)| {
        let object = Object::new(table, *row_id, Origin::default(), payload);
        object.map_err(|_| {
            let name = &table.type_name;
            Failure::file(format!(
                "row {row_id} of {name} had bytes that are no {name}"
            ))
        })
    };
    let fields = |object: &Object| -> Result<Vec<(String, Cell)>, Failure> {
        let cells = row(table, object, &columns)?;
        Ok(columns.iter().map(Column::name).zip(cells).collect())
    };
    match (before, after) {
        (None, None) => Ok(()),
        (Some(before), None) => {
            let before = object(before)?;
            printer.removed((table, &before), fields(&before)?)
        }
        (None, Some(after)) => {
            let after = object(after)?;
            printer.added((table, &after), fields(&after)?)
        }
        (Some(before), Some(after)) => {
            let (before, after) = (object(before)?, object(after)?);
            let pairs = fields(&before)?.into_iter().zip(fields(&after)?);
            let pairs = pairs.map(|((name, before), (_, after))| (name, (before, after)));
            let differ =
                |(_, (before, after)): &(String, (Cell, Cell))| before.shown() != after.shown();
            printer.changed((table, &after), &pairs.filter(differ).collect::<Fields>())
        }
    }
}
