//! A notes editor whose commands are undone and redone, also after a restart, which shows the
//! earlier versions of a note, keeps a draft beside the published notes, and exchanges the notes
//! with a second file.
#![allow(clippy::print_stdout, reason = "the example prints what happens")]

mod devices;
mod drafts;
mod editor;

use dflat::history::Note as StepNote;
use dflat::{Error, Result};

dflat::include_schema!("note");

use editor::{Editor, text_in};

fn main() -> Result<()> {
    let folder = tempfile::tempdir().map_err(Error::user)?;
    let path = folder.path().join("notes.db");

    let editor = Editor::open(&path, "Ann")?;
    editor.add(1, "shopping")?;
    editor.type_text(1, "bread", 1)?;
    editor.type_text(1, " and milk", 2)?;
    editor.pin(1)?;
    assert_eq!(editor.pinned()?, ["shopping"]);
    editor.delete(1)?;
    assert_eq!(editor.text(1)?, None);
    assert!(editor.pinned()?.is_empty());

    undo_all_but_the_first_word(&editor)?;
    editor.workspace().shutdown()?;

    // The next run of the program goes on where this one has stopped.
    let editor = Editor::open(&path, "Ann")?;
    redo_all(&editor)?;
    assert_eq!(editor.undo()?.as_deref(), Some("delete note"));
    editor.type_text(1, ", cheese", 3)?;
    assert_eq!(editor.redo()?, None, "a new change ends the redo");

    show_versions(&editor)?;
    drafts::write_and_publish(&editor)?;
    devices::write_apart_and_meet(&editor, &folder.path().join("phone.db"))?;
    editor.workspace().shutdown()
}

/// Undoes the deletion, the pin and the second group of letters.
fn undo_all_but_the_first_word(editor: &Editor) -> Result<()> {
    let texts = ["bread and milk", "bread and milk", "bread"];
    for (label, text) in ["delete note", "pin", "typing"].into_iter().zip(texts) {
        assert_eq!(editor.undo()?.as_deref(), Some(label));
        println!("undone: {label}");
        // A deleted note returns with all its values.
        assert_eq!(editor.text(1)?.as_deref(), Some(text));
    }
    assert!(editor.pinned()?.is_empty());
    Ok(())
}

fn redo_all(editor: &Editor) -> Result<()> {
    assert_eq!(editor.text(1)?.as_deref(), Some("bread"));
    let mut redone = Vec::new();
    while let Some(label) = editor.redo()? {
        println!("redone: {label}");
        redone.push(label);
    }
    assert_eq!(redone, ["typing", "pin", "delete note"]);
    assert_eq!(editor.text(1)?, None);
    Ok(())
}

/// Prints the versions of the note, and reads the texts of earlier ones.
fn show_versions(editor: &Editor) -> Result<()> {
    let workspace = editor.workspace();
    let blamed = workspace.history().blame::<Note>(1)?;
    let mut texts = Vec::new();
    for step in blamed.iter().map(|blamed| &blamed.step).rev() {
        let earlier = workspace.at(step.id)?;
        let text = text_in(&earlier, 1)?;
        let how = match step.note {
            StepNote::Undo(_) => "undo of ",
            StepNote::Redo(_) => "redo of ",
            _ => "",
        };
        let label = step.label.as_deref().unwrap_or_default();
        println!("version {:2}: {how}{label}: {text:?}", step.id.0);
        texts.push(text);
    }
    assert_eq!(
        texts.last().cloned().flatten().as_deref(),
        Some("bread and milk, cheese")
    );
    assert_eq!(texts[5].as_deref(), Some("bread"));
    assert!(texts.contains(&None), "the note was deleted once");
    Ok(())
}
