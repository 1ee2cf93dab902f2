//! Copies of a file while it is in use.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;

use dflat::{ErrorKind, Workspace};
use dflat_sqlite::faults::FaultPlan;
use dflat_testkit::fault::{Action, Failure, Fault, FileKind, Operation};
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};

fn put(workspace: &Workspace, ids: std::ops::Range<i32>) {
    let done = workspace.perform_changes([Other::TABLE], move |tx| {
        for id in ids {
            let note = Some("x".repeat(3000));
            tx.submit(OtherChangeRequest::upsert(OtherData { id, note }))?;
        }
        Ok(())
    });
    done.wait().unwrap();
}

fn count(workspace: &Workspace) -> u64 {
    workspace
        .fetch::<Other>()
        .count()
        .unwrap()
        .try_into()
        .unwrap()
}

pub(super) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

// Promise: durability#D28, durability#D46
#[test]
fn backup_has_one_state_while_writes_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path().join("a.db")).unwrap();
    put(&workspace, 0..2000);
    let copy = directory.path().join("odd ?#%&\u{e9}'\".db");
    let mut steps = Vec::new();
    workspace
        .backup_with(&copy, |progress| {
            let next = 10_000 + i32::try_from(steps.len()).unwrap();
            thread::scope(|scope| {
                scope.spawn(|| put(&workspace, next..next + 1));
            });
            steps.push(progress);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(steps.len() > 5, "{steps:?}");
    assert!(steps.is_sorted_by_key(|progress| progress.done));
    let last = steps.last().unwrap();
    assert_eq!(last.done, last.total);
    assert_eq!(count(&workspace), 2000 + steps.len() as u64);

    let copied = Workspace::open(&copy).unwrap();
    assert_eq!(count(&copied), 2000);
    put(&copied, 5000..5001);
    copied.shutdown().unwrap();
    let oracle = rusqlite::Connection::open(&copy).unwrap();
    let sound: String = oracle
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sound, "ok");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&copy).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

