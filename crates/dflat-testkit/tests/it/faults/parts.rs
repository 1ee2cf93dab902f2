//! A transaction whose change record is written in parts: each part fails, the process ends at each
//! part, the device fails or loses power.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use dflat::{ErrorKind, Object, Workspace};
use dflat_engine::engine::EngineOptions;
use dflat_model::record::{ChangeRecord, Part};
use dflat_testkit::fault::{self, Action, Device, Durability, Failure, Operation, Outcome};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use super::records::{Follower, engine};
use crate::files::change_log::{other, records};
use crate::writing::scripted::{Call, Script, Scripted};

/// Where the process that ends finds its file.
const PATH: &str = "DFLAT_PARTS_PATH";

/// The number of parts that it writes before it ends.
const WRITTEN: &str = "DFLAT_PARTS_WRITTEN";

const ROWS: i32 = 120;

/// The bytes of a row: the rows of a transaction fill more than two parts of 256 KiB.
const BYTES: usize = 6000;

/// Replaces every object, which has no byte in common with the one before.
fn put(workspace: &Workspace, version: u32) -> dflat::Result<()> {
    let letter = char::from(b'a' + (version % 26) as u8);
    let put = workspace.perform_changes([Item::TABLE], move |tx| {
        (0..ROWS).try_for_each(|row| {
            let data = ItemData {
                id: format!("item {row}"),
                size: i32::try_from(version).unwrap(),
                nick: Some(letter.to_string().repeat(BYTES)),
                ..ItemData::default()
            };
            tx.submit(ItemChangeRequest::upsert(data)).map(drop)
        })
    });
    put.wait()
}

/// The version of all objects; 0 without an object.
fn version(workspace: &Workspace) -> Result<u32, String> {
    let items = workspace.fetch::<Item>().all();
    let items = items.map_err(|error| format!("cannot read: {error}"))?;
    let versions: Vec<i32> = items.iter().map(|item| item.to_data().size).collect();
    match &versions[..] {
        [] => Ok(0),
        [first, ..] if versions == [*first; ROWS as usize] => Ok(*first as u32),
        _ => Err(format!("a part of a transaction is there: {versions:?}")),
    }
}

/// The number of the parts of the last record.
fn parts(path: &Path) -> usize {
    let records = records(path);
    let is_early = |record: &&Vec<u8>| {
        let part = ChangeRecord::decode(record).unwrap().head.part;
        matches!(part, Part::Early { .. })
    };
    1 + records.iter().rev().skip(1).take_while(is_early).count()
}

/// Replaces all objects once more, which a follower must see by the parts of a record.
fn check_next(writer: &Workspace, path: &Path, follower: &Follower, next: u32) -> Outcome {
    let followed = follower.workspace.stats().followed_commits;
    put(writer, next).map_err(|error| format!("cannot write: {error}"))?;
    follower.check()?;
    let found = version(&follower.workspace)?;
    let parts = parts(path);
    if found != next || parts < 3 {
        return Err(format!("{found} instead of {next}, in {parts} parts"));
    }
    match follower.workspace.stats().followed_commits {
        now if now > followed => Ok(()),
        _ => Err("the commit was not followed".to_owned()),
    }
}

/// A workspace with records whose backend fails on request.
fn scripted(path: &Path) -> (Workspace, Arc<Script>) {
    let (backend, script) = Scripted::new(other(path));
    let workspace = Workspace::on_backend(backend, EngineOptions::default());
    (workspace, script)
}

// Promise: storage-format#S45
#[test]
fn transaction_whose_record_fails_at_any_part_is_undone_and_the_next_one_is_followed() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let (writer, script) = scripted(&path);
        put(&writer, 1).unwrap();
        let follower = Follower::new(&path);
        put(&writer, 2).unwrap();
        let parts = parts(&path);
        assert!(parts >= 3, "{parts} parts");
        let mut last = 2;
        for part in 0..parts {
            let before = records(&path).len();
            script.fail(Call::Record, part);
            let error = put(&writer, last + 1).unwrap_err();
            assert_eq!(records(&path).len(), before, "part {part}");
            assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
            assert_eq!(follower.check(), Ok(()), "part {part}");
            assert_eq!(version(&follower.workspace), Ok(last), "part {part}");
            last += 1;
            put(&writer, last).unwrap();
            assert_eq!(follower.check(), Ok(()), "part {part}");
            assert_eq!(version(&follower.workspace), Ok(last), "part {part}");
        }
        let stats = follower.workspace.stats();
        let followed = (stats.renewals, stats.followed_commits);
        assert_eq!(followed, (0, u64::from(last) - 1));
    });
}

