//! Recipes for files, settings and tests.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cookbook::{Note, NoteChangeRequest, NoteData};
use dflat::{Dictionary, Durability, ErrorKind, Result, SubscribedValue, Workspace};

use crate::some_notes;

fn set_volume(workspace: &Workspace, volume: f64) -> Result<f64> {
    let settings = workspace.dictionary().namespace("sound");
    let before = settings.get_or("volume", 0.5)?;
    settings.set("volume", volume)?;
    Ok(before)
}

fn on_volume(
    workspace: &Workspace,
    mut show: impl FnMut(f64) + Send + 'static,
) -> Result<dflat::DictionarySubscription> {
    let settings = workspace.dictionary().namespace("sound");
    settings.subscribe("volume", move |volume| match volume {
        Ok(SubscribedValue::Initial(Some(volume)) | SubscribedValue::Updated(volume)) => {
            show(volume)
        }
        Ok(SubscribedValue::Initial(None) | SubscribedValue::Deleted) => show(0.5),
        Err(error) => eprintln!("{error}"),
    })
}

#[test]
fn subscriber_of_a_setting_gets_its_values() -> Result<()> {
    let workspace = Workspace::in_memory();
    let (send, shown) = mpsc::channel();
    let subscription = on_volume(&workspace, move |volume| send.send(volume).unwrap())?;
    assert_eq!(
        (set_volume(&workspace, 0.7)?, set_volume(&workspace, 0.9)?),
        (0.5, 0.7)
    );
    workspace.settle()?;
    subscription.cancel();
    assert_eq!(shown.try_iter().last(), Some(0.9));
    Ok(())
}

fn add_as_last(workspace: &Workspace, id: u64, title: &str) -> Result<()> {
    workspace.perform_changes_blocking([Note::TABLE, Dictionary::TABLE], |tx| {
        tx.submit(NoteChangeRequest::creation(NoteData {
            id,
            ..NoteData::new(title)
        }))?;
        tx.dictionary().set("last note", title)
    })
}

#[test]
fn setting_and_note_are_stored_together() -> Result<()> {
    let workspace = some_notes()?;
    add_as_last(&workspace, 4, "x")?;
    assert_eq!(
        add_as_last(&workspace, 4, "y").unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
    assert_eq!(
        workspace
            .dictionary()
            .get::<String>("last note")?
            .as_deref(),
        Some("x")
    );
    Ok(())
}

/// The code under test takes a workspace, and does not open one.
fn rename(workspace: &Workspace, id: u64, title: &str) -> Result<usize> {
    workspace.perform_changes_blocking_retrying([Note::TABLE], |tx| {
        tx.update_where(Note::ID.eq(id), |note| note.title = title.to_owned())
    })
}

#[test]
fn renamed_note_has_its_new_title() -> Result<()> {
    let workspace = Workspace::in_memory();
    workspace.perform_changes_blocking([Note::TABLE], |tx| {
        tx.submit(NoteChangeRequest::creation(NoteData::new("old")))
    })?;
    assert_eq!(rename(&workspace, 0, "new")?, 1);
    // Subscribers have been called, and the dictionary is written.
    workspace.settle()?;
    let note = workspace.get::<Note>(0)?;
    assert_eq!(note.as_ref().map(Note::title), Some("new"));
    Ok(())
}

fn back_up_every(
    workspace: &Workspace,
    period: Duration,
    to: PathBuf,
) -> (mpsc::Sender<()>, JoinHandle<Result<()>>) {
    let workspace = workspace.clone();
    let (stop, stopped) = mpsc::channel();
    let thread = thread::spawn(move || {
        while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
            let new = to.with_extension("new");
            workspace.backup(&new)?;
            std::fs::rename(&new, &to).map_err(dflat::Error::user)?;
        }
        Ok(())
    });
    (stop, thread)
}

#[test]
fn backup_is_made_until_the_timer_stops() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path().join("notes.db"))?;
    add_as_last(&workspace, 1, "x")?;
    let to = directory.path().join("notes.backup");
    let (stop, thread) = back_up_every(&workspace, Duration::from_millis(1), to.clone());
    while !to.exists() {
        thread::yield_now();
    }
    drop(stop);
    thread.join().unwrap()?;
    assert_eq!(Workspace::open(&to)?.fetch::<Note>().count()?, 1);
    Ok(())
}

fn end(workspace: &Workspace) -> Result<()> {
    workspace.shutdown()
}

/// A thread that writes until the program ends.
fn log_ticks(workspace: &Workspace) -> Result<()> {
    loop {
        let logged = workspace
            .dictionary()
            .update("ticks", |ticks: Option<i64>| Some(ticks.unwrap_or(0) + 1));
        match logged {
            Ok(_) => thread::sleep(Duration::from_millis(10)),
            Err(error) if error.kind() == ErrorKind::ShutDown => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

#[test]
fn thread_ends_after_shutdown() -> Result<()> {
    let workspace = some_notes()?;
    let clone = workspace.clone();
    let thread = thread::spawn(move || log_ticks(&clone));
    while !workspace.dictionary().contains("ticks")? {
        thread::yield_now();
    }
    end(&workspace)?;
    thread.join().unwrap()
}

fn place_order(workspace: &Workspace, id: u64) -> Result<()> {
    workspace
        .perform_changes([Note::TABLE], move |tx| {
            tx.set_durability(Durability::Full);
            tx.submit(NoteChangeRequest::creation(NoteData {
                id,
                ..NoteData::new("order")
            }))
            .map(drop)
        })
        .wait()
}

fn view(path: &Path) -> Result<usize> {
    let workspace = Workspace::builder(path).read_only(true).open()?;
    workspace.fetch::<Note>().count()
}

#[test]
fn viewer_sees_the_order() -> Result<()> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.db");
    let workspace = Workspace::open(&path)?;
    place_order(&workspace, 7)?;
    workspace.shutdown()?;
    assert_eq!(view(&path)?, 1);
    Ok(())
}
