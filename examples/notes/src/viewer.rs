//! The viewer: shows the notes, and shows them again after each commit of the editor.

use dflat::{FetchedResult, Workspace};

use crate::Result;
use crate::schema::Note;

/// Calls `show` with the notes, one on a line, until it returns false.
pub(crate) fn run(path: &str, mut show: impl FnMut(&str) -> bool) -> Result<()> {
    let workspace = Workspace::open(path)?;
    let notes = workspace.fetch::<Note>().order_by(Note::ID.ascending());
    // The iterator waits for the next delivery; this program makes no other call.
    for update in workspace.observe(notes)?.stream() {
        if !show(&text_of(update?.result())) {
            break;
        }
    }
    Ok(workspace.shutdown()?)
}

fn text_of(notes: &FetchedResult<Note>) -> String {
    let line = |note: &Note| format!("{} {}\n", note.id(), note.text().unwrap_or_default());
    notes.iter().map(line).collect()
}
