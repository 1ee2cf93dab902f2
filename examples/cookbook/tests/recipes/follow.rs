//! Recipes for live queries.

use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};

use cookbook::{Note, NoteChangeRequest, NoteData, State};
use dflat::{Group, Result, SubscribedObject, Subscription, Update, Watch, Workspace};
use futures::StreamExt;

use crate::{add, some_notes};

fn show_badge(workspace: &Workspace, badge: Arc<Mutex<usize>>) -> Result<Subscription> {
    let open = workspace
        .fetch::<Note>()
        .filter(Note::STATE.eq(State::Open));
    workspace.subscribe(open.live_count(), move |count| match count {
        Ok(count) => *badge.lock().unwrap() = count,
        Err(error) => eprintln!("the badge is out of date: {error}"),
    })
}

#[test]
fn badge_shows_the_number_of_open_notes() -> Result<()> {
    let workspace = some_notes()?;
    let badge = Arc::default();
    let subscription = show_badge(&workspace, Arc::clone(&badge))?;
    workspace.settle()?;
    assert_eq!(*badge.lock().unwrap(), 1);
    workspace.perform_changes_blocking([Note::TABLE], |tx| add(tx, 4, "x", "work", State::Open))?;
    workspace.settle()?;
    assert_eq!(*badge.lock().unwrap(), 2);
    subscription.cancel();
    Ok(())
}

fn show_list(
    workspace: &Workspace,
    event_loop: mpsc::Sender<Box<dyn FnOnce() + Send>>,
    rows: Arc<Mutex<Vec<String>>>,
) -> Result<Subscription> {
    let notes = workspace.fetch::<Note>().order_by(Note::TITLE.ascending());
    workspace
        .observe(notes)?
        .on(move |job| drop(event_loop.send(job)))
        .call(move |update: Result<Update<_>>| match update {
            Ok(update) => {
                let row = |position: usize| Note::title(&update[position]).to_owned();
                update.difference().apply(&mut rows.lock().unwrap(), row);
            }
            Err(error) => eprintln!("the list is out of date: {error}"),
        })
}

#[test]
fn list_on_the_screen_is_that_of_the_query() -> Result<()> {
    let workspace = some_notes()?;
    let (send, jobs) = mpsc::channel();
    let rows = Arc::default();
    let subscription = show_list(&workspace, send, Arc::clone(&rows))?;
    let run = || -> Result<()> {
        workspace.settle()?;
        jobs.try_iter().for_each(|job| job());
        Ok(())
    };
    run()?;
    assert_eq!(*rows.lock().unwrap(), ["apples", "bread", "report"]);
    workspace.perform_changes_blocking([Note::TABLE], |tx| tx.delete_where(Note::ID.eq(1)))?;
    run()?;
    assert_eq!(*rows.lock().unwrap(), ["apples", "report"]);
    subscription.cancel();
    Ok(())
}

enum Event {
    Show(String),
    Close,
}

fn open_window(workspace: &Workspace, note: &Note) -> Result<(Subscription, Receiver<Event>)> {
    let (send, events) = mpsc::channel();
    let subscription = workspace.subscribe(note, move |event| {
        // A window that is gone needs no event.
        let _ = match event {
            SubscribedObject::Updated(note) => send.send(Event::Show(note.title().to_owned())),
            SubscribedObject::Deleted => send.send(Event::Close),
        };
    })?;
    Ok((subscription, events))
}

#[test]
fn windows_of_one_note_show_it_and_close() -> Result<()> {
    let workspace = some_notes()?;
    let note = workspace.get::<Note>(1)?.unwrap();
    let windows = [
        open_window(&workspace, &note)?,
        open_window(&workspace.clone(), &note)?,
    ];
    workspace.perform_changes_blocking([Note::TABLE], |tx| {
        tx.update_where(Note::ID.eq(1), |note| note.title = "rye bread".into())
    })?;
    workspace.perform_changes_blocking([Note::TABLE], |tx| tx.delete_where(Note::ID.eq(1)))?;
    workspace.settle()?;
    for (_subscription, events) in windows {
        let shown: Vec<_> = events.try_iter().collect();
        assert!(matches!(&shown[..], [Event::Show(title), Event::Close] if title == "rye bread"));
    }
    Ok(())
}

type Titles = Update<Arc<[String]>>;

fn watch_titles(workspace: &Workspace) -> Result<Watch<Result<Titles>>> {
    let titles = workspace.fetch::<Note>().live_select(Note::TITLE);
    workspace.observe(titles)?.watch()
}

#[test]
fn cell_has_the_latest_titles() -> Result<()> {
    let workspace = some_notes()?;
    let cell = watch_titles(&workspace)?;
    workspace.settle()?;
    assert_eq!(cell.latest().unwrap()?.len(), 3);
    Ok(())
}

type Headings = Arc<[Group<String>]>;

fn follow_headings(workspace: &Workspace) -> Result<Watch<Result<Headings>>> {
    let open = workspace
        .fetch::<Note>()
        .filter(Note::STATE.ne(State::Done));
    workspace.observe(open.group_by(Note::LIST))?.watch()
}

