//! Several processes that open one file at the same moment, each for the first time: a file that is
//! missing, empty, without a log or with one. Each process is an engine of its own in this process.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier};
use std::thread;

use dflat::{Dictionary, FetchedResult, Object, Result, SubscribedValue, Update, Workspace};
use dflat_testkit::fixture::{bounded, until};
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, Other, OtherChangeRequest, OtherData};

use super::shared_dictionary::open;
use crate::writing::groups::insert;

const PROCESSES: usize = 3;
const STEPS: usize = 8;
const SEEDS: u64 = 12;

/// The state of the file when the processes open it.
#[derive(Clone, Copy, Debug)]
enum State {
    Missing,
    Empty,
    WithoutLog,
    WithLog,
}

const STATES: [State; 4] = [
    State::Missing,
    State::Empty,
    State::WithoutLog,
    State::WithLog,
];

fn prepare(state: State, path: &Path) {
    match state {
        State::Missing => {}
        State::Empty => std::fs::write(path, b"").unwrap(),
        State::WithoutLog | State::WithLog => {
            let mode = match state {
                State::WithLog => "PRAGMA journal_mode = WAL;",
                _ => "",
            };
            let connection = rusqlite::Connection::open(path).unwrap();
            connection
                .execute_batch(&format!("{mode} CREATE TABLE foreign_table (x);"))
                .unwrap();
        }
    }
}

/// The changes of all processes.
#[derive(Default)]
struct Done {
    counted: AtomicI64,
    inserted: AtomicI64,
    stepped: AtomicI64,
}

/// The numbers of items and the values of a key that one process was delivered.
struct Deliveries {
    items: Receiver<usize>,
    value: Receiver<Option<i64>>,
}

fn counted(workspace: &Workspace) -> Result<()> {
    workspace.perform_changes_blocking_retrying([Dictionary::TABLE], |tx| {
        let old = tx.dictionary().get::<i64>("count")?.unwrap_or(0);
        tx.dictionary().set("count", old + 1)
    })
}

/// Counts in an object, with another read in the handler.
fn stepped(workspace: &Workspace) -> Result<()> {
    workspace.perform_changes_blocking_retrying([Other::TABLE, Item::TABLE], |tx| {
        let old = tx.get::<Other>(1)?;
        tx.fetch::<Item>().count()?;
        let steps = old.map_or(0, |old| old.to_data().note.unwrap().parse().unwrap());
        let note = Some((steps + 1_i64).to_string());
        tx.submit(OtherChangeRequest::upsert(OtherData { id: 1, note }))
            .map(drop)
    })
}

/// One random step of a process.
fn step(workspace: &Workspace, process: usize, random: &mut Random, done: &Done) {
    match random.below(6) {
        0 => {
            counted(workspace).unwrap();
            done.counted.fetch_add(1, Ordering::Relaxed);
        }
        1 => {
            stepped(workspace).unwrap();
            done.stepped.fetch_add(1, Ordering::Relaxed);
        }
        2 => {
            let id = format!("{process} {}", random.number());
            let inserted = workspace.perform_changes([Item::TABLE], move |tx| insert(tx, &id));
            inserted.wait().unwrap();
            done.inserted.fetch_add(1, Ordering::SeqCst);
        }
        3 => {
            let key = format!("of {process}");
            let value = random.number().cast_signed();
            workspace.dictionary().set(&key, value).unwrap();
            workspace.dictionary().synchronize().unwrap();
            assert_eq!(workspace.dictionary().get(&key).unwrap(), Some(value));
        }
        4 => {
            // The first change gives the file a log. A snapshot without one would block the next.
            counted(workspace).unwrap();
            let snapshot = workspace.snapshot().unwrap();
            let before = snapshot.fetch::<Item>().count().unwrap();
            counted(workspace).unwrap();
            done.counted.fetch_add(2, Ordering::Relaxed);
            assert_eq!(snapshot.fetch::<Item>().count().unwrap(), before);
        }
        _ => {
            // Order: the insertions that have ended before the read, which sees all of them.
            let inserted = done.inserted.load(Ordering::SeqCst);
            let items = workspace.fetch::<Item>().count().unwrap();
            assert!(items >= usize::try_from(inserted).unwrap());
        }
    }
}

fn subscribe(workspace: &Workspace) -> (Deliveries, [Box<dyn Send>; 2]) {
    let ((items, counts), (values, value)) = (channel(), channel());
    let list = workspace.subscribe(
        workspace.fetch::<Item>(),
        move |update: Result<Update<FetchedResult<Item>>>| {
            let _ = items.send(update.unwrap().result().len());
        },
    );
    let key = workspace
        .dictionary()
        .subscribe::<i64>("count", move |value| {
            let value = match value.unwrap() {
                SubscribedValue::Initial(value) => value,
                SubscribedValue::Updated(value) => Some(value),
                SubscribedValue::Deleted => None,
            };
            let _ = values.send(value);
        });
    let deliveries = Deliveries {
        items: counts,
        value,
    };
    (deliveries, [Box::new(list.unwrap()), Box::new(key)])
}

fn run(path: &Path, seed: u64) {
    let (done, barrier) = (Done::default(), Barrier::new(PROCESSES));
    let all_done = Barrier::new(PROCESSES);
    thread::scope(|scope| {
        for process in 0..PROCESSES {
            let (done, barrier, all_done) = (&done, &barrier, &all_done);
            scope.spawn(move || {
                let mut random = Random::new(seed << 8 | process as u64);
                barrier.wait();
                let workspace = open(path);
                let subscribed = random.one_in(2).then(|| subscribe(&workspace));
                for _ in 0..STEPS {
                    step(&workspace, process, &mut random, done);
                }
                all_done.wait();
                check(&workspace, done, subscribed.as_ref().map(|(it, _)| it));
                drop(subscribed);
                workspace.shutdown().unwrap();
            });
        }
    });
}

/// Compares what a process reads and was delivered with the changes of all processes.
fn check(workspace: &Workspace, done: &Done, deliveries: Option<&Deliveries>) {
    let number = |of: &AtomicI64| of.load(Ordering::Relaxed);
    let items = usize::try_from(number(&done.inserted)).unwrap();
    assert_eq!(workspace.fetch::<Item>().count().unwrap(), items);
    let steps = workspace.get::<Other>(1).unwrap();
    let steps = steps.map_or(0, |steps| steps.to_data().note.unwrap().parse().unwrap());
    assert_eq!(steps, number(&done.stepped));
    let value = Some(number(&done.counted)).filter(|count| *count > 0);
    until(|| workspace.dictionary().get::<i64>("count").unwrap() == value);
    if let Some(deliveries) = deliveries {
        let (mut last_items, mut last_value) = (0, None);
        until(|| {
            last_items = deliveries.items.try_iter().last().unwrap_or(last_items);
            last_value = deliveries.value.try_iter().last().unwrap_or(last_value);
            (last_items, last_value) == (items, value)
        });
    }
}

#[test]
fn processes_that_open_one_file_at_once_lose_nothing() {
    for state in STATES {
        for seed in 0..SEEDS {
            bounded(move || {
                eprintln!("{state:?}, seed {seed}");
                let directory = tempfile::tempdir().unwrap();
                let path = Arc::<Path>::from(directory.path().join("a.db"));
                prepare(state, &path);
                run(&path, seed);
            });
        }
    }
}
