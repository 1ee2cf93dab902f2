//! Files in use, files that must not change, and readers that go away.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::fixture::{PROGRAM, copy_of_original, dflat, insert, make_tasks, open, printed, table};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_in_use_shows_what_is_committed() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = open(&folder.path().join("tasks.db"));
    let task = table("Work.Task");
    insert(&workspace, &task, &[r#"{"id": 1}"#.to_owned()]);
    let count = || printed(&["count", "tasks.db", "Task"], folder.path());
    assert_eq!(count(), "1\n");
    insert(&workspace, &task, &[r#"{"id": 2}"#.to_owned()]);
    assert_eq!(count(), "2\n");
    workspace.shutdown_with(Default::default()).unwrap();
}

/// Whether this process may do anything, so that permissions do not stop it.
fn is_root(folder: &Path) -> bool {
    fs::metadata(folder).unwrap().uid() == 0
}

/// The standard output of a run, as a user who may not write if this process is root's. A file
/// that such a user cannot create shows that the permissions hold.
fn as_nobody(arguments: &[&str], folder: &Path) -> String {
    const NOBODY: u32 = 65_534;
    let mut program = Command::new(PROGRAM);
    let mut touch = Command::new("touch");
    if is_root(folder) {
        // The folders above the program may be closed to this user.
        let copy = folder.parent().unwrap().join("program");
        if !copy.exists() {
            fs::copy(PROGRAM, &copy).unwrap();
        }
        program = Command::new(copy);
        program.uid(NOBODY).gid(NOBODY);
        touch.uid(NOBODY).gid(NOBODY);
    }
    touch.arg(folder.join("new")).stderr(Stdio::null());
    assert!(
        !touch.status().unwrap().success(),
        "the folder can be written"
    );
    let output = program
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn reading_changes_no_file() {
    let outer = tempfile::tempdir().unwrap();
    fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let folder = outer.path().join("medium");
    fs::create_dir(&folder).unwrap();
    let path = |name: &str| folder.join(name);
    make_tasks(&path("tasks.db"));
    for name in ["unclean.db", "unclean.db-wal"] {
        copy_of_original(&format!("unclean/{name}"), &path(name));
    }
    let before: Vec<Vec<u8>> = names(folder.as_path())
        .iter()
        .map(|name| fs::read(path(name)).unwrap())
        .collect();
    let listed = names(folder.as_path());
    for name in &listed {
        let readable = fs::Permissions::from_mode(0o444);
        fs::set_permissions(path(name), readable).unwrap();
    }
    fs::set_permissions(folder.as_path(), fs::Permissions::from_mode(0o555)).unwrap();
    let printed = |arguments: &[&str]| as_nobody(arguments, &folder);
    for command in ["info", "types", "schema", "stats", "check"] {
        printed(&[command, "tasks.db"]);
    }
    printed(&["query", "tasks.db", "Task", "--order", "title"]);
    printed(&["export", "tasks.db"]);
    printed(&["dict", "keys", "tasks.db"]);
    printed(&["info", "unclean.db"]);
    assert_eq!(printed(&["count", "unclean.db", "benchdoc"]), "300\n");
    fs::set_permissions(folder.as_path(), fs::Permissions::from_mode(0o755)).unwrap();
    let after = names(folder.as_path());
    // SQLite keeps an index of the log beside the file if it may write there.
    let kept: Vec<String> = after
        .into_iter()
        .filter(|name| !name.ends_with("-shm"))
        .collect();
    assert_eq!(kept, listed);
    for (name, before) in listed.iter().zip(before) {
        assert_eq!(fs::read(path(name)).unwrap(), before, "{name}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = open(&folder.path().join("tasks.db"));
    let title = "long ".repeat(100);
    let tasks: Vec<String> = (0..2000)
        .map(|id| format!(r#"{{"id": {id}, "title": "{title}"}}"#))
        .collect();
    insert(&workspace, &table("Work.Task"), &tasks);
    workspace.shutdown_with(Default::default()).unwrap();
    for format in ["table", "jsonl", "csv"] {
        let mut command = Command::new(PROGRAM);
        command.args(["query", "tasks.db", "Task", "--format", format]);
        command.current_dir(folder.path());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        reader.read_line(&mut line).unwrap();
        drop(reader);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{format}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{format}");
    }
}

#[test]
fn output_that_is_no_terminal_has_no_colours() {
    let folder = tempfile::tempdir().unwrap();
    make_tasks(&folder.path().join("tasks.db"));
    let run = |set: &[(&str, &str)], last: &str| {
        let mut command = Command::new(PROGRAM);
        command
            .args(["query", "tasks.db", last])
            .current_dir(folder.path());
        command.env_remove("NO_COLOR").envs(set.iter().copied());
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    };
    for last in ["Task", "Tsak"] {
        assert!(!run(&[], last).contains('\u{1b}'));
        assert!(run(&[("CLICOLOR_FORCE", "1")], last).contains('\u{1b}'));
        let both = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")];
        assert!(!run(&both, last).contains('\u{1b}'), "{last}");
    }
}

#[test]
fn every_object_is_in_the_order_of_a_query_without_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = open(&folder.path().join("tasks.db"));
    let tasks: Vec<String> = (0..1000)
        .map(|id| format!(r#"{{"id": {id}, "title": "{:04}"}}"#, (id * 7) % 1000))
        .collect();
    insert(&workspace, &table("Work.Task"), &tasks);
    workspace.shutdown_with(Default::default()).unwrap();
    let query = [
        "query",
        "tasks.db",
        "Task",
        "--order",
        "title desc",
        "--select",
        "title",
    ];
    let csv = printed(&[&query[..], &["--format", "csv"]].concat(), folder.path());
    let titles: Vec<&str> = csv.lines().skip(1).collect();
    let expected: Vec<String> = (0..1000).rev().map(|n| format!("{n:04}")).collect();
    assert_eq!(titles, expected);
    let output = dflat(
        &[&query[..], &["--offset", "998", "--json"]].concat(),
        folder.path(),
    );
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "{\"title\":\"0001\"}\n{\"title\":\"0000\"}\n"
    );
}