#[test]
fn headings_follow_a_note_that_is_done() -> Result<()> {
    let workspace = some_notes()?;
    let headings = follow_headings(&workspace)?;
    let shown = || -> Result<Vec<_>> {
        workspace.settle()?;
        let latest = headings.latest().unwrap()?;
        let line = |group: &Group<String>| (group.key.clone().unwrap(), group.count);
        Ok(latest.iter().map(line).collect())
    };
    assert_eq!(
        shown()?,
        [("shopping".to_owned(), 1), ("work".to_owned(), 1)]
    );
    workspace.perform_changes_blocking([Note::TABLE], |tx| {
        let shopping = Note::LIST.eq("shopping");
        tx.update_where(shopping, |note| note.state = State::Done)
    })?;
    assert_eq!(shown()?, [("work".to_owned(), 1)]);
    Ok(())
}

async fn add_and_wait(workspace: &Workspace, id: u64, title: String) -> Result<usize> {
    let mut notes = workspace.stream(workspace.fetch::<Note>())?;
    let added = workspace.perform_changes([Note::TABLE], move |tx| {
        tx.submit(NoteChangeRequest::creation(NoteData {
            id,
            ..NoteData::new(title)
        }))
    });
    added.await?;
    match notes.next().await {
        Some(notes) => Ok(notes?.len()),
        None => Ok(0),
    }
}

#[test]
fn stream_has_the_added_note() -> Result<()> {
    let workspace = some_notes()?;
    let count = futures::executor::block_on(add_and_wait(&workspace, 4, "x".into()))?;
    assert_eq!(count, 4);
    Ok(())
}

async fn serve(workspace: Workspace) -> Result<Vec<Note>> {
    let writer = workspace.clone();
    let written = tokio::spawn(async move {
        let added = writer.perform_changes([Note::TABLE], |tx| {
            tx.submit(NoteChangeRequest::creation(NoteData {
                id: 4,
                ..NoteData::new("from a task")
            }))
        });
        added.await
    });

    let mut counts = workspace.stream(workspace.fetch::<Note>().live_count())?;
    while let Some(count) = counts.next().await {
        if count? == 4 {
            break;
        }
    }
    written.await.map_err(dflat::Error::user)??;
    Ok(workspace.fetch::<Note>().all_async().await?.to_vec())
}

#[test]
fn tasks_of_tokio_write_follow_and_fetch() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let notes = runtime.block_on(serve(some_notes()?))?;
    assert_eq!(notes.len(), 4);
    Ok(())
}

fn work(workspace: &Workspace, mut handle: impl FnMut(&Note)) -> Result<()> {
    let open = workspace
        .fetch::<Note>()
        .filter(Note::STATE.eq(State::Open));
    let mut deliveries = workspace.stream(open)?;
    while let Some(update) = deliveries.wait()? {
        update?.inserted().for_each(&mut handle);
    }
    Ok(())
}

#[test]
fn worker_gets_each_open_note() -> Result<()> {
    let workspace = some_notes()?;
    let (send, seen) = mpsc::channel();
    let worker = workspace.clone();
    let thread = std::thread::spawn(move || work(&worker, |note| send.send(note.id()).unwrap()));
    assert_eq!(seen.recv(), Ok(1));
    workspace.perform_changes_blocking([Note::TABLE], |tx| add(tx, 4, "x", "work", State::Open))?;
    assert_eq!(seen.recv(), Ok(4));
    workspace.shutdown()?;
    thread.join().unwrap()
}

fn add_next(path: &str, title: &str) -> Result<u64> {
    let workspace = Workspace::open(path)?;
    let id = workspace.perform_changes_blocking_retrying([Note::TABLE], |tx| {
        let id = tx.fetch::<Note>().max(Note::ID)?.unwrap_or(0) + 1;
        tx.submit(NoteChangeRequest::creation(NoteData {
            id,
            ..NoteData::new(title)
        }))?;
        Ok(id)
    })?;
    workspace.shutdown()?;
    Ok(id)
}

/// The test starts itself a second time, with the path of the file in this variable.
const PATH: &str = "COOKBOOK_SECOND_PROCESS";

#[test]
fn two_processes_add_notes_to_one_file() -> Result<()> {
    if let Ok(path) = std::env::var(PATH) {
        for _ in 0..10 {
            add_next(&path, "second")?;
        }
        return Ok(());
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.db");
    let path = path.to_str().unwrap();
    let mut second = Command::new(std::env::current_exe().unwrap());
    second.args(["--exact", "follow::two_processes_add_notes_to_one_file"]);
    let mut second = second.env(PATH, path).spawn().unwrap();
    let added: Result<Vec<u64>> = (0..10).map(|_| add_next(path, "first")).collect();
    assert!(second.wait().unwrap().success());
    assert_eq!(added?.len(), 10);
    assert_eq!(Workspace::open(path)?.fetch::<Note>().count()?, 20);
    Ok(())
}