// Promise: durability#D48
#[test]
fn backup_never_overwrites_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let workspace = Workspace::open(at("a.db")).unwrap();
    put(&workspace, 0..10);
    fs::write(at("file"), b"mine").unwrap();
    fs::create_dir(at("directory")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(at("nowhere"), at("link")).unwrap();
    #[cfg(not(unix))]
    fs::write(at("link"), b"mine").unwrap();
    let before = names(directory.path());
    for name in ["a.db", "file", "directory", "link"] {
        let error = workspace.backup(at(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        let message = error.to_string();
        assert!(
            message.ends_with(&format!("{name} exists already")),
            "{error}"
        );
    }
    // The next opening would delete such a file, or take it for a part of the database.
    for suffix in ["-wal", "-shm", "-journal", "-dflat-presence"] {
        for name in ["a.db", "file"] {
            let error = workspace
                .backup(at(&format!("{name}{suffix}")))
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
    }
    assert_eq!(names(directory.path()), before);
    assert_eq!(fs::read(at("file")).unwrap(), b"mine");
    let error = workspace.backup(at("no directory/copy")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    let error = Workspace::in_memory().backup(at("copy")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert_eq!(count(&workspace), 10);
}

// Promise: durability#D49
#[test]
fn cancelled_backup_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path().join("a.db")).unwrap();
    put(&workspace, 0..2000);
    let before = names(directory.path());
    let copy = directory.path().join("copy.db");
    let cancelled = workspace.backup_with(&copy, |progress| match progress.done {
        0..1000 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(names(directory.path()), before);
    let panicked = workspace.backup_with(&copy, |_| panic!("enough"));
    assert_eq!(panicked.unwrap_err().kind(), ErrorKind::Panicked);
    let panicked = workspace.check_with([Other::TABLE], |_| panic!("enough"));
    assert_eq!(panicked.unwrap_err().kind(), ErrorKind::Panicked);
    assert_eq!(names(directory.path()), before);
    workspace.backup(&copy).unwrap();
    workspace.shutdown().unwrap();
}

/// A shutdown inside the callback would wait for the backup that called it.
#[test]
fn a_progress_callback_cannot_shut_down() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path().join("a.db")).unwrap();
    put(&workspace, 0..10);
    let mut refused = Vec::new();
    let mut shut_down = || {
        refused.push(workspace.shutdown().unwrap_err().kind());
        refused.push(workspace.suspend().unwrap_err().kind());
        ControlFlow::Continue(())
    };
    let copy = directory.path().join("copy.db");
    workspace.backup_with(&copy, |_| shut_down()).unwrap();
    workspace
        .check_with([Other::TABLE], |_| shut_down())
        .unwrap();
    assert!(refused.len() >= 4);
    assert!(refused.iter().all(|kind| *kind == ErrorKind::WouldDeadlock));
    assert_eq!(count(&workspace), 10);
    workspace.shutdown().unwrap();
}

#[test]
fn backup_of_an_empty_workspace_is_empty() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path().join("a.db")).unwrap();
    let copy = directory.path().join("copy.db");
    workspace.backup(&copy).unwrap();
    assert_eq!(count(&Workspace::open(&copy).unwrap()), 0);
}

// Promise: durability#D47
/// Every call on the copy fails once: there is no copy then, and the file is as it was.
#[test]
fn backup_is_complete_or_absent() {
    let run = |fault: Option<Fault>| {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let workspace = Workspace::builder(at("a.db"))
            .io_stats(true)
            .open()
            .unwrap();
        put(&workspace, 0..20);
        let plan = FaultPlan::attach(at("copy.db")).unwrap();
        plan.skip_syncs();
        fault.into_iter().for_each(|fault| plan.add(fault));
        let outcome = workspace.backup(at("copy.db"));
        let report = plan.report();
        plan.clear();
        assert_eq!(at("copy.db").exists(), outcome.is_ok());
        let left = names(directory.path());
        assert!(!left.iter().any(|name| name.contains("-part-")), "{left:?}");
        if outcome.is_ok() {
            let copied = Workspace::open(at("copy.db")).unwrap();
            assert_eq!(count(&copied), 20);
        }
        put(&workspace, 20..21);
        assert_eq!(count(&workspace), 21);
        (outcome, report)
    };
    let (outcome, report) = run(None);
    assert!(outcome.is_ok(), "{outcome:?}");
    let calls = FileKind::ALL.into_iter().flat_map(|kind| {
        let operations = Operation::ALL.into_iter();
        operations.map(move |operation| (kind, operation))
    });
    let mut cases = 0;
    for (kind, operation) in calls {
        let writes = matches!(operation, Operation::Write | Operation::Flush);
        // Calls that a full disk may refuse.
        let grows = matches!(
            operation,
            Operation::Truncate | Operation::Open | Operation::Map
        );
        for at in 1..=report.count_of(kind, operation) {
            for failure in [Failure::Io, Failure::NoSpace] {
                if failure == Failure::NoSpace && !writes && !grows {
                    continue;
                }
                let (outcome, _) = run(Some(Fault {
                    kind: Some(kind),
                    operation,
                    at,
                    lasting: false,
                    action: Action::Fail(failure),
                }));
                let kinds = [ErrorKind::Io, ErrorKind::StorageFull];
                match outcome {
                    Ok(()) => assert!(!writes, "{kind:?} {operation:?} {at}: no error"),
                    Err(error) => {
                        let is_known = kinds.contains(&error.kind());
                        assert!(is_known, "{kind:?} {operation:?} {at}: {error}");
                    }
                }
                cases += 1;
            }
        }
    }
    assert!(cases > 30, "{cases}");
}

// Promise: durability#D50
/// Partial files of a killed program are deleted. Files that are being written stay, and so do
/// files of other programs.
#[test]
fn left_partial_files_are_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let parts = || {
        let mut left = names(directory.path());
        left.retain(|name| name.contains("-part-"));
        left
    };
    let workspace = Workspace::open(at("a.db")).unwrap();
    put(&workspace, 0..2000);
    workspace.backup(at("other.db")).unwrap();
    // A complete partial file, an incomplete one, and one that is not a database.
    let stale = [0, 1, 17].map(|number: u64| format!("copy.db-dflat-part-{number:016x}"));
    fs::rename(at("other.db"), at(&stale[0])).unwrap();
    fs::write(at(&stale[1]), []).unwrap();
    fs::write(at(&stale[2]), [7; 9000]).unwrap();
    let others = [
        "copy.db-dflat-part-",
        "copy.db-dflat-part-0000000000000001x",
        "copy.db-dflat-part-1",
        "copy.db-part-1",
        "xcopy.db-dflat-part-0000000000000001",
    ];
    for other in others {
        fs::write(at(other), [7; 9]).unwrap();
    }
    let folder = "copy.db-dflat-part-0000000000000002";
    fs::create_dir(at(folder)).unwrap();
    // If the copy can't be made, no partial file is deleted.
    fs::write(at("copy.db"), []).unwrap();
    let before = parts();
    let refused = workspace.backup(at("copy.db")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    assert_eq!(parts(), before);
    fs::remove_file(at("copy.db")).unwrap();

    let mut expected = others.map(str::to_owned).to_vec();
    expected.push(folder.to_owned());
    expected.sort_unstable();
    let mut while_written = None;
    let first = workspace.backup_with(at("copy.db"), |progress| {
        if while_written.is_none() && progress.done > 0 {
            // Another backup to the same place, from its beginning to its end.
            let path = at("copy.db");
            let second = workspace.clone();
            let second = thread::spawn(move || second.backup(path));
            second.join().unwrap().unwrap();
            while_written = Some(parts().len());
        }
        ControlFlow::Continue(())
    });
    assert_eq!(
        while_written,
        Some(expected.len() + 1),
        "it was being written"
    );
    assert_eq!(first.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(parts(), expected);
    let copied = Workspace::open(at("copy.db")).unwrap();
    assert_eq!(count(&copied), 2000);
    copied.shutdown().unwrap();
    workspace.shutdown().unwrap();
}
