//! The recipes of `docs/cookbook.md`. Each block of code there is, blanks aside, in one of these
//! files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a failing test panics"
)]

mod assign;
mod awaited;
mod change;
mod follow;
mod keep;
mod migrate;
mod model;
mod page;
mod prelude;
mod read;

use cookbook::{Note, NoteChangeRequest, NoteData, State};
use dflat::{Result, TransactionContext, Workspace};

/// A workspace with three notes.
fn some_notes() -> Result<Workspace> {
    let workspace = Workspace::in_memory();
    workspace.perform_changes_blocking([Note::TABLE], |tx| {
        add(tx, 1, "bread", "shopping", State::Open)?;
        add(tx, 2, "report", "work", State::Waiting)?;
        add(tx, 3, "apples", "shopping", State::Done)
    })?;
    Ok(workspace)
}

fn add(tx: &TransactionContext, id: u64, title: &str, list: &str, state: State) -> Result<()> {
    tx.submit(NoteChangeRequest::creation(NoteData {
        id,
        list: Some(list.into()),
        state,
        created: i64::try_from(id).unwrap_or(0),
        ..NoteData::new(title)
    }))
    .map(drop)
}

fn titles(notes: &[Note]) -> Vec<&str> {
    notes.iter().map(Note::title).collect()
}
