//! A file that another program truncates, cuts or replaces while a workspace has it open.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use dflat::{Error, ErrorKind, Result, Workspace};
use dflat_engine::engine::EngineOptions;
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::until;
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};

use crate::unprivileged::unprivileged;

fn put(workspace: &Workspace, ids: std::ops::Range<i32>) -> Result<()> {
    workspace.perform_changes_blocking([Other::TABLE], |tx| {
        for id in ids {
            let note = Some("x".repeat(3000));
            tx.submit(OtherChangeRequest::upsert(OtherData { id, note }))?;
        }
        Ok(())
    })
}

/// Cuts a file, by another process: to close it in this one would drop the workspace's locks.
fn cut(path: &Path, length: u64) {
    let mut dd = Command::new("dd");
    let output = dd
        .args(["bs=1", "count=0", &format!("seek={length}")])
        .args(["if=/dev/null", &format!("of={}", path.display())])
        .output();
    assert!(output.unwrap().status.success());
    assert_eq!(fs::metadata(path).unwrap().len(), length);
}

fn is_named(error: &Error, event: &str, kind: ErrorKind) {
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(event), "{error}");
    assert!(error.to_string().contains("a.db"), "{error}");
}

/// Two commits, counts, and a get fail after the event.
fn nothing_succeeds(workspace: &Workspace, event: &str, kind: ErrorKind) {
    for number in 0..2 {
        is_named(
            &put(workspace, number..number + 1).unwrap_err(),
            event,
            kind,
        );
    }
    // For a short time, a read may see the state from before the event.
    let error = loop {
        match workspace.fetch::<Other>().count() {
            Ok(count) => assert_eq!(count, 300),
            Err(error) => break error,
        }
    };
    is_named(&error, event, kind);
    is_named(
        &workspace.fetch::<Other>().count().unwrap_err(),
        event,
        kind,
    );
    is_named(&workspace.get::<Other>(7).unwrap_err(), event, kind);
}

/// A workspace with 300 objects, all of which are in the file.
fn filled(path: &Path) -> Workspace {
    let workspace = Workspace::open(path).unwrap();
    put(&workspace, 0..300).unwrap();
    workspace.purge().unwrap();
    assert_eq!(workspace.fetch::<Other>().count().unwrap(), 300);
    workspace
}

// Promise: durability#D74, durability#D75
/// Issue 27.
#[test]
fn commits_and_counts_fail_after_the_file_was_truncated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let workspace = filled(&path);
    cut(&path, 0);
    nothing_succeeds(&workspace, "truncated", ErrorKind::Corrupt);
    let _ = workspace.shutdown();
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
}

// Promise: durability#D74, durability#D75
/// Issue 27.
#[test]
fn commits_and_counts_fail_after_the_file_was_cut_to_half_of_its_pages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let workspace = filled(&path);
    let half = fs::metadata(&path).unwrap().len() / 2;
    cut(&path, half);
    nothing_succeeds(&workspace, "truncated", ErrorKind::Corrupt);
    let _ = workspace.shutdown();
    assert_eq!(fs::metadata(&path).unwrap().len(), half);
}

// Promise: durability#D74, durability#D75
/// Issue 27.
#[test]
fn commits_and_counts_fail_after_the_file_was_replaced_and_the_new_file_opens_without_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let [path, other] = ["a.db", "other.db"].map(|name| directory.path().join(name));
    let new = Workspace::open(&other).unwrap();
    put(&new, 0..1).unwrap();
    new.shutdown().unwrap();
    let bytes = fs::read(&other).unwrap();
    let workspace = filled(&path);
    // The log has a commit that must not come into the new file.
    put(&workspace, 0..300).unwrap();
    fs::rename(&other, &path).unwrap();
    nothing_succeeds(&workspace, "replaced", ErrorKind::Io);
    let _ = workspace.shutdown();
    assert!(
        fs::read(&path).unwrap() == bytes,
        "the new file was written"
    );
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(directory.path().join(format!("a.db{ending}")));
    }
    let workspace = Workspace::open(&path).unwrap();
    assert_eq!(workspace.fetch::<Other>().count().unwrap(), 1);
    assert!(workspace.check([Other::TABLE]).unwrap().is_sound());
}

// Promise: durability#D82
/// Issue 27.
#[test]
fn file_that_another_process_has_shortened_stays_in_use() {
    for grows_at_once in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let workspace = filled(&path);
        let before = fs::metadata(&path).unwrap().len();
        // A second engine has connections of its own, as another process does.
        let backend = SqliteBackend::open(&path, SqliteOptions::default()).unwrap();
        let other = Workspace::on_backend(backend, EngineOptions::default());
        let deleted = other.perform_changes_blocking_retrying([Other::TABLE], |tx| {
            tx.delete_where(Other::ID.ge(20))
        });
        assert_eq!(deleted.unwrap(), 280);
        while other.reclaim(64).unwrap() > 0 {}
        // The file is shortened once no read of the other engine uses the log.
        let length = || fs::metadata(&path).unwrap().len();
        until(|| other.purge().is_ok() && length() < before / 2);
        if grows_at_once {
            // The file lacks the new pages, which are in the log, before the workspace looks.
            put(&other, 20..60).unwrap();
        }
        put(&workspace, 60..100).unwrap();
        let count = if grows_at_once { 100 } else { 60 };
        assert_eq!(workspace.fetch::<Other>().count().unwrap(), count);
        put(&workspace, 0..300).unwrap();
        assert!(workspace.check([Other::TABLE]).unwrap().is_sound());
        other.shutdown().unwrap();
        workspace.shutdown().unwrap();
    }
}

// Promise: durability#D94
/// The file is there, but may not be looked for.
#[test]
fn file_in_a_closed_directory_is_not_reported_as_deleted() {
    let test = "files::gone::file_in_a_closed_directory_is_not_reported_as_deleted";
    unprivileged(test, |directory| {
        let workspace = Workspace::open(directory.join("a.db")).unwrap();
        put(&workspace, 0..1).unwrap();
        let set_mode = |mode| fs::set_permissions(directory, Permissions::from_mode(mode)).unwrap();
        set_mode(0o000);
        is_named(
            &put(&workspace, 1..2).unwrap_err(),
            "Permission denied",
            ErrorKind::Io,
        );
        let count = || workspace.fetch::<Other>().count();
        // For a short time, a read may use the file as it was opened.
        until(|| count().is_err());
        is_named(&count().unwrap_err(), "Permission denied", ErrorKind::Io);
        set_mode(0o700);
        put(&workspace, 1..2).unwrap();
        assert_eq!(count().unwrap(), 2);
        workspace.shutdown().unwrap();
    });
}
