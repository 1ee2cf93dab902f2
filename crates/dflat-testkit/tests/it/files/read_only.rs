//! Files that are only read: because an option says so, or because they can't be written.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use dflat::{ErrorKind, Workspace};
use dflat_testkit::note::v1::diary as v1;
use dflat_testkit::note::v2::diary as v2;
use dflat_testkit::note::v3::diary as v3;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::system_calls::{traced, whole_calls};

/// The files that a program has left: the database, and the files beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// The program has closed the file.
    NoLog,
    EmptyLog,
    /// The file was copied with its log, but without the index of the log.
    LogAlone,
    /// The program crashed.
    LogAndIndex,
    /// The program crashed before it wrote the first frame of the log.
    HeaderAndIndex,
    /// The file with the name of the log is not a log.
    JunkAndIndex,
    /// The program has closed the file without a log.
    RollbackJournal,
    /// The program has closed the file, and has left a finished rollback journal.
    SpentJournal,
}

const ALL: [Left; 8] = [
    Left::NoLog,
    Left::EmptyLog,
    Left::LogAlone,
    Left::LogAndIndex,
    Left::HeaderAndIndex,
    Left::JunkAndIndex,
    Left::RollbackJournal,
    Left::SpentJournal,
];

fn note(number: i32) -> v2::NoteData {
    v2::NoteData {
        id: format!("note {number}"),
        rank: number % 7,
        stars: (number % 5) as u8,
        tags: vec![format!("tag {number}")],
        ..v2::NoteData::default()
    }
}

fn write(workspace: &Workspace, numbers: std::ops::Range<i32>) {
    let written = workspace.perform_changes([v2::Note::TABLE], move |tx| {
        for number in numbers {
            tx.submit(v2::NoteChangeRequest::creation(note(number)))?;
        }
        Ok(())
    });
    written.wait().unwrap();
    workspace.dictionary().set("last", 1_i64).unwrap();
    workspace.dictionary().synchronize().unwrap();
}

/// A directory with a file `a.db`, left in this way.
fn make(left: Left) -> TempDir {
    let made = tempfile::tempdir().unwrap();
    let path = made.path().join("a.db");
    let workspace = Workspace::open(&path).unwrap();
    write(&workspace, 0..40);
    // Most objects are in the file, the others in the log.
    Connection::open(&path)
        .unwrap()
        .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
        .unwrap();
    write(&workspace, 40..60);
    let copies = match left {
        Left::LogAlone => &["a.db", "a.db-wal"][..],
        Left::LogAndIndex => &["a.db", "a.db-wal", "a.db-shm"],
        Left::HeaderAndIndex => {
            fs::copy(made.path().join("a.db-wal"), made.path().join("log")).unwrap();
            workspace.shutdown().unwrap();
            &["a.db", "log"]
        }
        Left::NoLog | Left::EmptyLog | Left::JunkAndIndex | Left::SpentJournal => {
            workspace.shutdown().unwrap();
            &["a.db"]
        }
        Left::RollbackJournal => {
            workspace.shutdown().unwrap();
            let connection = Connection::open(&path).unwrap();
            connection
                .query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))
                .unwrap();
            &["a.db"]
        }
    };
    let directory = tempfile::tempdir().unwrap();
    for name in copies {
        // Another process copies, because closing the file in this process would drop the
        // workspace's locks.
        let copied = Command::new("cp")
            .arg(made.path().join(name))
            .arg(directory.path().join(name))
            .status();
        assert!(copied.unwrap().success());
    }
    let leave = |name, bytes: &[u8]| fs::write(directory.path().join(name), bytes).unwrap();
    match left {
        Left::EmptyLog => leave("a.db-wal", &[]),
        Left::HeaderAndIndex => {
            let log = directory.path().join("log");
            leave("a.db-wal", &fs::read(&log).unwrap()[..32]);
            leave("a.db-shm", &[]);
            fs::remove_file(log).unwrap();
        }
        Left::JunkAndIndex => {
            leave("a.db-wal", &[7; 5000]);
            leave("a.db-shm", &[]);
        }
        Left::SpentJournal => leave("a.db-journal", &[0; 512]),
        _ => {}
    }
    directory
}

/// Names, times and contents of the files in a directory.
fn files(directory: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let content = fs::read(&path).unwrap();
        (path, (modified, content))
    });
    entries.collect()
}

