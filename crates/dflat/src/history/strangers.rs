//! Changes of programs that keep no history.

use dflat_engine::callback;
use dflat_history::steps::notice;

use crate::{ErrorKind, Result, Table, Workspace};

/// The versioned types, as the file describes them.
pub(super) fn versioned(workspace: &Workspace) -> Result<Vec<Table>> {
    let Some(history) = workspace.engine().history() else {
        return Ok(Vec::new());
    };
    let tables = workspace.untyped().stored_tables()?.into_iter();
    let tables = tables.filter(|table| table.is_versioned);
    tables.map(|table| Ok(history.same(table.table?))).collect()
}

/// Makes steps of the changes of other programs, before a reader of the steps.
pub(super) fn notice_to_read(workspace: &Workspace) -> Result<()> {
    let engine = workspace.engine();
    // A handler or a callback can't wait for a transaction.
    if callback::is_running() {
        return Ok(());
    }
    match notice(engine, &versioned(workspace)?) {
        // The steps that are there can be read.
        Err(error) if error.kind() == ErrorKind::ReadOnly => Ok(()),
        noticed => noticed,
    }
}

/// The versioned types as the file describes them, and those that are versioned from their first
/// write on.
pub(super) fn to_sync(workspace: &Workspace) -> Result<Vec<Table>> {
    let mut tables = versioned(workspace)?;
    let wanted = workspace.engine().history().map(|history| history.wanted());
    for table in wanted.into_iter().flatten() {
        if !tables.iter().any(|known| known.is_stored_as(&table)) {
            tables.push(table);
        }
    }
    Ok(tables)
}

/// Makes steps of the changes of other programs, before a commit.
pub(super) fn notice_to_write(workspace: &Workspace) -> Result<()> {
    notice(workspace.engine(), &versioned(workspace)?)
}
