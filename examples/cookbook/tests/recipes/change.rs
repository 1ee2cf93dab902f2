//! Recipes for changes.

use std::fmt;
use std::num::ParseIntError;

use cookbook::{
    Entry, EntryChangeRequest, EntryData, Job, JobChangeRequest, JobData, Note, NoteChangeRequest,
    NoteData, Person, PersonChangeRequest, PersonData, State,
};
use dflat::{ErrorKind, Object, Result, TransactionContext, Workspace};

use crate::{some_notes, titles};

/// Deletes a note, and returns it for [`undo`].
fn delete(workspace: &Workspace, id: u64) -> Result<Option<Note>> {
    workspace.perform_changes_blocking_retrying([Note::TABLE], |tx| {
        let Some(note) = tx.get::<Note>(id)? else {
            return Ok(None);
        };
        if let Some(request) = NoteChangeRequest::deletion(tx, &note)? {
            tx.submit(request)?;
        }
        Ok(Some(note))
    })
}

fn undo(workspace: &Workspace, before: &Note) -> Result<()> {
    workspace.perform_changes_blocking([Note::TABLE], |tx| {
        tx.submit(NoteChangeRequest::restoration(before)).map(drop)
    })
}

#[test]
fn undo_restores_a_deleted_note() -> Result<()> {
    let workspace = some_notes()?;
    let before = delete(&workspace, 2)?.unwrap();
    assert_eq!(workspace.fetch::<Note>().count()?, 2);
    undo(&workspace, &before)?;
    assert_eq!(workspace.get::<Note>(2)?.unwrap(), before);
    assert_eq!(delete(&workspace, 9)?, None);
    Ok(())
}

#[derive(Debug)]
enum AppError {
    Store(dflat::Error),
    Number(ParseIntError),
}

impl From<dflat::Error> for AppError {
    fn from(error: dflat::Error) -> Self {
        Self::Store(error)
    }
}

impl From<ParseIntError> for AppError {
    fn from(error: ParseIntError) -> Self {
        Self::Number(error)
    }
}

fn set_visits(workspace: &Workspace, name: String, visits: String) -> Result<(), AppError> {
    workspace
        .with_error::<AppError>()
        .perform_changes([Person::TABLE], move |tx| {
            let visits = visits.parse()?;
            tx.submit(PersonChangeRequest::upsert(PersonData {
                name,
                visits,
                ..PersonData::default()
            }))?;
            Ok(())
        })
        .wait()
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Number(error) => error.fmt(f),
        }
    }
}

#[test]
fn error_of_the_handler_comes_back_with_its_type() {
    let workspace = Workspace::in_memory();
    let error = set_visits(&workspace, "Ada".into(), "many".into()).unwrap_err();
    assert!(matches!(error, AppError::Number(_)), "{error}");
    set_visits(&workspace, "Ada".into(), "7".into()).unwrap();
    workspace.shutdown().unwrap();
    let error = set_visits(&workspace, "Ada".into(), "7".into()).unwrap_err();
    assert!(matches!(error, AppError::Store(_)), "{error}");
}

fn register(workspace: &Workspace, name: &str, email: &str) -> Result<Option<String>> {
    let data = PersonData {
        name: name.to_owned(),
        email: Some(email.to_owned()),
        ..PersonData::default()
    };
    let stored = workspace.perform_changes_blocking([Person::TABLE], |tx| {
        tx.submit(PersonChangeRequest::creation(data))
    });
    match stored {
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let is_taken = workspace.get::<Person>(name)?.is_some();
            let field = if is_taken { "name" } else { "address" };
            Ok(Some(format!("This {field} is taken.")))
        }
        Err(error) => Err(error),
    }
}

#[test]
fn conflict_becomes_a_message() -> Result<()> {
    let workspace = Workspace::in_memory();
    assert_eq!(register(&workspace, "Ada", "a@example.org")?, None);
    let message = |name, email| register(&workspace, name, email);
    assert_eq!(
        message("Ada", "b@example.org")?.unwrap(),
        "This name is taken."
    );
    assert_eq!(
        message("Eve", "a@example.org")?.unwrap(),
        "This address is taken."
    );
    Ok(())
}

fn count_visit(workspace: &Workspace, name: &str) -> Result<u32> {
    workspace.perform_changes_blocking_retrying([Person::TABLE], |tx| {
        let mut data = match tx.get::<Person>(name)? {
            Some(person) => person.to_data(),
            None => PersonData {
                name: name.to_owned(),
                ..PersonData::default()
            },
        };
        data.visits += 1;
        let visits = data.visits;
        tx.submit(PersonChangeRequest::upsert(data))?;
        Ok(visits)
    })
}

#[test]
fn visits_of_several_threads_are_all_counted() -> Result<()> {
    let workspace = Workspace::in_memory();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    count_visit(&workspace, "Ada").unwrap();
                }
            });
        }
    });
    assert_eq!(count_visit(&workspace, "Ada")?, 41);
    Ok(())
}

fn tidy_up(workspace: &Workspace, before: i64) -> Result<(usize, usize)> {
    workspace.perform_changes_blocking_retrying([Note::TABLE], |tx| {
        let old = || Note::CREATED.lt(before);
        let deleted = tx.delete_where(old() & Note::STATE.eq(State::Done))?;
        let changed = tx.update_where(old(), |note| note.pinned = false)?;
        Ok((deleted, changed))
    })
}

