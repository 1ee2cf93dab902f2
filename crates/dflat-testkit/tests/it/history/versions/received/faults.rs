//! The device fails while received commits are stored, checked out and merged: each transaction is
//! there as a whole, or not at all.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dflat::history::Merged;
use dflat::{Durability, ErrorKind, Result, Workspace};
use dflat_history::branches::forward;
use dflat_history::tree::CheckLimits;
use dflat_testkit::fault::{self, Action, Device, Failure, Operation, Outcome};
use dflat_testkit::schema::{Item, Other};
use tempfile::TempDir;

use super::super::super::files::{delete, file, leads_back, note_others, open_both, put, sql};
use super::super::commits::{built, chunks, last};
use super::copying::{Copy, copy, engine, pull, tables};

/// Two files: commits of one are pulled into the other.
struct Prepared {
    _directories: [TempDir; 2],
    from: PathBuf,
    to: PathBuf,
    /// The objects of the branch of the first file, and those after the merge.
    theirs: Copy,
    merged: Copy,
}

fn prepare() -> Prepared {
    let ((here, from), (there, to)) = (file(), file());
    let (one, other) = (open_both(&from), open_both(&to));
    for id in ["a", "b", "c"] {
        put(&one, id, 0);
    }
    note_others(&one, 0..2, "first");
    one.history().commit("first").unwrap();
    pull(&from, &to, "one").unwrap();
    other.history().merge("one/main").unwrap();
    put(&one, "a", 1);
    delete(&one, "b");
    one.history().commit("second").unwrap();
    put(&one, "new", 1);
    one.history().commit("third").unwrap();
    put(&other, "c", 2);
    note_others(&other, 1..3, "own");
    other.history().commit("own").unwrap();
    let theirs = copy(&one);
    let own = copy(&other);
    let ours_alone = |of: &&(_, String, _)| of.0 == "other" || of.1 == "c";
    let theirs_alone = |of: &&(_, String, _)| of.0 == "item" && of.1 != "c";
    let merged = own.iter().filter(ours_alone);
    let merged = merged.chain(theirs.iter().filter(theirs_alone));
    let merged = merged.cloned().collect();
    drop((one, other));
    checkpoint(&from);
    checkpoint(&to);
    Prepared {
        _directories: [here, there],
        from,
        to,
        theirs,
        merged,
    }
}

/// Puts the whole content into the file itself.
fn checkpoint(path: &Path) {
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    let done = sql(path).query_row(checkpoint, [], |_| Ok(()));
    done.unwrap();
}

fn open(path: &Path) -> Result<Workspace> {
    Workspace::builder(path)
        .versioned::<Item>()
        .versioned::<Other>()
        .durability(Durability::Full)
        .log_bytes_max(u64::MAX)
        .reclaim(dflat::Reclaim::Never)
        // The device meets the calls of all connections then.
        .io_stats(true)
        .open()
}

/// Pulls, checks the branch of the other file out, and merges it into the own one.
fn work(prepared: &Prepared, path: &Path) -> Result<()> {
    pull(&prepared.from, path, "one")?;
    work_on(path)
}

/// Checks the branch of the other file out, and merges it into the own one.
fn work_on(path: &Path) -> Result<()> {
    let workspace = open(path)?;
    let history = workspace.history();
    let theirs = history.remote_branches()?[0].commit;
    match history.branch_at("theirs", theirs) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => made?,
    }
    history.checkout("theirs")?;
    history.checkout("main")?;
    let merged = history.merge("one/main")?;
    assert!(!matches!(merged, Merged::Conflicts(_)), "{merged:?}");
    workspace.shutdown()
}

