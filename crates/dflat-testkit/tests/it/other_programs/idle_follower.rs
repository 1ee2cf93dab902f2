//! The system calls of a process that follows and does nothing else.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};

use dflat::Workspace;
use dflat_testkit::fixture::{bounded, next};
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};

use crate::system_calls::{traced, whole_calls};

/// Where the process of the test finds its file.
const PATH: &str = "DFLAT_IDLE_PATH";

/// The commits of the other process.
const COMMITS: usize = 20;

/// The output after which the process is idle, and the one at the end of that time.
const BEGUN: &str = "shows 2";
const ENDED: &str = "shows 22";

/// Not a test by itself: a process that prints each count of objects until its input ends.
#[test]
fn a_process_that_is_idle() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let workspace = Workspace::open(path).unwrap();
    let count = workspace.fetch::<Other>().live_count();
    let subscription = workspace.subscribe(count, |count| {
        // The test harness does not capture this output.
        let mut output = std::io::stdout().lock();
        let line = format!("\nshows {}\n", count.unwrap());
        output.write_all(line.as_bytes()).unwrap();
        output.flush().unwrap();
    });
    std::io::stdin().lines().for_each(drop);
    subscription.unwrap().cancel();
    workspace.shutdown().unwrap();
}

/// The lines that the process prints.
fn lines(output: std::process::ChildStdout) -> Receiver<String> {
    let (sender, lines) = channel();
    let output = BufReader::new(output).lines();
    std::thread::spawn(move || {
        output
            .map_while(Result::ok)
            .for_each(|l| drop(sender.send(l)))
    });
    lines
}

pub(super) fn insert(workspace: &Workspace, id: usize) {
    let data = OtherData {
        id: i32::try_from(id).unwrap(),
        note: None,
    };
    let inserted = workspace.perform_changes([Other::TABLE], move |tx| {
        tx.submit(OtherChangeRequest::creation(data)).map(drop)
    });
    inserted.wait().unwrap();
}

/// The calls of the process while the other process commits; `None` without `strace`.
fn calls(directory: &Path) -> Option<Vec<String>> {
    let path = directory.join("a.db");
    let trace = directory.join("trace");
    let mut child = traced(&std::env::current_exe().unwrap(), &trace)?;
    let workspace = Workspace::open(&path).unwrap();
    insert(&workspace, 1);
    let name = "other_programs::idle_follower::a_process_that_is_idle";
    let mut child = child
        .args(["--exact", name, "--nocapture"])
        .env(PATH, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let shown = lines(child.stdout.take().unwrap());
    let shows = |count: usize| while next(&shown) != format!("shows {count}") {};
    shows(1);
    // The first commits of the other process may need connections of the pool.
    for count in 2..=2 + COMMITS {
        insert(&workspace, count);
        shows(count);
    }
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let trace = std::fs::read_to_string(trace).unwrap();
    let calls = whole_calls(&trace).into_iter();
    let calls = calls.skip_while(|call| !call.contains(BEGUN));
    Some(calls.take_while(|call| !call.contains(ENDED)).collect())
}

/// A process that closed such a file would lose SQLite's locks on it.
// Promise: live-queries#L76
#[cfg(target_os = "linux")]
#[test]
fn process_that_follows_opens_and_closes_nothing_for_a_commit() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let Some(calls) = calls(directory.path()) else {
            return;
        };
        assert!(calls.len() > COMMITS, "{} calls", calls.len());
        let is_of_file = |call: &&String| {
            let opens_or_closes = call.starts_with("open") || call.starts_with("close");
            opens_or_closes && call.contains("a.db")
        };
        let opened: Vec<_> = calls.iter().filter(is_of_file).collect();
        assert!(opened.is_empty(), "{opened:#?}");
    });
}
