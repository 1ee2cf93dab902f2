//! Recipes for other stores, and for schemas that change.

use cookbook::{Note, NoteChangeRequest, NoteData, State, v1, v2};
use dflat::{Result, Workspace};

use crate::titles;

fn upgrade(workspace: &Workspace) -> Result<u64> {
    let mut id = workspace
        .fetch::<v2::Contact>()
        .max(v2::Contact::ID)?
        .unwrap_or(0);
    let copy = workspace.copy_table::<v1::Contact, v2::Contact>(|old| {
        id += 1;
        Ok(v2::ContactData {
            id,
            name: Some(old.name().to_owned()),
            phone: old.phone().map(str::to_owned),
        })
    });
    Ok(copy.run()?.copied)
}

#[test]
fn upgrade_copies_each_contact() -> Result<()> {
    let workspace = Workspace::in_memory();
    workspace.perform_changes_blocking([v1::Contact::TABLE], |tx| {
        for name in ["Ada", "Bob"] {
            tx.submit(v1::ContactChangeRequest::creation(v1::ContactData {
                name: name.into(),
                phone: Some("1".into()),
            }))?;
        }
        Ok(())
    })?;
    assert_eq!(upgrade(&workspace)?, 2);
    let names = workspace.fetch::<v2::Contact>().select(v2::Contact::NAME)?;
    assert_eq!(names, [Some("Ada".to_owned()), Some("Bob".to_owned())]);
    Ok(())
}

fn from_rusqlite(old: &rusqlite::Connection, workspace: &Workspace) -> Result<usize> {
    workspace.perform_changes_blocking([Note::TABLE], |tx| {
        let mut rows = old
            .prepare("SELECT id, title, done FROM notes")
            .map_err(dflat::Error::user)?;
        let mut rows = rows.query([]).map_err(dflat::Error::user)?;
        let mut count = 0;
        while let Some(row) = rows.next().map_err(dflat::Error::user)? {
            let note = note_of(row).map_err(dflat::Error::user)?;
            tx.submit(NoteChangeRequest::upsert(note))?;
            count += 1;
        }
        Ok(count)
    })
}

fn note_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<NoteData> {
    let (id, title): (u32, String) = (row.get("id")?, row.get("title")?);
    let is_done: bool = row.get("done")?;
    Ok(NoteData {
        id: id.into(),
        state: if is_done { State::Done } else { State::Open },
        ..NoteData::new(title)
    })
}

#[test]
fn rows_of_rusqlite_become_notes() -> Result<()> {
    let old = rusqlite::Connection::open_in_memory().unwrap();
    old.execute_batch(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, done INTEGER);
         INSERT INTO notes VALUES (1, 'a', 0), (2, 'b', 1);",
    )
    .unwrap();
    let workspace = Workspace::in_memory();
    assert_eq!(from_rusqlite(&old, &workspace)?, 2);
    let done = workspace
        .fetch::<Note>()
        .filter(Note::STATE.eq(State::Done))
        .all()?;
    assert_eq!(titles(&done), ["b"]);
    Ok(())
}

fn from_realm(export: &str, workspace: &Workspace) -> Result<usize> {
    let export: serde_json::Value = serde_json::from_str(export).map_err(dflat::Error::user)?;
    let notes = export["Note"].as_array().into_iter().flatten();
    workspace.perform_changes_blocking([Note::TABLE], |tx| {
        let mut count = 0;
        for (id, note) in (1..).zip(notes) {
            let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
            tx.submit(NoteChangeRequest::upsert(NoteData {
                id,
                list: text(&note["list"]["name"]),
                pinned: note["pinned"].as_bool().unwrap_or_default(),
                ..NoteData::new(text(&note["title"]).unwrap_or_default())
            }))?;
            count += 1;
        }
        Ok(count)
    })
}

#[test]
fn objects_of_a_realm_become_notes() -> Result<()> {
    let export = r#"{"Note": [{"title": "a", "pinned": true, "list": {"name": "work"}}]}"#;
    let workspace = Workspace::in_memory();
    assert_eq!(from_realm(export, &workspace)?, 1);
    let note = workspace.get::<Note>(1)?.unwrap();
    assert_eq!((note.list(), note.pinned()), (Some("work"), true));
    Ok(())
}

/// A model of the old program.
struct OldNote {
    id: u32,
    name: String,
    list: Option<String>,
}

impl From<OldNote> for NoteData {
    fn from(old: OldNote) -> Self {
        Self {
            id: old.id.into(),
            list: old.list,
            ..Self::new(old.name)
        }
    }
}

/// Stores the items of a scan, such as `r.scan().primary::<OldNote>()?.all()?`.
fn from_models<E>(
    workspace: &Workspace,
    old: impl IntoIterator<Item = std::result::Result<OldNote, E>>,
) -> Result<()>
where
    E: std::error::Error + Send + Sync + 'static,
{
    workspace.perform_changes_blocking([Note::TABLE], |tx| {
        for note in old {
            let note = note.map_err(dflat::Error::user)?;
            tx.submit(NoteChangeRequest::upsert(note.into()))?;
        }
        Ok(())
    })
}

#[test]
fn models_become_notes() -> Result<()> {
    let workspace = Workspace::in_memory();
    let old = |id, name: &str| OldNote {
        id,
        name: name.to_owned(),
        list: None,
    };
    let notes = [old(1, "a"), old(2, "b")].map(Ok::<_, std::fmt::Error>);
    from_models(&workspace, notes)?;
    assert_eq!(workspace.fetch::<Note>().count()?, 2);
    Ok(())
}
