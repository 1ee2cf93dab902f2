//! The device fails while steps are written: the steps and the objects stay in agreement.

use std::path::Path;

use dflat::{Durability, Result};
use dflat_testkit::fault::{self, Action, Device, Failure, Operation, Outcome};
use dflat_testkit::schema::Item;
use rusqlite::params;

use super::files::{leads_back, open_durable, payload, put, sql, steps};

const FAILURES: [Action; 2] = [Action::Fail(Failure::Io), Action::Fail(Failure::NoSpace)];

/// Writes, undoes and redoes, with a stranger between. Returns how many operations succeeded that
/// append a step each.
fn work(path: &Path) -> Result<usize> {
    let workspace = open_durable(path)?;
    let mut count = 0;
    for rank in 0..3 {
        let data = super::files::data("a", rank);
        let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            tx.submit(dflat_testkit::schema::ItemChangeRequest::upsert(data))
        });
        count += usize::from(stored.is_ok());
    }
    let history = workspace.history();
    for _ in 0..2 {
        count += usize::from(history.undo().is_ok_and(|undone| undone.is_some()));
    }
    let stranger = sql(path).execute(
        "INSERT INTO item (__pk0, p) VALUES ('s', ?)",
        params![payload("s", 1)],
    );
    let written = stranger.is_ok();
    count += usize::from(history.redo().is_ok_and(|redone| redone.is_some()));
    let _ = workspace.shutdown();
    Ok(count + usize::from(written))
}

/// Works on a device with a fault, heals it, and compares the steps with the objects.
fn workload(device: &Device) -> Outcome {
    let count = work(&device.path());
    device.heal();
    let count = count.map_err(|error| format!("cannot open: {error}"))?;
    check(&device.path(), Some(count))
}

/// Checks that the steps lead back to the empty file, and that there are as many as operations
/// were acknowledged.
fn check(path: &Path, acknowledged: Option<usize>) -> Outcome {
    if !path.exists() {
        return Ok(());
    }
    let workspace = open_durable(path).map_err(|error| error.to_string())?;
    let log = workspace.history().log().collect::<Result<Vec<_>>>();
    let log = log.map_err(|error| error.to_string())?;
    leads_back(path)?;
    if acknowledged.is_some_and(|count| count != log.len()) {
        return Err(format!(
            "{acknowledged:?} acknowledged, {} steps",
            log.len()
        ));
    }
    put(&workspace, "after", 1);
    match steps(path).len() > log.len() {
        true => leads_back(path),
        false => Err("a later change appended no step".to_owned()),
    }
}

// Promise: storage-format#S46
#[test]
fn failed_write_or_sync_leaves_steps_and_objects_in_agreement() {
    let operations = [Operation::Write, Operation::Flush];
    fault::each(&operations, &FAILURES, workload);
}

#[test]
fn failed_read_leaves_steps_and_objects_in_agreement() {
    let failures = [Action::Fail(Failure::Io)];
    fault::each_sampled(&[Operation::Read], &failures, 12, workload);
}

// Promise: storage-format#S46
#[test]
fn loss_of_power_leaves_steps_and_objects_in_agreement() {
    let device = Device::new(Durability::Full);
    device.record();
    let workspace = open_durable(&device.path()).unwrap();
    for rank in 0..3 {
        put(&workspace, "a", rank);
    }
    workspace.history().undo().unwrap().unwrap();
    workspace.history().redo().unwrap().unwrap();
    workspace.shutdown().unwrap();
    let recording = device.take_recording();
    let outcome = fault::cut_power_briefly("history", &recording, |image| check(&image.path, None));
    assert_eq!(outcome, Ok(()));
}
