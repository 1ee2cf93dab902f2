//! Messages of errors: each names the operation, the file or the type, and the cause, once.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use dflat::{Dictionary, Error, ErrorKind, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, Other};

use crate::writing::groups::{insert, insert_other};

/// Where the program with a limited file size finds its file.
const PATH: &str = "DFLAT_FILE_SIZE_PATH";

/// The error of opening a file, or of the first write.
fn error_of(path: &Path) -> Error {
    let workspace = match Workspace::open(path) {
        Ok(workspace) => workspace,
        Err(error) => return error,
    };
    workspace
        .perform_changes_blocking([Item::TABLE], |tx| insert(tx, "a"))
        .unwrap_err()
}

/// Fails unless the message has all these texts, and no operation twice.
fn check(error: &Error, kind: ErrorKind, texts: &[&str]) {
    let message = error.to_string();
    assert_eq!(error.kind(), kind, "{message}");
    for text in texts {
        assert!(message.contains(text), "{text}: {message}");
    }
    let parts: Vec<&str> = message.split(": ").collect();
    for (position, part) in parts.iter().enumerate() {
        assert!(!parts[..position].contains(part), "{part} twice: {message}");
    }
}

#[test]
fn errors_of_opening_show_the_reason_of_the_system() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("folder")).unwrap();
    check(
        &error_of(&at("folder")),
        ErrorKind::Io,
        &["folder", "directory"],
    );
    let long = "n".repeat(300);
    check(
        &error_of(&at(&long)),
        ErrorKind::InvalidArgument,
        &[&long, "300 bytes, and at most 247"],
    );
    check(
        &error_of(&at("nowhere/a.db")),
        ErrorKind::Io,
        &["a.db", "No such file or directory"],
    );
    symlink(at("gone/away.db"), at("link")).unwrap();
    check(
        &error_of(&at("link")),
        ErrorKind::Io,
        &["link", "No such file or directory"],
    );
    fs::write(
        at("text"),
        "not a database, but a text of some length ".repeat(99),
    )
    .unwrap();
    let error = Workspace::open(at("text")).unwrap_err();
    check(
        &error,
        ErrorKind::NotADatabase,
        &["cannot open", "text", "not a database"],
    );
}

#[test]
fn error_of_a_locked_file_shows_the_text_and_the_code_of_sqlite() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let builder = Workspace::builder(&path);
        let workspace = builder
            .busy_timeout(std::time::Duration::ZERO)
            .open()
            .unwrap();
        let write = |id| workspace.perform_changes_blocking([Item::TABLE], |tx| insert(tx, id));
        write("a").unwrap();
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let error = write("b").unwrap_err();
        check(
            &error,
            ErrorKind::Busy,
            &["Item", "database is locked", "SQLite code 5"],
        );
    });
}

#[test]
fn error_of_an_undeclared_type_names_what_to_declare() {
    let workspace = Workspace::in_memory();
    let (set, inserted) = workspace
        .perform_changes_blocking([Item::TABLE], |tx| {
            let set = tx.dictionary().set("n", 1_i64).unwrap_err();
            Ok((set, insert_other(tx, 1).unwrap_err()))
        })
        .unwrap();
    check(&set, ErrorKind::UndeclaredType, &["Dictionary::TABLE"]);
    assert!(!set.to_string().contains("DictItem"), "{set}");
    check(&inserted, ErrorKind::UndeclaredType, &["Other::TABLE"]);
    workspace
        .perform_changes_blocking([Item::TABLE, Dictionary::TABLE, Other::TABLE], |tx| {
            tx.dictionary().set("n", 1_i64)?;
            insert_other(tx, 1)
        })
        .unwrap();
}

#[test]
fn error_of_a_transaction_that_was_lost_shows_the_first_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    drop(fs::File::create(&path).unwrap());
    let workspace = Workspace::builder(&path).read_only(true).open().unwrap();
    let handle = workspace.perform_changes([Item::TABLE], |tx| {
        let first = insert(tx, "a").unwrap_err();
        Ok((first, insert(tx, "b").unwrap_err()))
    });
    let error = handle.wait().unwrap_err();
    check(
        &error,
        ErrorKind::ReadOnly,
        &["cannot write Item", "a.db", "opened read-only"],
    );
    let seen = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        insert(tx, "a").unwrap_err();
        Err::<(), _>(Error::user(insert(tx, "b").unwrap_err()))
    });
    check(
        &seen.unwrap_err(),
        ErrorKind::ReadOnly,
        &["cannot write Item"],
    );
}

/// Not a test by itself: the program of the test below, whose files may not grow beyond a limit.
#[test]
fn a_program_with_a_limited_file_size() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let workspace = Workspace::open(path).unwrap();
    let text = "n".repeat(10_000);
    let id = |n: usize| format!("{n} {text}");
    // All pages of this transaction fit into memory, so its commit meets the limit.
    let large = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        (0..100).try_for_each(|n| insert(tx, &id(n)).map(drop))
    });
    check(
        &large.unwrap_err(),
        ErrorKind::StorageFull,
        &["cannot commit", "size limit", "File too large"],
    );
    let error = (0..1000)
        .find_map(|n| {
            let id = id(n);
            let written = workspace.perform_changes_blocking([Item::TABLE], |tx| insert(tx, &id));
            written.err()
        })
        .expect("the limit is met");
    check(
        &error,
        ErrorKind::StorageFull,
        &["cannot commit", "size limit", "File too large"],
    );
    // Readers go on.
    workspace.fetch::<Item>().count().unwrap();
}

#[test]
fn file_size_limit_is_storage_full() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let name = "files::messages::a_program_with_a_limited_file_size";
        // Without the trap, the signal of the limit would end the program.
        let script = "trap '' XFSZ; ulimit -f 2000; exec \"$0\" --exact \"$1\" --nocapture";
        let status = Command::new("sh")
            .args(["-c", script])
            .arg(std::env::current_exe().unwrap())
            .arg(name)
            .env(PATH, directory.path().join("a.db"))
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success());
    });
}
