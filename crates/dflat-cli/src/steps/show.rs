//! The changes of one step.

use dflat_engine::object::{Object, Origin};
use dflat_engine::storage::View;
use dflat_history::steps::{StepChange, StepId, changes};
use dflat_model::Table;

use super::versioned;
use crate::arguments::ShowArguments;
use crate::failure::{Failure, Found, Outcome};
use crate::object::{Column, columns, row};
use crate::record::Cell;
use crate::session::Session;
use crate::transfer::{Fields, Printer};

/// Prints the objects that a step has changed.
pub(crate) fn show(arguments: &ShowArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.file)?;
    let tables = versioned(&file)?;
    let id = StepId(arguments.step);
    let found = match tables.first() {
        Some(first) => {
            let engine = file.workspace.engine();
            engine.read(first, View::Pinned, |snapshot, _| {
                changes(snapshot, &tables, id)
            })?
        }
        None => return Err(Failure::usage("the file has no versioned types")),
    };
    let mut printer = Printer::new(arguments.format.get(), session.out())?;
    for change in &found {
        session.check()?;
        let table = tables.iter().find(|table| table.name == change.table);
        if let Some(table) = table {
            print(&mut printer, table, change)?;
        }
    }
    printer.end()?;
    file.close()?;
    Ok(Found::Yes)
}

fn print<W: std::io::Write>(
    printer: &mut Printer<W>,
    table: &Table,
    change: &StepChange,
) -> Result<(), Failure> {
    let columns = columns(table);
    let object = |payload: &[u8]| {
        let object = Object::new(table, change.row_id, Origin::default(), payload);
        object.map_err(|_| {
            let (name, row_id) = (&table.type_name, change.row_id);
            Failure::file(format!(
                "row {row_id} of {name} had bytes that are no {name}"
            ))
        })
    };
    let fields = |object: &Object| -> Result<Vec<(String, Cell)>, Failure> {
        let cells = row(table, object, &columns)?;
        Ok(columns.iter().map(Column::name).zip(cells).collect())
    };
    match (&change.before, &change.after) {
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
