//! Completions of a command line, asked for as a shell does.

use std::path::Path;
use std::process::Command;

use crate::fixture::{PROGRAM, make_hostile, make_tasks, printed};

/// The words that complete the last of these, in the way of bash.
fn completed(words: &[&str], folder: &Path) -> Vec<String> {
    let mut command = Command::new(PROGRAM);
    command.arg("--").arg("dflat").args(words);
    command.current_dir(folder);
    command
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_IFS", "\n");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    // Notes about schemas would disturb the line that is typed.
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[test]
fn contents_of_the_file_complete_a_command_line() {
    let folder = tempfile::tempdir().unwrap();
    make_tasks(&folder.path().join("tasks.db"));
    printed(&["dict", "set", "tasks.db", "volume", "1"], folder.path());
    let check = |words: &[&str], expected: &[&str]| {
        assert_eq!(completed(words, folder.path()), expected, "{words:?}");
    };
    check(&["qu"], &["query"]);
    check(&["query", "tasks.db", "T"], &["Task"]);
    check(&["query", "tasks.db", "Work.L"], &["Work.List"]);
    check(&["export", "tasks.db", "Task", "L"], &["List"]);
    check(&["count", "tasks.db", "Task", "pri"], &["priority"]);
    check(
        &["count", "tasks.db", "Task", "done == false && spot."],
        &["done == false && spot.x", "done == false && spot.y"],
    );
    check(
        &["count", "tasks.db", "Task", "color == "],
        &["color == Red", "color == Green", "color == Blue"],
    );
    check(
        &["query", "tasks.db", "Task", "--order", "id, t"],
        &["id, title", "id, tags"],
    );
    check(&["query", "tasks.db", "Task", "--format", "js"], &["jsonl"]);
    check(
        &["get", "tasks.db", "Task", "1"],
        &["1", "18446744073709551615"],
    );
    check(&["get", "tasks.db", "List", "ann", "1"], &["1"]);
    check(&["get", "tasks.db", "List", "bob", "1"], &[]);
    check(
        &["set", "tasks.db", "Task", "1", "content."],
        &["content.Note=", "content.Link=", "content.Words="],
    );
    check(
        &["set", "tasks.db", "Task", "1", "done="],
        &["done=true", "done=false"],
    );
    check(&["dict", "get", "tasks.db", "v"], &["volume"]);
    check(&["get", "missing.db", "T"], &[]);
}

#[test]
fn names_of_a_hostile_file_complete_nothing_that_controls_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    make_hostile(&folder.path().join("hostile.db"));
    let words = [
        vec!["query", "hostile.db", "N"],
        vec!["query", "hostile.db", "names__evil", "co"],
        vec!["dict", "get", "hostile.db", "v"],
    ];
    for words in words {
        let found = completed(&words, folder.path());
        assert!(!found.concat().contains('\u{1b}'), "{words:?}: {found:?}");
    }
}

#[test]
fn text_of_a_file_completes_no_command_of_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(
        path.join("names.fbs"),
        "table Name (stored) { name: string (primary); }\n",
    )
    .unwrap();
    let names = [
        r#"{"name": "plain"}"#,
        r#"{"name": "p$(touch run)"}"#,
        r#"{"name": "p`touch run`"}"#,
        r#"{"name": "p; touch run"}"#,
        r#"{"name": "p'"}"#,
    ];
    let insert = ["insert", "names.db", "Name", "--schema", "names.fbs"];
    printed(&[&insert[..], &names[..]].concat(), path);
    printed(&["dict", "set", "names.db", "volume", "1"], path);
    printed(&["dict", "set", "names.db", "v|touch run", "1"], path);
    assert_eq!(
        completed(&["get", "names.db", "Name", "p"], path),
        ["plain"]
    );
    assert_eq!(
        completed(&["dict", "get", "names.db", "v"], path),
        ["volume"]
    );
}
