//! The differences between two states of one file.

use dflat_history::compare::{ObjectDiff, Version};
use dflat_history::steps::Backwards;
use dflat_model::Table;

use super::history;
use super::show::print;
use super::version::version;
use crate::arguments::DiffArguments;
use crate::failure::{Found, Outcome};
use crate::session::Session;
use crate::transfer::Printer;

/// Prints the objects in which two states differ.
pub(crate) fn diff(arguments: &DiffArguments, session: &Session) -> Outcome {
    let file = session.read(&arguments.file)?;
    let tables = history(&file)?;
    let engine = file.workspace.engine();
    let from = version(&file, arguments.from.as_deref().unwrap_or_default())?;
    let to = match &arguments.to {
        Some(to) => version(&file, to)?,
        None => match Backwards::below(None).next(&mut &*engine)? {
            Some(last) => Version::Step(last.id),
            None => from,
        },
    };
    let other = arguments
        .other
        .iter()
        .map(|other| other.to_string_lossy().into_owned());
    let names: Vec<String> = other.chain(arguments.types.iter().cloned()).collect();
    let chosen = file.types.chosen(&names)?;
    let is_chosen = |table: &&Table| chosen.iter().any(|of| of.table.name == table.name);
    let mut printer = Printer::new(arguments.format.get(), session.out())?;
    for table in tables.iter().filter(is_chosen) {
        for change in ObjectDiff::new(engine, &tables, table, (from, to))? {
            session.check()?;
            let change = change?;
            print(&mut printer, table, (&change.before, &change.after))?;
        }
    }
    let differs = printer.end()?;
    file.close()?;
    Ok(if differs { Found::No } else { Found::Yes })
}
