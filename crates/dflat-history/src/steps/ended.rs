//! The end of a history, of which the trees must know.

use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{NamedTable, WriteTransaction};

/// The names of the refs with the states of trees that are being built begin with this.
pub(crate) const BUILDING: &str = "building/";

/// The name of the ref with the state of a tree that is being built.
pub(crate) fn building_name(table: &str) -> String {
    format!("{BUILDING}{table}")
}

/// The name of the ref that notes a gap in the steps of a table.
pub(crate) fn gap_name(table: &str) -> String {
    format!("gap/{table}")
}

/// Ends the build of a tree; its nodes stay until they are collected.
///
/// # Errors
/// The errors of reading and writing.
pub(crate) fn delete_building(writer: &mut dyn WriteTransaction, table: &str) -> Result<()> {
    let name = building_name(table);
    let mut is_building = false;
    writer.named(NamedTable::Refs, &[name.as_bytes()], &mut |_| {
        is_building = true;
        ControlFlow::Break(())
    })?;
    match is_building {
        true => writer.delete_named(NamedTable::Refs, name.as_bytes()),
        false => Ok(()),
    }
}

/// Notes that the steps of a table are no longer all of its changes, a *gap*: its next tree is
/// built from all objects. The tree that is being built is given up. Without a commit there is no
/// other tree.
///
/// # Errors
/// The errors of reading and writing.
pub(crate) fn end(writer: &mut dyn WriteTransaction, table: &str) -> Result<()> {
    delete_building(writer, table)?;
    let mut has_commits = false;
    writer.all_named(NamedTable::Commits, None, &mut |_| {
        has_commits = true;
        ControlFlow::Break(())
    })?;
    match has_commits {
        true => writer.put_named(NamedTable::Refs, gap_name(table).as_bytes(), b""),
        false => Ok(()),
    }
}
