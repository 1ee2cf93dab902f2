//! A process that is forked while a workspace is open.
#![allow(unsafe_code, reason = "the standard library has no fork")]

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};

use dflat::{ErrorKind, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

/// Where the process that forks finds its file.
const PATH: &str = "DFLAT_FORKING_PATH";

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

/// Runs `child` in a forked process, and returns whether it ended without a panic.
fn in_a_child(child: impl FnOnce()) -> bool {
    // SAFETY: Only this thread goes on in the child. No other thread of this process works at this
    // time, so none holds a lock that the child takes.
    let process = unsafe { fork() };
    assert!(process >= 0, "no process can be made");
    if process == 0 {
        let outcome = catch_unwind(AssertUnwindSafe(child));
        // SAFETY: The function takes any number, and does not return.
        unsafe { _exit(c_int::from(outcome.is_err())) }
    }
    let mut status = -1;
    // SAFETY: `status` outlives the call, and nothing else refers to it.
    let ended = unsafe { waitpid(process, &raw mut status, 0) };
    ended == process && status == 0
}

fn insert(workspace: &Workspace, id: &str) -> dflat::Result<()> {
    workspace.perform_changes_blocking([Item::TABLE], |tx| {
        let id = id.to_owned();
        let data = ItemData {
            id,
            ..ItemData::default()
        };
        tx.submit(ItemChangeRequest::creation(data)).map(drop)
    })
}

fn fork_with(workspace: Workspace, path: Option<&Path>) {
    insert(&workspace, "a").unwrap();
    let handle = workspace.perform_changes([Item::TABLE], |tx| tx.fetch::<Item>().count());
    assert_eq!(handle.wait().unwrap(), 1);
    let all = workspace.fetch::<Item>().all().unwrap();
    let live = workspace.observe(&all).unwrap().watch().unwrap();
    workspace.dictionary().set("n", 1_i64).unwrap();
    workspace.dictionary().synchronize().unwrap();
    workspace.settle().unwrap();
    let (inherited, kept) = (workspace.clone(), live);
    let (snapshot, settings) = (workspace.snapshot().unwrap(), workspace.dictionary());
    assert!(in_a_child(move || {
        let refused = |kind| assert_eq!(kind, ErrorKind::ShutDown);
        let error = insert(&inherited, "child").unwrap_err();
        assert!(error.to_string().contains("forked"), "{error}");
        refused(error.kind());
        let handle = inherited.perform_changes([Item::TABLE], |_| Ok(()));
        refused(handle.wait().unwrap_err().kind());
        refused(inherited.settle().unwrap_err().kind());
        refused(inherited.reclaim(1).unwrap_err().kind());
        refused(inherited.subscribe(&all, |_| {}).unwrap_err().kind());
        // Issue 27, line 14: the library did not refuse these calls.
        let error = inherited.fetch::<Item>().all().unwrap_err();
        assert!(error.to_string().contains("forked"), "{error}");
        refused(error.kind());
        refused(inherited.get::<Item>("a").unwrap_err().kind());
        refused(inherited.fetch::<Item>().count().unwrap_err().kind());
        refused(
            inherited
                .fetch::<Item>()
                .iter()
                .map(drop)
                .unwrap_err()
                .kind(),
        );
        refused(inherited.snapshot().map(drop).unwrap_err().kind());
        refused(snapshot.get::<Item>("a").unwrap_err().kind());
        refused(inherited.refresh().unwrap_err().kind());
        let error = settings.get::<i64>("n").unwrap_err();
        assert!(error.to_string().contains("forked"), "{error}");
        refused(error.kind());
        refused(settings.set("n", 2_i64).unwrap_err().kind());
        refused(settings.remove("n").unwrap_err().kind());
        refused(settings.keys().unwrap_err().kind());
        refused(settings.synchronize().unwrap_err().kind());
        refused(
            settings
                .subscribe::<i64>("n", |_| {})
                .map(drop)
                .unwrap_err()
                .kind(),
        );
        drop((snapshot, settings));
        if let Some(path) = path {
            let error = Workspace::open(path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
        drop(kept);
        inherited.shutdown().unwrap();
        drop(inherited);
    }));
    // The second child drops the last workspace without any other call.
    let mut last = Some(workspace);
    assert!(in_a_child(|| drop(last.take())));
    // The child has taken its own copy.
    let workspace = last.unwrap();
    insert(&workspace, "b").unwrap();
    assert_eq!(workspace.dictionary().get::<i64>("n").unwrap(), Some(1));
    assert_eq!(workspace.fetch::<Item>().count().unwrap(), 2);
    assert!(workspace.check([Item::TABLE]).unwrap().is_sound());
    workspace.shutdown().unwrap();
}

/// Not a test by itself: the process of the test below, which has no other threads that work.
#[test]
fn a_process_that_forks() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let path = Path::new(&path);
    fork_with(Workspace::open(path).unwrap(), Some(path));
    fork_with(Workspace::in_memory(), None);
}

// Promise: concurrency#C81
#[test]
fn child_that_was_forked_gets_errors_and_harms_nothing() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let name = "workspaces::forking::a_process_that_forks";
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(PATH, directory.path().join("test.db"))
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success());
    });
}