/// The results of all reads, by code that is older and by code that is newer than the writer.
fn answers(workspace: &Workspace) -> String {
    let snapshot = workspace.snapshot().unwrap();
    let old = v1::Note::RANK.eq(3);
    let old = snapshot.fetch::<v1::Note>().filter(old).all().unwrap();
    let old: Vec<String> = old.iter().map(|note| note.id().to_owned()).collect();
    let same = workspace.fetch::<v2::Note>().filter(v2::Note::STARS.gt(2));
    let same = same
        .order_by(v2::Note::RANK.descending())
        .limit(7)
        .all()
        .unwrap();
    let same: Vec<String> = same.iter().map(|note| note.id().to_owned()).collect();
    let new = workspace.fetch::<v3::Note>().filter(v3::Note::STARS.eq(4));
    let new = new.all().unwrap().len();
    let counted = workspace.fetch::<v2::Note>().count().unwrap();
    let by_key = workspace.get::<v2::Note>("note 59").unwrap();
    let tags: Vec<String> = by_key
        .iter()
        .flat_map(|note| note.tags())
        .map(str::to_owned)
        .collect();
    let kept: Option<i64> = workspace.dictionary().get("last").unwrap();
    format!("{old:?} {same:?} {new} {counted} {tags:?} {kept:?}")
}

fn expected() -> String {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path().join("a.db")).unwrap();
    write(&workspace, 0..60);
    answers(&workspace)
}

fn refuses_to_write(workspace: &Workspace) {
    let refused = workspace.perform_changes([v2::Note::TABLE], |tx| {
        tx.submit(v2::NoteChangeRequest::creation(note(100)))
    });
    let error = refused.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
    assert!(error.to_string().contains("a.db"), "{error}");
}

fn refuses_to_set(workspace: &Workspace) {
    let d = workspace.dictionary();
    let last = d.get::<i64>("last").unwrap();
    let refused = [
        d.set("last", 7_i64),
        d.set("new", 7_i64),
        d.remove("last"),
        d.update("last", |_: Option<i64>| Some(7)).map(drop),
        d.remove_all(),
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
    }
    let values = ["last", "new"].map(|key| d.get::<i64>(key).unwrap());
    assert_eq!(values, [last, None]);
    d.synchronize().unwrap();
}

#[test]
fn file_opened_read_only_is_not_written() {
    let expected = expected();
    for left in ALL {
        let directory = make(left);
        let before = files(directory.path());
        let path = directory.path().join("a.db");
        let workspace = Workspace::builder(&path).read_only(true).open().unwrap();
        assert_eq!(answers(&workspace), expected, "{left:?}");
        refuses_to_write(&workspace);
        refuses_to_set(&workspace);
        assert_eq!(answers(&workspace), expected, "{left:?}");
        workspace.settle().unwrap();
        workspace.shutdown().unwrap();
        assert!(
            files(directory.path()) == before,
            "{left:?}: something was written"
        );
    }
}

/// The variable that is set for the process that writes.
const PATH: &str = "DFLAT_READ_ONLY_PATH";
const SQL: &str = "DFLAT_READ_ONLY_SQL";

#[test]
fn missing_file_is_opened_read_only_if_that_is_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let builder = || Workspace::builder(&path).read_only(true);
    let error = builder().open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("a.db"), "{error}");
    let workspace = builder().allow_missing(true).open().unwrap();
    assert_eq!(workspace.fetch::<v2::Note>().count().unwrap(), 0);
    // A file that is open in this process is missing all the same.
    assert_eq!(builder().open().unwrap_err().kind(), ErrorKind::NotFound);
    refuses_to_write(&workspace);
    refuses_to_set(&workspace);
    workspace.shutdown().unwrap();
    assert!(!path.exists());
    // The option concerns files that are only read.
    let written = Workspace::builder(&path).open().unwrap();
    write(&written, 0..1);
    assert_eq!(written.fetch::<v2::Note>().count().unwrap(), 1);
}

#[test]
fn commits_of_another_process_are_seen_read_only() {
    if let (Ok(path), Ok(sql)) = (env::var(PATH), env::var(SQL)) {
        let connection = Connection::open(path).unwrap();
        return connection.execute_batch(&sql).unwrap();
    }
    for left in ALL {
        let directory = make(left);
        let path = directory.path().join("a.db");
        let workspace = Workspace::builder(&path).read_only(true).open().unwrap();
        let count = || workspace.fetch::<v2::Note>().count().unwrap();
        assert_eq!(count(), 60, "{left:?}");
        // A reader that holds a lock would block the other process.
        let held = (left != Left::RollbackJournal).then(|| workspace.snapshot().unwrap());
        for expected in (0..60).rev().step_by(13) {
            let table = &v2::Note::TABLE.name;
            let sql = format!("DELETE FROM {table} WHERE rowid > {expected}");
            let written = Command::new(env::current_exe().unwrap())
                .args([
                    "--exact",
                    "files::read_only::commits_of_another_process_are_seen_read_only",
                ])
                .env(PATH, &path)
                .env(SQL, sql)
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&written.stdout);
            assert!(written.status.success(), "{left:?}: {text}");
            assert_eq!(count(), expected, "{left:?}");
        }
        // A read without shared memory never mixes its state with later writes.
        let counted = held.map(|held| held.fetch::<v2::Note>().count());
        match counted.map(|counted| counted.map_err(|error| error.kind())) {
            None => {}
            Some(Ok(count)) => assert_eq!((left, count), (Left::LogAndIndex, 60)),
            Some(Err(kind)) => assert_eq!(kind, ErrorKind::Busy, "{left:?}"),
        }
    }
}

