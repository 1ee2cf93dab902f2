//! Change records on devices that fail or lose power, on a full disk, in copies, and cut short.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use dflat::{CloseOptions, ErrorKind, Object, Subscription, Workspace};
use dflat_engine::engine::EngineOptions;
use dflat_model::record::ChangeRecord;
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fault::{
    self, Action, Device, Durability, Failure, Ledger, Operation, Outcome, check, run_workload,
};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{
    Item, ItemChangeRequest, ItemData, Other, OtherChangeRequest, OtherData,
};

use crate::faults::disk::Small;
use crate::files::change_log::{commit, is_found_in, other, records, rows, undo};

/// An engine of its own on a file, as in another process, whose calls do not fail. It applies each
/// delivery as a difference.
pub(crate) struct Follower {
    pub(crate) workspace: Workspace,
    subscription: Subscription,
    shown: Arc<Mutex<Vec<Item>>>,
}

pub(crate) fn engine(path: &Path) -> Workspace {
    engine_with(path, true)
}

/// An engine that looks for commits of others by itself, or only when it is asked.
fn engine_with(path: &Path, follow: bool) -> Workspace {
    let options = SqliteOptions {
        change_log: true,
        follow,
        ..SqliteOptions::default()
    };
    let backend = SqliteBackend::open(path, options).unwrap();
    Workspace::on_backend(backend, EngineOptions::default())
}

impl Follower {
    pub(crate) fn new(path: &Path) -> Self {
        Self::on(engine(path))
    }

    fn on(workspace: Workspace) -> Self {
        let shown: Arc<Mutex<Vec<Item>>> = Arc::default();
        let list = Arc::clone(&shown);
        let items = workspace.fetch::<Item>();
        let subscription = workspace.subscribe(items, move |update| {
            let update = update.unwrap();
            let (result, mut list) = (update.result(), list.lock().unwrap());
            let take = |at: usize| result[at].clone();
            update.difference().apply(&mut list, take);
            assert_eq!(*list, result.to_vec());
        });
        workspace.settle().unwrap();
        Self {
            subscription: subscription.unwrap(),
            workspace,
            shown,
        }
    }

    /// Compares the list that the differences lead to with a fetch.
    pub(crate) fn check(&self) -> Outcome {
        let caught_up = self.workspace.refresh();
        caught_up.map_err(|error| format!("cannot follow: {error}"))?;
        self.workspace.settle().unwrap();
        if let Some(error) = self.subscription.error() {
            return Err(format!("the subscription ended: {error}"));
        }
        let data = |items: &[Item]| -> Vec<_> {
            let items = items.iter().map(|item| (item.row_id(), item.to_data()));
            items.collect()
        };
        let fresh = data(&self.workspace.fetch::<Item>().all().unwrap());
        let shown = data(&self.shown.lock().unwrap());
        if fresh != shown {
            return Err(format!("{shown:?} is shown, and {fresh:?} is stored"));
        }
        Ok(())
    }
}

/// Checks that the file has the records of exactly the commits that it has. The file is copied, so
/// that the check leaves its log as it is.
fn check_records(path: &Path, last: u64) -> Outcome {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy.db");
    for suffix in ["", "-wal", "-journal"] {
        let named = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            name
        };
        if Path::new(&named(path)).exists() {
            fs::copy(named(path), named(&copy)).unwrap();
        }
    }
    if last == 0 {
        return Ok(());
    }
    let (records, mut rows) = (records(&copy), rows(&copy));
    // Each transaction of the workload writes its number to a row of this table.
    let is_counted = |record: &&Vec<u8>| {
        let record = ChangeRecord::decode(record).unwrap();
        let mut tables = record.tables.iter();
        tables.any(|table| table.table.name == "other")
    };
    let count = records.iter().filter(is_counted).count() as u64;
    if count != last {
        let records = records
            .iter()
            .map(|r| ChangeRecord::decode(r))
            .collect::<Vec<_>>();
        return Err(format!(
            "{count} records, and {last} is the last commit {records:#?}"
        ));
    }
    for record in records.iter().rev() {
        undo(record, &mut rows);
    }
    match rows.is_empty() {
        true => Ok(()),
        false => Err(format!("the records leave {} rows", rows.len())),
    }
}

/// A device whose calls fail, and a follower of its file.
fn followed(device: &Device) -> Outcome {
    let path = device.path();
    let follower = Follower::new(&path);
    let mut ledger = Ledger::default();
    device.keep_records();
    run_workload(device, &mut ledger)?;
    device.heal();
    follower.check()?;
    let found = check(&path, &ledger)?;
    if found != device.acknowledged() {
        return Err(format!("{found} is the last commit"));
    }
    follower.check()
}

