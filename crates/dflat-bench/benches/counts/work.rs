//! The pieces of work. Each makes the same preparations for any number of rounds.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use dflat::codegen::Encoder;
use dflat::{ChangeRequest, FetchedResult, Object, Result, Subscription, Update, Workspace};
use dflat_bench::workload::{BenchDoc, Doc, Indexed, Listed, PRIORITY_VOFFSET, number, titles};
use dflat_engine::object::{Writer, verify};
use dflat_engine::query::Condition;
use dflat_model::{Comparison, Expression, Field, FieldKind, Predicate, Scalar, Step, Value};
use tempfile::TempDir;

/// The number of rounds of work on one object each; a multiple of the number of kinds of objects.
pub(crate) const ROUNDS: u64 = 600;
/// The number of rounds that make a commit each.
pub(crate) const COMMITS: u64 = 100;
/// The number of rounds that make a commit beside live queries. It is large, because registering
/// the queries takes far more instructions than a round, and differs by some ten thousand
/// instructions from run to run.
pub(crate) const MATCHES: u64 = 2000;
/// The number of rounds that scan all rows each.
pub(crate) const SCANS: u64 = 10;
/// The number of objects of a table: enough for the largest number of rounds.
pub(crate) const OBJECTS: u64 = 2 * ROUNDS;

const COUNT: usize = OBJECTS as usize;
const QUERIES: usize = 1000;
/// The number of priorities that a query selects.
const WIDTH: i32 = 10;

fn objects() -> Vec<<BenchDoc as Object>::Data> {
    (0..COUNT).map(|i| BenchDoc::data(i, COUNT)).collect()
}

fn payloads() -> Vec<Vec<u8>> {
    let mut writer = Writer::new();
    let encode = |data| {
        Encoder::encode_root(&mut writer, data);
        writer.finish().unwrap().to_vec()
    };
    objects().iter().map(encode).collect()
}

fn in_usize(rounds: u64) -> usize {
    usize::try_from(rounds).unwrap()
}

pub(crate) fn encode(rounds: u64) {
    let objects = objects();
    let mut writer = Writer::new();
    for data in objects.iter().take(in_usize(rounds)) {
        Encoder::encode_root(&mut writer, black_box(data));
        black_box(writer.finish().unwrap());
    }
}

pub(crate) fn verify_all(rounds: u64) {
    let (table, payloads) = (BenchDoc::TABLE, payloads());
    for payload in payloads.iter().take(in_usize(rounds)) {
        verify(&table.types, black_box(payload)).unwrap();
    }
}

/// Whether the priority is above a number.
pub(crate) fn predicate(rounds: u64) {
    let priority = Expression::Field(Field {
        name: "priority".into(),
        steps: vec![Step::Field(PRIORITY_VOFFSET)].into(),
        kind: FieldKind::Scalar(Scalar::I32),
        default: Value::Int(0),
    });
    let predicate = Predicate::Compare {
        left: priority,
        operator: Comparison::Greater,
        right: Value::Int(50).into(),
    };
    let condition = Condition::new(&predicate);
    let payloads = payloads();
    let rows = payloads.iter().take(in_usize(rounds));
    let found = rows.filter(|row| condition.holds(black_box(row)).unwrap() == Some(true));
    assert!(black_box(found.count()) > 0);
}

/// A workspace with its tables created and its statements prepared.
struct Files {
    workspace: Workspace,
    // Order: removed after the workspace is closed.
    _directory: TempDir,
}

impl Files {
    fn new() -> Self {
        Self::open(false)
    }

    /// Opens a new file, with or without change records.
    fn open(change_log: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let builder = Workspace::builder(directory.path().join("counts.db"));
        let workspace = builder.change_log(change_log).open().unwrap();
        let files = Self {
            workspace,
            _directory: directory,
        };
        for _ in 0..2 {
            files.insert::<BenchDoc>(vec![BenchDoc::data(0, 1)]);
            files.insert::<Listed>(vec![Listed::data(0, 1)]);
            files.delete(&files.all::<BenchDoc>());
            files.delete(&files.all::<Listed>());
        }
        files
    }

    fn filled() -> Self {
        Self::filled_with(false)
    }

    fn filled_with(change_log: bool) -> Self {
        let files = Self::open(change_log);
        files.insert::<BenchDoc>(objects());
        files
    }

    fn all<T: Object>(&self) -> Vec<T> {
        self.workspace.fetch::<T>().all().unwrap().to_vec()
    }

    fn insert<T: Object>(&self, objects: Vec<T::Data>) {
        let inserted = self.workspace.perform_changes_blocking([T::TABLE], |tx| {
            for data in objects {
                tx.submit(ChangeRequest::<T>::creation(data))?;
            }
            Ok(())
        });
        inserted.unwrap();
    }