/// The variable that is set for the process that may not write.
const DIRECTORY: &str = "DFLAT_READ_ONLY_DIRECTORY";
const EXPECTED: &str = "DFLAT_READ_ONLY_EXPECTED";

#[test]
fn file_without_write_permission_is_read() {
    if let (Ok(directory), Ok(expected)) = (env::var(DIRECTORY), env::var(EXPECTED)) {
        return read_without_permission(Path::new(&directory), &expected);
    }
    let expected = expected();
    // The program is copied to a folder where every user may run it.
    let programs = tempfile::tempdir().unwrap();
    let program = programs.path().join("read_only");
    fs::copy(env::current_exe().unwrap(), &program).unwrap();
    let set_mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(programs.path(), 0o755);
    for left in ALL {
        let directory = make(left);
        let before = files(directory.path());
        before.keys().for_each(|path| set_mode(path, 0o444));
        set_mode(directory.path(), 0o555);
        let trace = programs.path().join("trace");
        let traced = traced(&program, &trace);
        let is_traced = traced.is_some();
        let mut child = traced.unwrap_or_else(|| Command::new(&program));
        child
            .args([
                "--exact",
                "files::read_only::file_without_write_permission_is_read",
            ])
            .env(DIRECTORY, directory.path())
            .env(EXPECTED, &expected);
        // File modes do not restrict root.
        let probe = directory.path().join("probe");
        if fs::write(&probe, []).is_ok() {
            fs::remove_file(&probe).unwrap();
            const NOBODY: u32 = 65_534;
            set_mode(programs.path(), 0o777);
            child.uid(NOBODY).gid(NOBODY);
        }
        let outcome = child.output().unwrap();
        let text = String::from_utf8_lossy(&outcome.stdout);
        assert!(outcome.status.success(), "{left:?}: {text}");
        assert!(text.contains("1 passed"), "{left:?}: {text}");
        set_mode(directory.path(), 0o755);
        before.keys().for_each(|path| set_mode(path, 0o644));
        assert!(
            files(directory.path()) == before,
            "{left:?}: something was written"
        );
        if is_traced {
            check_calls(directory.path(), &fs::read_to_string(&trace).unwrap());
            fs::remove_file(&trace).unwrap();
        }
    }
}

fn read_without_permission(directory: &Path, expected: &str) {
    let path = directory.join("a.db");
    for read_only in [true, false] {
        let workspace = Workspace::builder(&path)
            .read_only(read_only)
            .open()
            .unwrap();
        assert_eq!(
            answers(&workspace),
            expected,
            "read only by option: {read_only}"
        );
        refuses_to_write(&workspace);
        assert_eq!(
            answers(&workspace),
            expected,
            "read only by option: {read_only}"
        );
        workspace.shutdown().unwrap();
    }
}

/// Whether none of the calls changed a file of a directory.
fn check_calls(directory: &Path, calls: &str) {
    let directory = directory.to_str().unwrap();
    let calls = whole_calls(calls);
    let about: Vec<&String> = calls
        .iter()
        .filter(|call| call.contains(directory))
        .collect();
    assert!(
        about.iter().any(|call| call.contains("pread64(")),
        "nothing was read"
    );
    const CHANGES: [&str; 12] = [
        "write(",
        "pwrite64(",
        "writev(",
        "truncate(",
        "fallocate(",
        "unlink",
        "rename",
        "link",
        "mkdir",
        "chmod",
        "utime",
        "O_TRUNC",
    ];
    let is_success = |call: &&&String| !call.contains(" = -1 ");
    let changed = about.iter().filter(is_success).find(|call| {
        CHANGES.iter().any(|change| call.contains(change)) || call.contains("O_CREAT")
    });
    assert_eq!(changed, None);
}