/// Checks that the objects are those of the last commit, and that the work can be completed.
fn check(prepared: &Prepared, path: &Path) -> Outcome {
    let text = |error: dflat::Error| error.to_string();
    {
        let workspace = open(path).map_err(text)?;
        let commit = last(&workspace);
        let of_commit = copy(&workspace.at(commit.id).map_err(text)?);
        if copy(&workspace) != of_commit {
            return Err("the objects are not those of the last commit".to_owned());
        }
        if commit.tables[0].root != built::<Item>(path) {
            return Err("the last commit has not the root of the objects".to_owned());
        }
        for table in &commit.tables {
            let checked = chunks(path).check(&table.root, &CheckLimits::NONE);
            checked.map_err(text)?;
        }
    }
    leads_back(path)?;
    work(prepared, path).map_err(|error| format!("cannot be completed: {error}"))?;
    let workspace = open(path).map_err(text)?;
    let theirs = workspace.at_branch("theirs").map_err(text)?;
    match (
        copy(&workspace) == prepared.merged,
        copy(&theirs) == prepared.theirs,
    ) {
        (true, true) => Ok(()),
        _ => Err(format!("{:?} after the merge", copy(&workspace))),
    }
}

fn workload(prepared: &Prepared, device: &Device) -> Outcome {
    std::fs::copy(&prepared.to, device.path()).unwrap();
    let _ = work(prepared, &device.path());
    device.heal();
    check(prepared, &device.path())
}

// Promise: storage-format#S53
#[test]
fn failed_write_or_sync_leaves_received_commits_checkouts_and_merges_whole_or_absent() {
    let prepared = Arc::new(prepare());
    let failures = [Action::Fail(Failure::Io), Action::Fail(Failure::NoSpace)];
    fault::each_sampled(
        &[Operation::Write, Operation::Flush],
        &failures,
        60,
        move |device| workload(&prepared, device),
    );
}

// Promise: storage-format#S53
#[test]
fn each_failed_write_of_a_checkout_and_of_a_merge_leaves_it_whole_or_absent() {
    let prepared = prepare();
    pull(&prepared.from, &prepared.to, "one").unwrap();
    checkpoint(&prepared.to);
    let prepared = Arc::new(prepared);
    let failures = [Action::Fail(Failure::Io)];
    fault::each(&[Operation::Write], &failures, move |device| {
        std::fs::copy(&prepared.to, device.path()).unwrap();
        let _ = work_on(&device.path());
        device.heal();
        check(&prepared, &device.path())
    });
}

// Promise: storage-format#S53
#[test]
fn loss_of_power_leaves_received_commits_checkouts_and_merges_whole_or_absent() {
    let prepared = prepare();
    let device = Device::new(Durability::Full);
    std::fs::copy(&prepared.to, device.path()).unwrap();
    device.record();
    work(&prepared, &device.path()).unwrap();
    let recording = device.take_recording();
    let outcome = fault::cut_power_briefly("received commits", &recording, |image| {
        check(&prepared, &image.path)
    });
    assert_eq!(outcome, Ok(()));
}

#[test]
fn failed_read_leaves_received_commits_checkouts_and_merges_whole_or_absent() {
    let prepared = Arc::new(prepare());
    let failures = [Action::Fail(Failure::Io)];
    fault::each_sampled(&[Operation::Read], &failures, 20, move |device| {
        workload(&prepared, device)
    });
}

/// A file without objects takes the commits of another one.
#[test]
fn failed_write_leaves_a_move_of_the_branch_whole_or_absent() {
    let prepared = Arc::new(prepare());
    let failures = [Action::Fail(Failure::Io)];
    fault::each_sampled(
        &[Operation::Write, Operation::Flush],
        &failures,
        40,
        move |device| {
            let path = device.path();
            let text = |error: dflat::Error| error.to_string();
            let work = || -> Result<bool> {
                pull(&prepared.from, &path, "one")?;
                let engine = engine(&path)?;
                let workspace = open(&path)?;
                let theirs = workspace.history().remote_branches()?[0].commit;
                forward(&engine, &tables(), theirs)
            };
            let _ = work();
            device.heal();
            if path.exists() {
                let workspace = open(&path).map_err(text)?;
                let objects = copy(&workspace);
                let is_moved = workspace.history().head().map_err(text)?.is_some();
                if objects
                    != if is_moved {
                        prepared.theirs.clone()
                    } else {
                        Copy::new()
                    }
                {
                    return Err(format!("{objects:?} if moved is {is_moved}"));
                }
            }
            match work().map_err(text)? && copy(&open(&path).map_err(text)?) == prepared.theirs {
                true => Ok(()),
                false => Err("the branch does not move".to_owned()),
            }
        },
    );
}