/// Not a test by itself: the process that the test below starts, and that ends at a part.
#[test]
fn a_writer_that_ends_at_a_part() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let (workspace, script) = scripted(Path::new(&path));
    let next = version(&workspace).unwrap() + 1;
    match std::env::var(WRITTEN).unwrap().parse() {
        Ok(written) => script.kill(Call::Record, written),
        Err(_) => script.kill(Call::Commit, 0),
    }
    put(&workspace, next).unwrap();
}

// Promise: storage-format#S45
#[test]
fn process_that_ends_at_any_part_of_a_record_leaves_no_part_of_its_transaction() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        put(&engine(&path), 1).unwrap();
        let follower = Follower::new(&path);
        let mut last = 2;
        assert_eq!(check_next(&engine(&path), &path, &follower, last), Ok(()));
        let parts = (0..parts(&path)).map(|part| part.to_string());
        for written in parts.chain(["all".to_owned()]) {
            let before = records(&path).len();
            let name = "faults::parts::a_writer_that_ends_at_a_part";
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", name])
                .env(PATH, &path)
                .env(WRITTEN, &written)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            // A test that fails has an exit code, and a process that was ended has none.
            assert_eq!(child.unwrap().code(), None, "{written} parts");
            assert_eq!(records(&path).len(), before, "{written} parts");
            assert_eq!(follower.check(), Ok(()), "{written} parts");
            let found = version(&follower.workspace);
            assert_eq!(found, Ok(last), "{written} parts");
            last += 1;
            let next = check_next(&engine(&path), &path, &follower, last);
            assert_eq!(next, Ok(()), "{written} parts");
        }
    });
}

/// A device whose calls fail, and a follower of its file.
fn followed(device: &Device) -> Outcome {
    let path = device.path();
    let follower = Follower::new(&path);
    device.keep_records();
    if let Ok(workspace) = device.open() {
        for version in 1..=3 {
            if put(&workspace, version).is_ok() {
                device.acknowledge(version.into());
            }
        }
        let _ = workspace.shutdown();
    }
    device.heal();
    follower.check()?;
    let writer = engine(&path);
    let found = version(&writer)?;
    if u64::from(found) != device.acknowledged() {
        return Err(format!("{found} is the last commit"));
    }
    put(&writer, 4).map_err(|error| format!("cannot write: {error}"))?;
    check_next(&writer, &path, &follower, 5)
}

// Promise: storage-format#S45
#[test]
fn failed_call_of_a_commit_with_a_record_in_parts_loses_no_commit_and_no_delivery() {
    let failures = [Action::Fail(Failure::Io), Action::Fail(Failure::NoSpace)];
    let operations = [Operation::Write, Operation::Flush, Operation::Truncate];
    fault::each_sampled(&operations, &failures, 8, followed);
    let reads = [Operation::Read, Operation::Lock];
    fault::each_sampled(&reads, &failures[..1], 4, followed);
}

/// Cuts the power around each sync.
fn cut_power(durability: Durability) -> Outcome {
    let device = Device::new(durability);
    device.keep_records();
    device.record();
    let workspace = device.open().unwrap();
    for version in 1..=3 {
        put(&workspace, version).unwrap();
        device.acknowledge(version.into());
    }
    workspace.shutdown().unwrap();
    let name = format!("{durability:?}-parts");
    fault::cut_power_briefly(&name, &device.take_recording(), |image| {
        if !image.path.exists() {
            return Ok(());
        }
        let writer = engine(&image.path);
        let found = version(&writer)?;
        if durability == Durability::Full && u64::from(found) < image.acknowledged {
            return Err(format!("{found} of {} commits", image.acknowledged));
        }
        put(&writer, 4).map_err(|error| format!("cannot write: {error}"))?;
        let follower = Follower::new(&image.path);
        check_next(&writer, &image.path, &follower, 5)
    })
}

// Promise: storage-format#S45
#[test]
fn loss_of_power_leaves_no_part_of_a_transaction_whose_record_has_parts() {
    assert_eq!(cut_power(Durability::Normal), Ok(()));
    assert_eq!(cut_power(Durability::Full), Ok(()));
}
