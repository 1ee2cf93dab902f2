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
