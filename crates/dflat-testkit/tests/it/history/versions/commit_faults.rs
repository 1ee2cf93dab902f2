//! The device fails while commits are written: a commit is there with its trees, or not at all.

use std::path::Path;

use dflat::history::CommitId;
use dflat::{Durability, Result};
use dflat_history::tree::CheckLimits;
use dflat_testkit::fault::{self, Action, Device, Failure, Operation, Outcome};
use dflat_testkit::schema::{Item, ItemChangeRequest};

use super::super::files::{data, open_durable, put};
use super::commits::{built, chunks};

/// Writes and commits. Returns the last commit that was acknowledged.
fn work(path: &Path) -> Result<Option<CommitId>> {
    let workspace = open_durable(path)?;
    let mut last = None;
    for round in 0..3 {
        let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            (0..40).try_for_each(|number| {
                let data = data(format!("item {number}"), round);
                tx.submit(ItemChangeRequest::upsert(data)).map(drop)
            })
        });
        let label = format!("round {round}");
        if stored.is_ok()
            && let Ok(id) = workspace.history().commit(&label)
        {
            last = Some(id);
        }
    }
    let _ = workspace.shutdown();
    Ok(last)
}

fn workload(device: &Device) -> Outcome {
    let last = work(&device.path());
    device.heal();
    let last = last.map_err(|error| format!("cannot open: {error}"))?;
    check(&device.path(), last)
}

/// Checks that the last acknowledged commit is among the commits, that the trees of all commits are
/// whole, and that the next commit has the root of the objects.
fn check(path: &Path, acknowledged: Option<CommitId>) -> Outcome {
    if !path.exists() {
        return Ok(());
    }
    let workspace = open_durable(path).map_err(|error| error.to_string())?;
    let commits = workspace.history().commits().collect::<Result<Vec<_>>>();
    let commits = commits.map_err(|error| error.to_string())?;
    if let Some(id) = acknowledged
        && !commits.iter().any(|commit| commit.id == id)
    {
        return Err(format!("commit {id} is lost"));
    }
    put(&workspace, "after", 1);
    let next = workspace
        .history()
        .commit("after")
        .map_err(|error| error.to_string())?;
    let trees = chunks(path);
    for commit in &commits {
        for table in &commit.tables {
            let checked = trees.check(&table.root, &CheckLimits::NONE);
            let checked = checked.map_err(|error| error.to_string())?;
            if checked.entries != table.objects {
                return Err(format!("{checked:?} of {table:?}"));
            }
        }
        workspace.at(commit.id).map_err(|error| error.to_string())?;
    }
    let last = workspace.history().commits().next().unwrap().unwrap();
    match (last.id == next, last.tables[0].root == built::<Item>(path)) {
        (true, true) => Ok(()),
        _ => Err("the next commit has not the root of the objects".to_owned()),
    }
}

// Promise: storage-format#S51
#[test]
fn failed_write_or_sync_leaves_a_commit_whole_or_absent() {
    let operations = [Operation::Write, Operation::Flush];
    let failures = [Action::Fail(Failure::Io), Action::Fail(Failure::NoSpace)];
    fault::each(&operations, &failures, workload);
}

#[test]
fn failed_read_leaves_a_commit_whole_or_absent() {
    let failures = [Action::Fail(Failure::Io)];
    fault::each_sampled(&[Operation::Read], &failures, 12, workload);
}

// Promise: storage-format#S51
#[test]
fn loss_of_power_leaves_a_commit_whole_or_absent() {
    let device = Device::new(Durability::Full);
    device.record();
    work(&device.path()).unwrap();
    let recording = device.take_recording();
    let outcome = fault::cut_power_briefly("commits", &recording, |image| check(&image.path, None));
    assert_eq!(outcome, Ok(()));
}