    fn update(&self, objects: &[BenchDoc], change: impl Fn(&mut i32)) {
        let tables = [BenchDoc::TABLE];
        let updated = self.workspace.perform_changes_blocking(tables, |tx| {
            for object in objects {
                let mut request = ChangeRequest::change(tx, object)?.unwrap();
                change(&mut request.priority);
                tx.submit(request)?;
            }
            Ok(())
        });
        updated.unwrap();
    }

    fn delete<T: Object>(&self, objects: &[T]) {
        let deleted = self.workspace.perform_changes_blocking([T::TABLE], |tx| {
            for object in objects {
                tx.submit(ChangeRequest::deletion(tx, object)?.unwrap())?;
            }
            Ok(())
        });
        deleted.unwrap();
    }

    fn close(self) {
        self.workspace.shutdown().unwrap();
    }
}

pub(crate) fn insert(rounds: u64) {
    let files = Files::new();
    let mut objects = objects();
    let others = objects.split_off(in_usize(rounds));
    files.insert::<BenchDoc>(objects);
    drop(others);
    files.close();
}

pub(crate) fn insert_indexed(rounds: u64) {
    let files = Files::new();
    let mut objects: Vec<_> = (0..COUNT).map(|i| Listed::data(i, COUNT)).collect();
    let others = objects.split_off(in_usize(rounds));
    files.insert::<Listed>(objects);
    drop(others);
    files.close();
}

pub(crate) fn update(rounds: u64) {
    update_in(Files::filled(), rounds);
}

/// Does the same, and writes a change record.
pub(crate) fn update_recorded(rounds: u64) {
    update_in(Files::filled_with(true), rounds);
}

fn update_in(files: Files, rounds: u64) {
    let objects = files.all::<BenchDoc>();
    files.update(&objects[..in_usize(rounds)], |priority| *priority += 1);
    files.close();
}

pub(crate) fn delete(rounds: u64) {
    let files = Files::filled();
    let objects = files.all::<BenchDoc>();
    files.delete(&objects[..in_usize(rounds)]);
    files.close();
}

pub(crate) fn get(rounds: u64) {
    let files = Files::filled();
    for title in titles(COUNT).iter().take(in_usize(rounds)) {
        let found = files.workspace.get::<BenchDoc>(title.as_str()).unwrap();
        assert!(black_box(found).is_some());
    }
    files.close();
}

/// Fetches all objects.
pub(crate) fn scan(rounds: u64) {
    let files = Files::filled();
    for _ in 0..rounds {
        let found = files.workspace.fetch::<BenchDoc>().all().unwrap();
        assert_eq!(black_box(found).len(), COUNT);
    }
    files.close();
}

/// Changes one object in each commit.
pub(crate) fn commit(rounds: u64) {
    commits(Files::filled(), rounds, |_| Vec::new());
}

/// Does the same, and writes a change record in each commit.
pub(crate) fn commit_recorded(rounds: u64) {
    commits(Files::filled_with(true), rounds, |_| Vec::new());
}

/// Does the same beside a thousand live queries, one of which selects the object.
pub(crate) fn matching(rounds: u64) {
    let delivered = Arc::new(AtomicU64::new(0));
    let (initial, initials) = mpsc::channel();
    commits(Files::filled(), rounds, |workspace| {
        let observe = |i| {
            let (from, to) = (number(i) * WIDTH, number(i + 1) * WIDTH);
            let query = workspace.fetch::<BenchDoc>();
            let query = query.filter(BenchDoc::PRIORITY.ge(from) & BenchDoc::PRIORITY.lt(to));
            let (initial, delivered) = (initial.clone(), Arc::clone(&delivered));
            let callback = move |update: Result<Update<FetchedResult<BenchDoc>>>| {
                if update.unwrap().previous().is_none() {
                    initial.send(()).unwrap();
                } else {
                    delivered.fetch_add(1, Ordering::Relaxed);
                }
            };
            let subscription = workspace.observe(query).unwrap().call(callback).unwrap();
            // The registration of the next query compares it with the queries that are registered
            // already. Their number must not depend on the order of threads.
            initials.recv().unwrap();
            subscription
        };
        (0..QUERIES).map(observe).collect()
    });
    assert_eq!(delivered.load(Ordering::Relaxed), rounds);
}

fn commits(files: Files, rounds: u64, subscribe: impl FnOnce(&Workspace) -> Vec<Subscription>) {
    let objects = files.all::<BenchDoc>();
    let object = &objects[..1];
    // One query selects the object, and no other.
    let middle = number(QUERIES / 2) * WIDTH;
    files.update(object, |priority| *priority = middle);
    let subscriptions = subscribe(&files.workspace);
    for round in 1..=number(in_usize(rounds)) {
        files.update(object, |priority| *priority = middle + round % WIDTH);
    }
    drop(subscriptions);
    files.close();
}
