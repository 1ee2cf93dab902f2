//! The system calls of a process that is alone with its file.

use std::path::Path;

use dflat::Workspace;
use dflat_testkit::fixture::{bounded, until};
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};

use crate::system_calls::{traced, whole_calls};

/// Where the process of the test finds its file.
const PATH: &str = "DFLAT_LONE_PATH";
/// Whether it subscribes.
const SUBSCRIBES: &str = "DFLAT_LONE_SUBSCRIBES";

/// The number of its transactions.
const TRANSACTIONS: i32 = 20;

fn write(workspace: &Workspace, note: &'static str) {
    for id in 0..TRANSACTIONS {
        let written = workspace.perform_changes([Other::TABLE], move |tx| {
            let note = Some(note.to_owned());
            let data = OtherData { id, note };
            tx.submit(OtherChangeRequest::upsert(data)).map(drop)
        });
        written.wait().unwrap();
    }
}

/// Not a test by itself: the process of the test below.
#[test]
fn a_process_that_is_alone() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let workspace = Workspace::open(path).unwrap();
    if std::env::var_os(SUBSCRIBES).is_none() {
        return write(&workspace, "alone");
    }
    let count = workspace.fetch::<Other>().live_count();
    let count = workspace.observe(count).unwrap().watch().unwrap();
    until(|| count.latest().is_some());
    write(&workspace, "with a subscription");
}

/// The system calls of the process that concern the presence file; `None` without `strace`.
fn calls(directory: &Path, subscribes: bool) -> Option<Vec<String>> {
    let trace = directory.join("trace");
    let mut child = traced(&std::env::current_exe().unwrap(), &trace)?;
    child
        .args([
            "--exact",
            "other_programs::lone_process::a_process_that_is_alone",
        ])
        .env(PATH, directory.join("a.db"));
    if subscribes {
        child.env(SUBSCRIBES, "1");
    }
    assert!(child.output().unwrap().status.success());
    let calls = std::fs::read_to_string(trace).unwrap();
    let calls = whole_calls(&calls).into_iter();
    Some(
        calls
            .filter(|call| call.contains("dflat-presence"))
            .collect(),
    )
}

// Promise: live-queries#L47
#[cfg(target_os = "linux")]
#[test]
fn process_that_is_alone_makes_one_call_for_each_write_transaction() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let Some(without) = calls(directory.path(), false) else {
            return;
        };
        // Without subscriptions there is no file to open.
        let transactions = usize::try_from(TRANSACTIONS).unwrap();
        assert_eq!(without.len(), transactions, "{without:#?}");
        assert!(without.iter().all(|call| call.contains("ENOENT")));
        let with = calls(directory.path(), true).unwrap();
        let (asked, others): (Vec<_>, Vec<_>) =
            with.iter().partition(|call| call.contains("F_OFD_GETLK"));
        assert_eq!(asked.len(), transactions, "{with:#?}");
        // The others begin and end the subscription: none changes the time of the file.
        assert!(others.len() < transactions, "{others:#?}");
        assert!(!others.iter().any(|call| call.contains("utime")));
    });
}
