//! Colours, widths, questions, progress and Ctrl-C.

use std::fs;
use std::io::{BufWriter, Write};
use std::os::unix::process::ExitStatusExt;

use crate::fixture::{insert, make_tasks, open, printed, table};
use crate::terminal::{Terminal, can_run};

const CTRL_C: &str = "\u{3}";

#[test]
fn watch_shows_colours_cuts_to_the_width_and_ends_with_ctrl_c() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let workspace = open(&folder.path().join("tasks.db"));
    let task = table("Work.Task");
    let long = format!(r#"{{"id": 1, "title": "{}"}}"#, "long ".repeat(20));
    insert(&workspace, &task, &[long]);
    let watch = [
        "watch",
        "tasks.db",
        "Task",
        "--select",
        "id,title",
        "--order",
        "priority desc, id",
    ];
    let mut terminal = Terminal::start(&watch, folder.path(), 30);
    terminal.expect("id  title");
    let first = terminal.expect("…");
    let line = first.lines().last().unwrap();
    assert_eq!(line.chars().count(), 30, "{line:?}");
    insert(
        &workspace,
        &task,
        &[r#"{"id": 2, "title": "two"}"#.to_owned()],
    );
    let inserted = terminal.expect("two");
    assert!(inserted.contains("\u{1b}[32m+"), "{inserted:?}");
    printed(
        &["set", "tasks.db", "Task", "2", "title=zwei"],
        folder.path(),
    );
    let updated = terminal.expect("zwei");
    assert!(updated.contains("\u{1b}[33m~"), "{updated:?}");
    printed(&["delete", "tasks.db", "Task", "2", "--yes"], folder.path());
    let deleted = terminal.expect("zwei");
    assert!(deleted.contains("\u{1b}[31m-"), "{deleted:?}");
    terminal.type_in(CTRL_C);
    let (_, status) = terminal.end();
    assert!(
        status.signal() == Some(2) || status.code() == Some(130),
        "{status}"
    );
    workspace.shutdown_with(Default::default()).unwrap();
}

#[test]
fn questions_are_answered_in_a_terminal() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_tasks(&folder.path().join("tasks.db"));
    let delete = ["delete", "tasks.db", "Task", "1"];
    let count = || printed(&["count", "tasks.db", "Task"], folder.path());
    for (answer, shown, left) in [
        ("n\n", "0 deleted", "4\n"),
        ("\n", "0 deleted", "4\n"),
        ("maybe\n", "0 deleted", "4\n"),
        ("y\n", "1 deleted", "3\n"),
    ] {
        let mut terminal = Terminal::start(&delete, folder.path(), 80);
        terminal.expect("delete 1 object of Work.Task? [y/N] ");
        terminal.type_in(answer);
        terminal.expect(shown);
        let (_, status) = terminal.end();
        assert_eq!(status.code(), Some(0));
        assert_eq!(count(), left);
    }
    for command in ["compact", "purge"] {
        let mut terminal = Terminal::start(&[command, "tasks.db"], folder.path(), 80);
        terminal.expect("? [y/N] ");
        terminal.type_in("n\n");
        let (rest, status) = terminal.end();
        assert!(!rest.contains("pages"), "{rest}");
        assert_eq!(status.code(), Some(0));
    }
}

#[test]
fn progress_is_shown_in_a_terminal_only() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_tasks(&folder.path().join("tasks.db"));
    let lines = fs::File::create(folder.path().join("more.jsonl")).unwrap();
    let mut lines = BufWriter::new(lines);
    for id in 100..20_100 {
        writeln!(lines, r#"{{"id": {id}}}"#).unwrap();
    }
    lines.flush().unwrap();
    let import = [
        "import",
        "tasks.db",
        "Task",
        "--from",
        "more.jsonl",
        "--batch",
        "100",
    ];
    let mut terminal = Terminal::start(&import, folder.path(), 80);
    // A bar with the bytes, the rate and the time left.
    terminal.expect("/s, ");
    terminal.expect(" left");
    terminal.expect("20000 inserted");
    terminal.end();
    let mut terminal = Terminal::start(&["compact", "tasks.db", "--yes"], folder.path(), 80);
    terminal.expect("writing the file anew, ");
    terminal.expect("pages after");
    terminal.end();
    let again = [&import[..], &["--on-conflict", "skip"]].concat();
    let output = crate::fixture::dflat(&again, folder.path());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.stdout, b"20000 skipped\n");
}
