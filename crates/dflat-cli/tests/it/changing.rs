//! Changes with odd arguments, and commands on files that do not exist.

use std::fs;
use std::path::Path;

use crate::fixture::{dflat, make_tasks, printed};

const SCHEMA: &str = r#"
table Note { text: string; inner: Note; }
union Content { Note, Words: string }
table Page {
  id: int (primary);
  note: Note;
  parts: [Content];
  tags: [string];
  done: bool;
}
table Ticket (stored) { id: string (primary, auto: "uuid_v7"); text: string; }
root_type Page;
"#;

/// The exit code and the error of a command.
fn failed(arguments: &[&str], folder: &Path) -> (Option<i32>, String) {
    let output = dflat(arguments, folder);
    let error = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), error)
}

/// A folder with a schema, and a page in `pages.db`.
fn pages() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pages.fbs"), SCHEMA).unwrap();
    let page = r#"{"id":1,"parts_type":["Words"],"parts":["a"]}"#;
    let insert = ["insert", "pages.db", "Page", "--schema", "pages.fbs", page];
    printed(&insert, folder.path());
    folder
}

#[test]
fn path_of_an_assignment_has_a_limit() {
    let folder = pages();
    let path = format!("note{}.text=x", ".inner".repeat(20_000));
    let (code, error) = failed(&["set", "pages.db", "Page", "1", &path], folder.path());
    assert_eq!(code, Some(2));
    assert!(error.contains("at most 128 names"), "{error}");
    let path = format!("note{}.text=x", ".inner".repeat(60));
    printed(&["set", "pages.db", "Page", "1", &path], folder.path());
}

#[test]
fn vector_of_unions_is_set_with_its_types() {
    let folder = pages();
    let set = |assignments: &[&str]| {
        let arguments = [&["set", "pages.db", "Page", "1"], assignments].concat();
        printed(&arguments, folder.path());
        printed(&["get", "pages.db", "Page", "1", "--json"], folder.path())
    };
    let parts = r#"parts=["b",{"text":"n"}]"#;
    assert_eq!(
        set(&[r#"parts_type=["Words","Note"]"#, parts]),
        "{\"id\":1,\"parts_type\":[\"Words\",\"Note\"],\"parts\":[\"b\",{\"text\":\"n\"}]}\n"
    );
    assert_eq!(set(&["parts_type=null"]), "{\"id\":1}\n");
}

#[test]
fn absent_vector_is_no_difference_to_an_empty_one() {
    let folder = pages();
    for (file, page) in [
        ("one.db", r#"{"id":1,"tags":[]}"#),
        ("two.db", r#"{"id":1}"#),
    ] {
        printed(
            &["insert", file, "Page", "--schema", "pages.fbs", page],
            folder.path(),
        );
    }
    assert_eq!(
        dflat(&["diff", "one.db", "two.db"], folder.path())
            .status
            .code(),
        Some(0)
    );
    printed(&["set", "two.db", "Page", "1", "done=true"], folder.path());
    let differences = dflat(&["diff", "one.db", "two.db"], folder.path());
    assert_eq!(differences.status.code(), Some(1));
    let differences = String::from_utf8(differences.stdout).unwrap();
    assert!(!differences.contains("tags"), "{differences}");
}

#[test]
fn keys_that_are_uuids_are_assigned() {
    let folder = pages();
    let insert = ["insert", "pages.db", "Ticket", "--schema", "pages.fbs"];
    let insert = [&insert[..], &[r#"[{"text":"a"},{"text":"b"}]"#]].concat();
    printed(&insert, folder.path());
    let tickets = ["query", "pages.db", "Ticket", "--select", "id"];
    let tickets = printed(&[&tickets[..], &["--json"]].concat(), folder.path());
    assert_eq!(tickets.lines().count(), 2);
    assert!(
        tickets
            .lines()
            .all(|line| line.len() == "{\"id\":\"\"}".len() + 36),
        "{tickets}"
    );
}

#[test]
fn command_that_changes_an_existing_file_creates_none() {
    let folder = pages();
    make_tasks(&folder.path().join("tasks.db"));
    for arguments in [
        &["undo", "none.db"][..],
        &["undo", "none.db", "3"],
        &["commit", "none.db", "first"],
        &["branch", "none.db", "draft"],
        &["merge", "none.db", "draft"],
        &["sync", "none.db", "no other.db"],
        &["forget", "none.db", "Page", "1", "--yes"],
        &[
            "set",
            "none.db",
            "Page",
            "1",
            "done=true",
            "--schema",
            "pages.fbs",
        ],
        &["delete", "none.db", "Page", "1", "--schema", "pages.fbs"],
        &["dict", "remove", "none.db", "a", "--yes"],
        &["compact", "none.db"],
    ] {
        let (code, error) = failed(arguments, folder.path());
        assert_eq!(code, Some(3), "{arguments:?}: {error}");
        assert!(error.contains("no such file"), "{arguments:?}: {error}");
        assert!(!folder.path().join("none.db").exists(), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_printed_is_an_error() {
    use std::process::{Command, Stdio};

    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut help = Command::new(crate::fixture::PROGRAM);
    let help = help.arg("--help").stdout(full).stderr(Stdio::piped());
    assert_eq!(help.output().unwrap().status.code(), Some(3));
}