#[test]
fn tidying_up_deletes_old_notes_that_are_done() -> Result<()> {
    let workspace = some_notes()?;
    assert_eq!(tidy_up(&workspace, 9)?.0, 1);
    assert_eq!(
        titles(&workspace.fetch::<Note>().all()?),
        ["bread", "report"]
    );
    Ok(())
}

fn import(workspace: &Workspace, lines: impl Iterator<Item = String>) -> Result<()> {
    let mut lines = lines.zip(1_u64..).peekable();
    while lines.peek().is_some() {
        workspace.perform_changes_blocking([Note::TABLE], |tx| {
            for (title, id) in lines.by_ref().take(1000) {
                tx.submit(NoteChangeRequest::upsert(NoteData {
                    id,
                    ..NoteData::new(title)
                }))?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn import_stores_every_line() -> Result<()> {
    let workspace = Workspace::in_memory();
    import(&workspace, (0..2500).map(|number| format!("note {number}")))?;
    assert_eq!(workspace.fetch::<Note>().count()?, 2500);
    Ok(())
}

fn add_all(tx: &TransactionContext, people: Vec<PersonData>) -> Result<Vec<String>> {
    let mut refused = Vec::new();
    for person in people {
        let name = person.name.clone();
        let note = format!("call {name}");
        let added = tx.nested(|tx| {
            let id = tx.fetch::<Note>().max(Note::ID)?.unwrap_or(0) + 1;
            tx.submit(NoteChangeRequest::creation(NoteData {
                id,
                ..NoteData::new(note)
            }))?;
            tx.submit(PersonChangeRequest::creation(person))
        });
        match added {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => refused.push(name),
            Err(error) => return Err(error),
        }
    }
    Ok(refused)
}

#[test]
fn refused_person_leaves_no_note() -> Result<()> {
    let workspace = Workspace::in_memory();
    let people = ["Ada", "Bob", "Ada"].map(|name| PersonData {
        name: name.into(),
        ..PersonData::default()
    });
    let tables = [Note::TABLE, Person::TABLE];
    let refused = workspace.perform_changes_blocking(tables, |tx| add_all(tx, people.to_vec()))?;
    assert_eq!(
        (refused, workspace.fetch::<Note>().count()?),
        (vec!["Ada".to_owned()], 2)
    );
    Ok(())
}

fn take_job(workspace: &Workspace, worker: &str, now: i64) -> Result<Option<Job>> {
    workspace.perform_changes_blocking_retrying([Job::TABLE], |tx| {
        let due = tx
            .fetch::<Job>()
            .filter(Job::RUN_AT.le(now) & Job::WORKER.is_null())
            .order_by(Job::RUN_AT.ascending());
        let Some(job) = due.first()? else {
            return Ok(None);
        };
        let Some(mut request) = JobChangeRequest::change(tx, &job)? else {
            return Ok(None);
        };
        request.worker = Some(worker.to_owned());
        Ok(tx.submit(request)?.into_object())
    })
}

#[test]
fn each_job_is_taken_once() -> Result<()> {
    let workspace = Workspace::in_memory();
    workspace.perform_changes_blocking([Job::TABLE], |tx| {
        for (id, run_at) in [(1, 30), (2, 10), (3, 99)] {
            tx.submit(JobChangeRequest::creation(JobData {
                id,
                run_at,
                ..JobData::default()
            }))?;
        }
        Ok(())
    })?;
    let mut taken = Vec::new();
    while let Some(job) = take_job(&workspace, "a", 50)? {
        taken.push(job.id());
    }
    assert_eq!(taken, [2, 1]);
    Ok(())
}

fn put(workspace: &Workspace, key: &str, value: &str, expires: i64) -> Result<()> {
    workspace.perform_changes_blocking([Entry::TABLE], |tx| {
        tx.submit(EntryChangeRequest::upsert(EntryData {
            key: key.to_owned(),
            value: Some(value.to_owned()),
            expires,
        }))
        .map(drop)
    })
}

fn cached(workspace: &Workspace, key: &str, now: i64) -> Result<Option<String>> {
    let entry = workspace.get::<Entry>(key)?;
    let fresh = entry.filter(|entry| entry.expires() > now);
    Ok(fresh.and_then(|entry| entry.value().map(str::to_owned)))
}

fn expire(workspace: &Workspace, now: i64) -> Result<usize> {
    workspace.perform_changes_blocking_retrying([Entry::TABLE], |tx| {
        tx.delete_where(Entry::EXPIRES.le(now))
    })
}

#[test]
fn expired_entries_are_not_read_and_are_deleted() -> Result<()> {
    let workspace = Workspace::in_memory();
    put(&workspace, "a", "old", 10)?;
    put(&workspace, "b", "new", 30)?;
    assert_eq!(cached(&workspace, "a", 20)?, None);
    assert_eq!(cached(&workspace, "b", 20)?.as_deref(), Some("new"));
    assert_eq!(expire(&workspace, 20)?, 1);
    assert_eq!(workspace.fetch::<Entry>().count()?, 1);
    Ok(())
}
