//! The device fails while commits are received: a commit is there whole, or not at all.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use dflat::history::KeepTrees;
use dflat::{Durability, ErrorKind, Result, Workspace};
use dflat_history::tree::CheckLimits;
use dflat_testkit::fault::{self, Action, Device, Failure, Operation, Outcome};

use dflat_testkit::schema::Item;
use dflat_testkit::wire::{End, served};

use super::super::files::{delete, file, having, open, open_durable, put, try_delete};
use super::super::versions::commits::chunks;
use super::exchange::{items, store};

/// The key of an object that is forgotten.
const KEY: &str = "secret key";

/// A file with three commits.
fn source() -> (tempfile::TempDir, Workspace) {
    let (directory, path) = file();
    let workspace = open(&path);
    for round in 0..3 {
        store(&workspace, 0..30, &format!("round {round}"));
        workspace.history().commit("round").unwrap();
    }
    (directory, workspace)
}

/// Pulls and merges. Returns whether both were acknowledged.
fn work(path: &Path, there: &Workspace) -> Result<bool> {
    let here = open_durable(path)?;
    let history = here.history();
    let pulled = history.remote("there").pull_from(there, "main");
    let merged = pulled.and_then(|_| history.merge("there/main").map(drop));
    let _ = here.shutdown();
    Ok(merged.is_ok())
}

/// Checks that the file has no part of a pull that was not acknowledged, and that another pull
/// completes it.
fn check(path: &Path, there: &Workspace, is_done: bool) -> Outcome {
    let text = |error: dflat::Error| error.to_string();
    let here = open_durable(path).map_err(text)?;
    let history = here.history();
    let tip = there.history().head().map_err(text)?;
    let tracked = history.remote_branches().map_err(text)?;
    if is_done && (history.head().map_err(text)? != tip || items(&here) != items(there)) {
        return Err("the merge is lost".to_owned());
    }
    for branch in tracked {
        let at = here.at(branch.commit).map_err(text)?;
        if Some(branch.commit) != tip || items(&at) != items(there) {
            return Err(format!("{branch:?} is not the branch of the remote"));
        }
    }
    let again = history.remote("there").pull_from(there, "main");
    again.map_err(text)?;
    history.merge("there/main").map_err(text)?;
    match items(&here) == items(there) {
        true => Ok(()),
        false => Err("the objects are not those of the remote".to_owned()),
    }
}

fn workload(device: &Device) -> Outcome {
    let (_directory, there) = source();
    let done = work(&device.path(), &there);
    device.heal();
    check(&device.path(), &there, done.unwrap_or(false))
}

// Promise: sync-format#Y13
#[test]
fn failed_write_or_sync_leaves_no_part_of_a_pull() {
    let operations = [Operation::Write, Operation::Flush];
    let failures = [Action::Fail(Failure::Io), Action::Fail(Failure::NoSpace)];
    fault::each_sampled(&operations, &failures, 24, workload);
}

// Promise: sync-format#Y13
#[test]
fn loss_of_power_leaves_no_part_of_a_pull() {
    let (_directory, there) = source();
    let device = Device::new(Durability::Full);
    device.record();
    work(&device.path(), &there).unwrap();
    let recording = device.take_recording();
    let outcome = fault::cut_power_briefly("pull", &recording, |image| {
        check(&image.path, &there, false)
    });
    assert_eq!(outcome, Ok(()));
}

/// Two files with one commit that has an object. The other one has forgotten it since, and this one
/// has deleted it.
fn to_forget(path: &Path) -> Result<(tempfile::TempDir, Workspace)> {
    let (directory, other) = file();
    let there = open(&other);
    put(&there, KEY, 1);
    store(&there, 0..30, "a");
    there.history().commit("with it").unwrap();
    let here = open_durable(path)?;
    here.history().remote("there").pull_from(&there, "main")?;
    here.history().merge("there/main")?;
    try_delete(&here, KEY)?;
    here.shutdown()?;
    delete(&there, KEY);
    there.history().forget_object::<Item>(KEY).unwrap();
    store(&there, 0..1, "b");
    Ok((directory, there))
}

fn pull_and_forget(path: &Path, there: &Workspace) -> Result<()> {
    let here = open_durable(path)?;
    let remote = here.history().remote("there").accept_forgotten();
    let pulled = remote.pull_from(there, "main").map(drop);
    let _ = here.shutdown();
    pulled
}

/// Checks that another pull completes one that has failed: no file has the key of the object.
fn check_forgotten(path: &Path, there: &Workspace) -> Outcome {
    let text = |error: dflat::Error| error.to_string();
    pull_and_forget(path, there).map_err(text)?;
    let here = open_durable(path).map_err(text)?;
    here.history().merge("there/main").map_err(text)?;
    if items(&here) != items(there) {
        return Err("the objects are not those of the remote".to_owned());
    }
    here.purge().map_err(text)?;
    here.shutdown().map_err(text)?;
    match having(path, KEY).as_slice() {
        [] => Ok(()),
        files => Err(format!("{files:?} have the key")),
    }
}

