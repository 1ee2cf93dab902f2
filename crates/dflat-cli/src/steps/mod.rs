//! Commands on the history of a file.

mod branch;
mod commit;
mod diff;
mod forget;
mod log;
mod merge;
mod serve;
mod show;
mod sync;
mod undo;
mod version;

pub(crate) use branch::branch;
pub(crate) use commit::commit;
pub(crate) use diff::diff;
pub(crate) use forget::forget;
pub(crate) use log::log;
pub(crate) use merge::merge;
pub(crate) use serve::serve;
pub(crate) use show::show;
pub(crate) use sync::sync;
pub(crate) use undo::undo;

use dflat_model::Table;

use crate::failure::Failure;
use crate::file::OpenFile;

/// Refuses a server, which keeps no history.
fn refuse_server(file: &OpenFile) -> Result<(), Failure> {
    match &file.server {
        None => Ok(()),
        Some(_) => Err(Failure::usage(format!(
            "{} is a server, which keeps no history\nhelp: `dflat copy` copies its objects into a \
             file",
            file.shown()
        ))),
    }
}

/// The versioned types of a file. Without any, the command fails: it needs a history.
fn history(file: &OpenFile) -> Result<Vec<Table>, Failure> {
    let tables = versioned(file)?;
    match tables.is_empty() {
        true => Err(no_history(file)),
        false => Ok(tables),
    }
}

/// The failure of a command on a file without versioned types.
fn no_history(file: &OpenFile) -> Failure {
    Failure::usage(format!(
        "{}\nhelp: a program makes a type versioned; docs/history.md shows how",
        without_history(file)
    ))
}

fn without_history(file: &OpenFile) -> String {
    let shown = file.shown();
    format!("{shown} keeps no history: it has no versioned types")
}

/// The versioned types of a file. A pack has none.
fn versioned(file: &OpenFile) -> Result<Vec<Table>, Failure> {
    refuse_server(file)?;
    let mut tables = Vec::new();
    for stored in file.workspace.stored_tables()? {
        if stored.is_versioned {
            tables.push(stored.table?);
        }
    }
    Ok(tables)
}