const FAILURES: [Action; 2] = [Action::Fail(Failure::Io), Action::Fail(Failure::NoSpace)];

// Promise: storage-format#S31
#[test]
fn failed_call_of_a_commit_with_records_loses_no_commit_and_no_delivery() {
    let operations = [Operation::Write, Operation::Flush, Operation::Truncate];
    fault::each_sampled(&operations, &FAILURES, 20, followed);
    fault::each_sampled(
        &[Operation::Read, Operation::Lock],
        &FAILURES[..1],
        10,
        followed,
    );
}

/// Cuts the power around each sync of a workload that writes records.
fn cut_power(durability: Durability) -> Outcome {
    let device = Device::new(durability);
    device.keep_records();
    device.record();
    let mut ledger = Ledger::default();
    assert_eq!(run_workload(&device, &mut ledger), Ok(()));
    let recording = device.take_recording();
    let name = format!("{durability:?}-records");
    fault::cut_power_briefly(&name, &recording, |image| {
        // The number of the last commit is read from a copy as well.
        let directory = tempfile::tempdir().unwrap();
        let copy = directory.path().join("copy.db");
        if !image.path.exists() {
            return Ok(());
        }
        fs::copy(&image.path, &copy).unwrap();
        let log = image.path.with_extension("db-wal");
        if log.exists() {
            fs::copy(log, copy.with_extension("db-wal")).unwrap();
        }
        let found = check(&copy, &ledger)?;
        check_records(&image.path, found)?;
        if durability == Durability::Full && found < image.acknowledged {
            return Err(format!("{found} of {} commits", image.acknowledged));
        }
        // A follower begins with this state, and follows the next commit.
        let follower = Follower::new(&image.path);
        check(&image.path, &ledger)?;
        follower.check()
    })
}

// Promise: storage-format#S31
#[test]
fn loss_of_power_leaves_the_records_of_the_commits_that_it_leaves() {
    assert_eq!(cut_power(Durability::Normal), Ok(()));
    assert_eq!(cut_power(Durability::Full), Ok(()));
}

fn put(workspace: &Workspace, id: i32, note: &str) -> dflat::Result<()> {
    let note = Some(note.to_owned());
    let put = workspace.perform_changes([Item::TABLE, Other::TABLE], move |tx| {
        let item = ItemData {
            id: format!("item {}", id % 10),
            rank: id,
            nick: note.clone(),
            ..ItemData::default()
        };
        tx.submit(ItemChangeRequest::upsert(item))?;
        tx.submit(OtherChangeRequest::upsert(OtherData { id, note }))
            .map(drop)
    });
    put.wait()
}

// Promise: storage-format#S31
#[test]
fn follower_of_a_full_disk_shows_what_is_stored() {
    let directory = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(directory.path()) else {
        eprintln!("skipped: nothing can be mounted here");
        return;
    };
    let path = small.path().join("full.db");
    let filler = small.path().join("filler");
    fs::write(&filler, vec![0; 1 << 20]).unwrap();
    let workspace = engine(&path);
    put(&workspace, 0, "first").unwrap();
    let follower = Follower::new(&path);
    let mut stored = 1;
    let error = loop {
        match put(&workspace, stored, &"x".repeat(10_000)) {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 1000, "the disk does not get full");
    };
    assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
    for _ in 0..3 {
        let _ = put(&workspace, stored, &"x".repeat(50_000));
        assert_eq!(follower.check(), Ok(()));
    }
    fs::remove_file(&filler).unwrap();
    put(&workspace, stored, "last").unwrap();
    assert_eq!(follower.check(), Ok(()));
    let stats = follower.workspace.stats();
    assert!(stats.followed_commits >= stored as u64, "{stats:?}");
}

