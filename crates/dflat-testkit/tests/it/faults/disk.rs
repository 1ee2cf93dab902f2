//! File systems that are full, have a file in the way, or allow unusual names.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use dflat::{ErrorKind, FileProtection, Workspace};
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};

fn put(workspace: &Workspace, id: i32, length: usize) -> dflat::Result<()> {
    let done = workspace.perform_changes([Other::TABLE], move |tx| {
        let note = Some("x".repeat(length));
        tx.submit(OtherChangeRequest::upsert(OtherData { id, note }))
            .map(drop)
    });
    done.wait()
}

/// A small file system, which is unmounted when this is dropped.
pub(crate) struct Small(PathBuf);

impl Small {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn mount(at: &Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs"]);
        let done = mount.arg(at).output().ok()?;
        done.status.success().then(|| Self(at.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}

fn names_in(directory: &Path) -> Vec<std::ffi::OsString> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

/// The test harness does not capture this output.
fn print(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

// Promise: durability#D25
#[test]
fn full_disk_loses_no_commit() {
    let directory = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(directory.path()) else {
        print("skipped: full_disk_loses_no_commit, as nothing can be mounted here");
        return;
    };
    let path = small.0.join("full.db");
    let filler = small.0.join("filler");
    fs::write(&filler, vec![0; 1 << 20]).unwrap();
    let workspace = Workspace::open(&path).unwrap();
    let mut stored = 0;
    let error = loop {
        match put(&workspace, stored, 20_000) {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 1000, "the disk does not get full");
    };
    assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
    assert!(stored > 10);
    for _ in 0..3 {
        assert!(put(&workspace, stored, 100_000).is_err());
        assert_eq!(
            workspace.fetch::<Other>().all().unwrap().len(),
            stored as usize
        );
    }
    // Neither a backup nor a salvage fits, and no file of them is left.
    let before = names_in(&small.0);
    let copied = workspace.backup(small.0.join("copy.db")).unwrap_err();
    assert_eq!(copied.kind(), ErrorKind::StorageFull, "{copied}");
    let saved = Workspace::salvage(&path, small.0.join("saved.db"), [Other::TABLE]).unwrap_err();
    assert_eq!(saved.kind(), ErrorKind::StorageFull, "{saved}");
    assert_eq!(names_in(&small.0), before);
    fs::remove_file(&filler).unwrap();
    put(&workspace, stored, 20_000).unwrap();
    let report = workspace.check([Other::TABLE]).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
    assert_eq!(report.rows, stored as u64 + 1);
    workspace.shutdown().unwrap();
    let workspace = Workspace::open(&path).unwrap();
    assert_eq!(
        workspace.fetch::<Other>().all().unwrap().len(),
        stored as usize + 1
    );
    workspace.shutdown().unwrap();
}

/// The rows are written to the log first, and then moved into the file: with more and more space,
/// the salvage fails while it writes, then while it moves them, and then succeeds.
// Promise: durability#D83
#[test]
fn salvage_leaves_one_whole_file_or_none_on_a_full_disk() {
    let directory = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(directory.path()) else {
        print("skipped: salvage_leaves_one_whole_file_or_none_on_a_full_disk");
        return;
    };
    let elsewhere = tempfile::tempdir().unwrap();
    let (path, alone) = (elsewhere.path().join("a.db"), elsewhere.path().join("b.db"));
    let workspace = Workspace::open(&path).unwrap();
    for id in 0..10 {
        put(&workspace, id, 90_000).unwrap();
    }
    workspace.shutdown().unwrap();
    let (saved, filler) = (small.0.join("saved.db"), small.0.join("filler"));
    let (mut failed, mut succeeded) = (0, 0);
    for free in (64 << 10..3 << 20).step_by(64 << 10) {
        fs::write(&filler, vec![0; (3 << 20) - free]).unwrap();
        match Workspace::salvage(&path, &saved, [Other::TABLE]) {
            Ok(report) => {
                assert_eq!((report.saved, report.lost), (10, 0));
                assert_eq!(names_in(&small.0), ["filler", "saved.db"]);
                fs::copy(&saved, &alone).unwrap();
                fs::remove_file(&saved).unwrap();
                let workspace = Workspace::open(&alone).unwrap();
                assert_eq!(workspace.fetch::<Other>().all().unwrap().len(), 10);
                workspace.shutdown().unwrap();
                succeeded += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
                assert_eq!(names_in(&small.0), ["filler"], "{free} bytes: {error}");
                failed += 1;
            }
        }
        fs::remove_file(&filler).unwrap();
    }
    assert!(failed > 10 && succeeded > 10, "{failed} and {succeeded}");
}

// Promise: durability#D92
#[test]
#[cfg(unix)]
fn path_that_is_too_long_is_refused_before_anything_is_created() {
    let top = tempfile::tempdir().unwrap();
    let folder = fs::canonicalize(top.path()).unwrap();
    // A path of so many bytes, whose last part has 100.
    let path_of = |bytes: usize| {
        let mut path = folder.clone();
        while path.as_os_str().len() + 202 < bytes {
            path.push("d".repeat(100));
        }
        path.push("d".repeat(bytes - path.as_os_str().len() - 102));
        fs::create_dir_all(&path).unwrap();
        path.push("f".repeat(100));
        assert_eq!(path.as_os_str().len(), bytes);
        path
    };
    let refused = |outcome: dflat::Result<()>, longest: &str| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains(longest), "{error}");
    };
    for (usable, unusable, longest) in [
        (path_of(504), path_of(505), "505 bytes, and at most 504"),
        (
            folder.join("n".repeat(247)),
            folder.join("n".repeat(248)),
            "248 bytes, and at most 247",
        ),
    ] {
        refused(Workspace::open(&unusable).map(drop), longest);
        assert!(!unusable.exists());
        let workspace = Workspace::open(&usable).unwrap();
        put(&workspace, 1, 10).unwrap();
        workspace.shutdown().unwrap();
    }
    let workspace = Workspace::open(folder.join("a.db")).unwrap();
    put(&workspace, 1, 10).unwrap();
    for (usable, unusable, longest) in [
        (path_of(476), path_of(477), "477 bytes, and at most 476"),
        (
            folder.join("b".repeat(219)),
            folder.join("b".repeat(220)),
            "220 bytes, and at most 219",
        ),
    ] {
        refused(workspace.backup(&unusable), longest);
        workspace.backup(&usable).unwrap();
        assert!(usable.exists() && !unusable.exists());
    }
    workspace.shutdown().unwrap();
}

// Promise: durability#D27
#[test]
fn files_may_have_unusual_names() {
    let directory = tempfile::tempdir().unwrap();
    let long = "l".repeat(200);
    let names = [
        "a b",
        "a'b",
        "a\"b",
        "a%41b",
        "a?mode=memory",
        "a#b",
        "file:a",
        ":memory:",
        "\u{e9}\u{1F4BE}",
        "-wal",
        ".hidden",
        "a;b",
        "a\\b",
        "\t",
        &long,
    ];
    for (number, name) in names.iter().enumerate() {
        if cfg!(windows) && name.contains(['"', '?', ':', '\\', '\t']) {
            continue;
        }
        let path = directory.path().join(name);
        let workspace = Workspace::open(&path).unwrap();
        let id = i32::try_from(number).unwrap();
        put(&workspace, id, 10).unwrap();
        workspace.shutdown().unwrap();
        assert!(path.is_file(), "{name}");
        let workspace = Workspace::open(&path).unwrap();
        assert!(workspace.get::<Other>(id).unwrap().is_some(), "{name}");
        workspace.shutdown().unwrap();
    }
    // No file has another name, except the files that SQLite puts beside the database.
    for entry in fs::read_dir(directory.path()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_beside = |suffix| {
            name.strip_suffix(suffix)
                .is_some_and(|n| names.contains(&n))
        };
        let is_known = names.contains(&name.as_str()) || is_beside("-wal") || is_beside("-shm");
        assert!(is_known, "{name}");
    }
    let error = Workspace::open("a\0b").unwrap_err();
    assert!(error.to_string().contains("cannot open"), "{error}");
}

// Promise: durability#D26
#[test]
fn error_of_opening_names_the_obstacle() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("directory")).unwrap();
    let opened = Workspace::open(at("directory"));
    let error = opened
        .and_then(|workspace| put(&workspace, 1, 1))
        .unwrap_err();
    assert!(error.to_string().contains("directory"), "{error}");
    assert!(
        matches!(error.kind(), ErrorKind::Io | ErrorKind::ReadOnly),
        "{error:?}"
    );
    let error = Workspace::open(at("none/a.db")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    // A directory with the name of the log.
    fs::create_dir(at("b.db-wal")).unwrap();
    let workspace = Workspace::open(at("b.db")).unwrap();
    let error = put(&workspace, 1, 1).unwrap_err();
    assert!(error.to_string().contains("b.db"), "{error}");
    fs::remove_dir(at("b.db-wal")).unwrap();
    put(&workspace, 1, 1).unwrap();
    workspace.shutdown().unwrap();
}

// Promise: durability#D26
#[cfg(unix)]
#[test]
fn links_lead_to_the_file_or_are_an_error() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let workspace = Workspace::open(at("a.db")).unwrap();
    put(&workspace, 1, 1).unwrap();
    for name in ["a.db", "a.db-wal", "a.db-shm"] {
        let mode = fs::metadata(at(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    // The same file by another name is the same workspace.
    symlink(at("a.db"), at("link.db")).unwrap();
    let by_link = Workspace::open(at("link.db")).unwrap();
    put(&by_link, 2, 1).unwrap();
    assert_eq!(workspace.fetch::<Other>().all().unwrap().len(), 2);
    // A link without a target creates no file elsewhere.
    symlink(at("elsewhere.db"), at("nowhere.db")).unwrap();
    let opened = Workspace::open(at("nowhere.db"));
    let error = opened
        .and_then(|workspace| put(&workspace, 1, 1))
        .unwrap_err();
    assert!(error.to_string().contains("nowhere.db"), "{error}");
    assert!(!at("elsewhere.db").exists());
}

// Promise: compatibility#P52
#[test]
fn file_protection_has_every_level() {
    use FileProtection::{Complete, CompleteUnlessOpen, CompleteUntilFirstUserAuthentication};
    let directory = tempfile::tempdir().unwrap();
    let levels = [
        Complete,
        CompleteUnlessOpen,
        CompleteUntilFirstUserAuthentication,
        FileProtection::None,
    ];
    for level in levels {
        let path = directory.path().join(format!("{level:?}.db"));
        for id in [1, 2] {
            let builder = Workspace::builder(&path).file_protection(level);
            let workspace = builder.open().unwrap();
            put(&workspace, id, 1).unwrap();
            assert_eq!(workspace.fetch::<Other>().count().unwrap(), id as usize);
            workspace.shutdown().unwrap();
        }
    }
}

#[test]
fn salvage_overwrites_no_existing_file() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let workspace = Workspace::open(at("a.db")).unwrap();
    put(&workspace, 1, 1).unwrap();
    workspace.shutdown().unwrap();
    for name in ["b.db", "b.db-wal", "b.db-journal"] {
        fs::write(at(name), b"another's").unwrap();
        let error = Workspace::salvage(at("a.db"), at("b.db"), [Other::TABLE]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let message = error.to_string();
        assert!(
            message.ends_with(&format!("{name} exists already")),
            "{error}"
        );
        assert_eq!(fs::read(at(name)).unwrap(), b"another's");
        fs::remove_file(at(name)).unwrap();
    }
    Workspace::salvage(at("a.db"), at("b.db"), [Other::TABLE]).unwrap();
    let saved = Workspace::open(at("b.db")).unwrap();
    assert_eq!(saved.fetch::<Other>().count().unwrap(), 1);
}