// Promise: sync-format#Y16
#[test]
fn pull_that_fails_while_an_object_is_forgotten_is_completed_by_the_next() {
    let operations = [Operation::Write, Operation::Flush];
    let failures = [Action::Fail(Failure::Io), Action::Fail(Failure::NoSpace)];
    fault::each_sampled(&operations, &failures, 24, |device| {
        let Ok((_directory, there)) = to_forget(&device.path()) else {
            device.heal();
            return Ok(());
        };
        let _ = pull_and_forget(&device.path(), &there);
        device.heal();
        check_forgotten(&device.path(), &there)
    });
}

// Promise: sync-format#Y16
#[test]
fn pull_that_loses_power_while_an_object_is_forgotten_is_completed_by_the_next() {
    let device = Device::new(Durability::Full);
    let (_directory, there) = to_forget(&device.path()).unwrap();
    device.record();
    pull_and_forget(&device.path(), &there).unwrap();
    let recording = device.take_recording();
    let outcome = fault::cut_power_briefly("pull and forget", &recording, |image| {
        check_forgotten(&image.path, &there)
    });
    assert_eq!(outcome, Ok(()));
}

/// A connection on which garbage is collected once so many bytes have arrived, or were sent.
struct Collecting<'c> {
    end: &'c mut End,
    bytes: usize,
    workspace: &'c Workspace,
    keep: KeepTrees,
}

impl<'c> Collecting<'c> {
    /// A connection on which all trees that no branch needs are deleted.
    fn all(end: &'c mut End, bytes: usize, workspace: &'c Workspace) -> Self {
        let keep = KeepTrees {
            last: 0,
            age: Duration::ZERO,
            labelled: false,
        };
        Self {
            end,
            bytes,
            workspace,
            keep,
        }
    }

    fn collect_behind(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.bytes = usize::MAX;
            let collected = self.workspace.history().collect_garbage(&self.keep);
            assert!(collected.unwrap().nodes > 0, "there is no garbage yet");
        }
    }
}

impl Read for Collecting<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.collect_behind(self.end.received.len());
        self.end.read(bytes)
    }
}

impl Write for Collecting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.collect_behind(self.end.sent.len());
        self.end.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end.flush()
    }
}

#[test]
fn collection_during_a_pull_takes_no_node_of_its_commits() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    store(&there, 0..10, "small");
    there.history().commit("small").unwrap();
    store(&there, 0..3000, &"large ".repeat(1000));
    there.history().commit("large").unwrap();
    let history = here.history();
    let pull = |bytes| {
        let (pulled, _) = served(&there, |end| {
            let workspace = &here;
            let mut stream = Collecting {
                end,
                bytes,
                workspace,
                keep: KeepTrees::default(),
            };
            history.remote("there").pull(&mut stream, "main")
        });
        pulled
    };
    let busy = pull(12 << 20).unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy, "{busy}");
    pull(usize::MAX).unwrap();
    let commits = there.history().commits();
    for commit in commits.map(Result::unwrap) {
        for table in &commit.tables {
            let checked = chunks(&one).check(&table.root, &CheckLimits::NONE);
            assert_eq!(checked.unwrap().entries, table.objects);
        }
    }
}

#[test]
fn sender_whose_trees_are_collected_meanwhile_is_busy() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    store(&here, 0..3000, &"large ".repeat(1000));
    here.history().commit("large").unwrap();
    store(&here, 0..3000, "small");
    here.history().commit("small").unwrap();
    let history = here.history();
    let push = |bytes| {
        let (pushed, _) = served(&there, |end| {
            let mut stream = Collecting::all(end, bytes, &here);
            history.remote("there").push(&mut stream, "main")
        });
        pushed
    };
    let busy = push(1 << 20).unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy, "{busy}");
    let pushed = push(usize::MAX).unwrap();
    assert_eq!(items(&there.at(pushed.commit).unwrap()), items(&here));
}

// The receiver found a node missing, which it took for damage.
#[test]
fn receiver_whose_trees_are_collected_meanwhile_is_busy() {
    let ((_one, one), (_other, other)) = (file(), file());
    let (here, there) = (open(&one), open(&other));
    let remote = there.history();
    store(&there, 0..3000, "base");
    let base = remote.commit("base").unwrap();
    remote.branch("side").unwrap();
    store(&there, 0..3000, "main");
    remote.commit("main").unwrap();
    let history = here.history();
    history.remote("there").pull_from(&there, "main").unwrap();
    remote.checkout("side").unwrap();
    store(&there, 0..3000, &"side ".repeat(100));
    remote.commit("side").unwrap();
    let pull = |bytes| {
        let (pulled, _) = served(&there, |end| {
            let mut stream = Collecting::all(end, bytes, &here);
            history.remote("there").pull(&mut stream, "side")
        });
        pulled
    };
    // The changes of the commit are arriving, and no branch here has its parent as the last commit.
    let busy = pull(100 << 10).unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy, "{busy}");
    let pulled = pull(usize::MAX).unwrap();
    for commit in [base, pulled.commit] {
        let (ours, theirs) = (here.at(commit).unwrap(), there.at(commit).unwrap());
        assert_eq!(items(&ours), items(&theirs));
    }
}