// Promise: storage-format#S30
#[test]
fn follower_of_a_restored_copy_shows_what_is_stored() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let [path, copy] = ["a.db", "b.db"].map(|name| directory.path().join(name));
        let workspace = Workspace::builder(&path).change_log(true).open();
        let workspace = workspace.unwrap();
        put(&workspace, 0, "first").unwrap();
        workspace.backup(&copy).unwrap();
        let follower = Follower::new(&path);
        // The copy and the original go on in different ways.
        let (other, follows_other) = (engine(&copy), Follower::new(&copy));
        for id in 1..8 {
            put(&workspace, id, "in the original").unwrap();
            put(&other, 2 * id, "in the copy").unwrap();
            assert_eq!(follower.check(), Ok(()));
            assert_eq!(follows_other.check(), Ok(()));
        }
        for (follower, last) in [(&follower, &workspace), (&follows_other, &other)] {
            follower.workspace.shutdown().unwrap();
            // No log of the original is left.
            let truncate = CloseOptions {
                truncate: true,
                ..CloseOptions::default()
            };
            last.shutdown_with(truncate).unwrap();
        }
        assert!(!path.with_extension("db-wal").exists());
        // The copy takes the place of the original, whose records are gone with it.
        fs::rename(&copy, &path).unwrap();
        let (workspace, follower) = (engine(&path), Follower::new(&path));
        assert_eq!(follower.workspace.fetch::<Item>().count().unwrap(), 5);
        for id in 1..8 {
            put(&workspace, 3 * id, "in the restored copy").unwrap();
            assert_eq!(follower.check(), Ok(()));
        }
    });
}

// Promise: storage-format#S30
#[test]
fn follower_of_a_replaced_file_gets_an_error_and_no_delivery() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let [path, copy] = ["a.db", "b.db"].map(|name| directory.path().join(name));
        let workspace = Workspace::builder(&path).change_log(true).open();
        let workspace = workspace.unwrap();
        put(&workspace, 0, "first").unwrap();
        workspace.backup(&copy).unwrap();
        let follower = Follower::new(&path);
        let shown = follower.shown.lock().unwrap().clone();
        fs::rename(&copy, &path).unwrap();
        let other = engine(&path);
        put(&other, 1, "in the other file").unwrap();
        assert!(follower.workspace.refresh().is_err());
        assert_eq!(*follower.shown.lock().unwrap(), shown);
        // A follower of the file that is there now is right.
        let follower = Follower::new(&path);
        put(&other, 2, "in the other file").unwrap();
        assert_eq!(follower.check(), Ok(()));
    });
}

// Promise: storage-format#S37
#[test]
fn record_that_was_cut_or_changed_is_read_again() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let workspace = engine(&path);
        put(&workspace, 0, &"first ".repeat(20)).unwrap();
        let before = rows(&path)[&1].clone();
        put(&workspace, 10, &"second ".repeat(20)).unwrap();
        let after = rows(&path)[&1].clone();
        let record = records(&path).pop().unwrap();
        let other = other(&path);
        commit(&other, &before, None);
        let follower = Follower::new(&path);
        let cut = (0..record.len()).map(|length| record[..length].to_vec());
        let changed = (0..record.len()).step_by(5).map(|position| {
            let mut changed = record.clone();
            changed[position] ^= 1;
            changed
        });
        for damaged in cut.chain(changed) {
            let renewals = follower.workspace.stats().renewals;
            commit(&other, &after, Some(&damaged));
            assert_eq!(follower.check(), Ok(()), "{damaged:?} of {record:?}");
            let stats = follower.workspace.stats();
            assert_eq!((stats.renewals, stats.followed_commits), (renewals + 1, 0));
            commit(&other, &before, None);
            assert_eq!(follower.check(), Ok(()));
        }
        commit(&other, &after, Some(&record));
        assert_eq!(follower.check(), Ok(()));
        assert_eq!(follower.workspace.stats().followed_commits, 1);
    });
}

// Promise: storage-format#S33
#[test]
fn purge_leaves_no_secret_beside_a_follower_that_reads_again_once() {
    const SECRET: &str = "the secret that another process followed";
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let workspace = Workspace::builder(&path).change_log(true).open().unwrap();
        put(&workspace, 0, SECRET).unwrap();
        // A purge makes several commits, of which an engine that looks by itself may see the first.
        let follower = Follower::on(engine_with(&path, false));
        put(&workspace, 1, "something else").unwrap();
        put(&workspace, 0, "something else").unwrap();
        assert_eq!(follower.check(), Ok(()));
        assert!(is_found_in(directory.path(), SECRET));
        let stats = follower.workspace.stats();
        assert_eq!((stats.renewals, stats.followed_commits), (0, 2));
        workspace.purge().unwrap();
        // The follower has the file open, and has not noticed yet.
        assert!(!is_found_in(directory.path(), SECRET));
        assert!(records(&path).is_empty());
        assert_eq!(follower.check(), Ok(()));
        assert_eq!(follower.workspace.stats().renewals, 1);
        put(&workspace, 2, "later").unwrap();
        assert_eq!(follower.check(), Ok(()));
        let stats = follower.workspace.stats();
        assert_eq!((stats.renewals, stats.followed_commits), (1, 3));
        assert!(!is_found_in(directory.path(), SECRET));
    });
}
