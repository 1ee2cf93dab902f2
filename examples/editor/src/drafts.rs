//! Drafts: branches of all notes, which are published by a merge.

use dflat::history::{Change, Merged};
use dflat::{Object, Result};

use crate::editor::Editor;
use crate::{Note, NoteChangeRequest};

/// Writes a draft beside the published notes, and publishes it.
pub(crate) fn write_and_publish(editor: &Editor) -> Result<()> {
    let workspace = editor.workspace();
    let history = workspace.history();
    history.commit("before the draft")?;
    history.branch("draft")?;
    history.checkout("draft")?;
    editor.type_text(1, ", olives", 10)?;
    editor.add(2, "ideas")?;

    // The published notes are as they were, and change meanwhile.
    history.checkout("main")?;
    assert_eq!(editor.text(1)?.as_deref(), Some("bread and milk, cheese"));
    assert_eq!(editor.text(2)?, None);
    editor.rename(1, "weekend")?;
    editor.type_text(1, ", tea", 11)?;
    let draft = workspace.at_branch("draft")?;
    assert_eq!(draft.fetch::<Note>().count()?, 2);

    show_difference(editor)?;
    publish(editor)?;
    assert_eq!(
        editor.text(1)?.as_deref(),
        Some("bread and milk, cheese, tea, olives")
    );
    // The title is that of the published note, and the new note that of the draft.
    assert_eq!(editor.pinned()?, ["weekend"]);
    assert_eq!(editor.text(2)?.as_deref(), Some(""));
    history.delete_branch("draft")
}

/// Prints how the draft differs from the published notes.
fn show_difference(editor: &Editor) -> Result<()> {
    let history = editor.workspace().history();
    let published = history.commit("published")?;
    let draft = history.branches()?.into_iter();
    let draft = draft
        .filter(|branch| branch.name == "draft")
        .map(|branch| branch.commit);
    for draft in draft {
        for change in history.diff::<Note>(published, draft)? {
            match change? {
                Change::Inserted(note) => println!("draft: new note {:?}", note.title()),
                Change::Updated { after, fields, .. } => {
                    println!(
                        "draft: note {} differs in {}",
                        after.id(),
                        fields.join(", ")
                    );
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Merges the draft. Where both have changed a text, the words that the draft has added follow.
fn publish(editor: &Editor) -> Result<()> {
    let merged = match editor.workspace().history().merge("draft")? {
        Merged::Conflicts(mut pending) => {
            for conflict in pending.of::<Note>()? {
                let (Some(base), Some(ours), Some(theirs)) =
                    (conflict.base, conflict.ours, conflict.theirs)
                else {
                    continue;
                };
                println!("draft: both have changed {}", conflict.fields.join(", "));
                let common = base.text().unwrap_or_default();
                let added = theirs.text().unwrap_or_default().strip_prefix(common);
                let mut data = ours.to_data();
                data.text
                    .get_or_insert_default()
                    .push_str(added.unwrap_or_default());
                pending.resolve(NoteChangeRequest::upsert(data))?;
            }
            pending.finish()?
        }
        merged => merged,
    };
    if let Merged::Commit { changed, .. } = merged {
        println!("draft: published, {changed} notes changed");
    }
    Ok(())
}
