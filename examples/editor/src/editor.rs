//! The editor: each of its commands is a transaction, and can be undone.

use std::path::Path;

use dflat::{FetchedResult, Result, TransactionContext, Update, Watch, Workspace};

use crate::{Note, NoteChangeRequest, NoteData};

/// The id of the editor's workspace, chosen once. Changes of earlier runs can be undone by it.
const WORKSPACE: u128 = 0x0EDC_7088_0001;

pub(crate) struct Editor {
    workspace: Workspace,
    /// The pinned notes, kept up to date.
    pinned: Watch<Result<Update<FetchedResult<Note>>>>,
}

impl Editor {
    pub(crate) fn open(path: &Path, author: &str) -> Result<Self> {
        let builder = Workspace::builder(path).versioned::<Note>();
        let workspace = builder.workspace_id(WORKSPACE).author(author).open()?;
        let query = workspace.fetch::<Note>().filter(Note::PINNED.eq(true));
        let pinned = workspace.observe(query)?.watch()?;
        Ok(Self { workspace, pinned })
    }

    pub(crate) const fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    fn command<R>(
        &self,
        label: &str,
        change: impl FnOnce(&TransactionContext) -> Result<R>,
    ) -> Result<R> {
        let performer = self.workspace.write_first();
        performer.perform_changes_blocking([Note::TABLE], |tx| {
            tx.set_label(label);
            change(tx)
        })
    }

    pub(crate) fn add(&self, id: u64, title: &str) -> Result<()> {
        self.command("add note", |tx| {
            let title = Some(title.to_owned());
            let data = NoteData {
                id,
                title,
                ..NoteData::default()
            };
            tx.submit(NoteChangeRequest::creation(data)).map(drop)
        })
    }

    fn change(
        &self,
        label: &str,
        id: u64,
        group: Option<u64>,
        change: impl FnOnce(&mut NoteData),
    ) -> Result<()> {
        self.command(label, |tx| {
            if let Some(group) = group {
                tx.set_undo_group(group);
            }
            if let Some(note) = tx.get::<Note>(id)?
                && let Some(mut request) = NoteChangeRequest::change(tx, &note)?
            {
                change(&mut request);
                tx.submit(request)?;
            }
            Ok(())
        })
    }

    /// Types a text, one transaction for each letter. All letters of a group are undone together.
    pub(crate) fn type_text(&self, id: u64, text: &str, group: u64) -> Result<()> {
        for letter in text.chars() {
            self.change("typing", id, Some(group), |note| {
                note.text.get_or_insert_default().push(letter);
            })?;
        }
        Ok(())
    }

    pub(crate) fn pin(&self, id: u64) -> Result<()> {
        self.change("pin", id, None, |note| note.pinned = true)
    }

    pub(crate) fn rename(&self, id: u64, title: &str) -> Result<()> {
        self.change("rename", id, None, |note| {
            note.title = Some(title.to_owned())
        })
    }

    pub(crate) fn delete(&self, id: u64) -> Result<()> {
        self.command("delete note", |tx| {
            if let Some(note) = tx.get::<Note>(id)?
                && let Some(request) = NoteChangeRequest::deletion(tx, &note)?
            {
                tx.submit(request)?;
            }
            Ok(())
        })
    }

    /// Undoes a command, and returns its label.
    pub(crate) fn undo(&self) -> Result<Option<String>> {
        let undone = self.workspace.history().undo()?;
        Ok(undone.and_then(|undone| undone.label))
    }

    /// Redoes a command, and returns its label.
    pub(crate) fn redo(&self) -> Result<Option<String>> {
        let redone = self.workspace.history().redo()?;
        Ok(redone.and_then(|redone| redone.label))
    }

    /// The text of a note.
    pub(crate) fn text(&self, id: u64) -> Result<Option<String>> {
        text_in(&self.workspace, id)
    }

    /// The titles of the pinned notes, as the window shows them.
    pub(crate) fn pinned(&self) -> Result<Vec<String>> {
        self.workspace.settle()?;
        let shown = self.pinned.latest().transpose()?;
        let notes = shown.iter().flat_map(|update| update.result().iter());
        Ok(notes
            .filter_map(|note| note.title().map(str::to_owned))
            .collect())
    }
}

/// The text of a note in the present state or in an earlier one.
pub(crate) fn text_in(workspace: &Workspace, id: u64) -> Result<Option<String>> {
    let note = workspace.get::<Note>(id)?;
    Ok(note.map(|note| note.text().unwrap_or_default().to_owned()))
}
