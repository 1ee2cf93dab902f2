//! The editor: each line of its input changes a note.

use std::io::BufRead;

use dflat::Workspace;

use crate::Result;
use crate::schema::{Note, NoteChangeRequest, NoteData};

/// Sets the note 3 for a line such as `3 milk`, and deletes the note for the line `3`.
pub(crate) fn run(path: &str, lines: impl BufRead) -> Result<()> {
    let workspace = Workspace::open(path)?;
    for line in lines.lines() {
        let line = line?;
        let (id, text) = line.split_once(' ').unwrap_or((&line, ""));
        let (id, text) = (id.parse()?, text.to_owned());
        workspace.perform_changes_blocking_retrying([Note::TABLE], |tx| {
            if !text.is_empty() {
                let note = NoteData {
                    id,
                    text: Some(text.clone()),
                };
                return tx.submit(NoteChangeRequest::upsert(note)).map(drop);
            }
            tx.delete_where(Note::ID.eq(id)).map(drop)
        })?;
    }
    Ok(workspace.shutdown()?)
}
