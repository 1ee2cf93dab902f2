//! The shell, in a terminal and with a script.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::fixture::{PROGRAM, insert, make_tasks, open, printed, table};
use crate::terminal::{Terminal, can_run};

const PROMPT: &str = "tasks.db> ";
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

#[test]
fn commands_are_completed_run_and_kept_in_the_history() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_tasks(&folder.path().join("tasks.db"));
    let mut terminal = Terminal::start(&["shell", "tasks.db"], folder.path(), 100);
    terminal.expect(PROMPT);
    // A command, a type, a field and the value of an enum.
    terminal.type_in("cou\tTas\t'colo\t == Bl\t'\r");
    terminal.expect("\r\n1\r\n");
    terminal.expect(PROMPT);
    // A key.
    terminal.type_in("get Task 1844\t --json\r");
    terminal.expect(r#"{"id":18446744073709551615"#);
    terminal.expect(PROMPT);
    // Several values are listed.
    terminal.type_in("set Task 2 color=\t\t");
    terminal.expect("Blue");
    terminal.type_in("\u{15}set Task 2 color=Gre\t done=fal\t\r");
    terminal.expect("1 updated");
    terminal.expect(PROMPT);
    terminal.type_in("query Tsk\r");
    terminal.expect("did you mean `Task`?");
    terminal.expect(PROMPT);
    // A line with an open quote continues.
    terminal.type_in("count Task 'color == Green\r&& done == false'\r");
    terminal.expect("\r\n3\r\n");
    terminal.expect(PROMPT);
    terminal.type_in(".hel\t\r");
    terminal.expect("ends the shell");
    terminal.expect("Counts the objects");
    terminal.expect(PROMPT);
    terminal.type_in("delete Task 2\r");
    terminal.expect("? [y/N] ");
    terminal.type_in("y\r");
    terminal.expect("1 deleted");
    terminal.expect(PROMPT);
    terminal.type_in(CTRL_D);
    let (_, status) = terminal.end();
    assert_eq!(status.code(), Some(0));
    let history = fs::read_to_string(folder.path().join("history")).unwrap();
    assert!(history.contains("delete Task 2"), "{history}");
    assert!(history.contains("count Task 'color == Blue'"), "{history}");

    // The next shell has the lines of this one.
    let mut terminal = Terminal::start(&["shell", "tasks.db"], folder.path(), 100);
    terminal.expect(PROMPT);
    terminal.type_in("\u{1b}[A");
    terminal.expect("delete Task 2");
    // Ctrl-C drops the line, and not the shell.
    terminal.type_in(CTRL_C);
    terminal.expect(PROMPT);
    terminal.type_in("count Task\r");
    terminal.expect("\r\n3\r\n");
    terminal.type_in(".exit\r");
    assert_eq!(terminal.end().1.code(), Some(0));
}

#[test]
fn ctrl_c_ends_the_command_and_not_the_shell() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let workspace = open(&folder.path().join("tasks.db"));
    let task = table("Work.Task");
    let tasks: Vec<String> = (0..3000).map(|id| format!(r#"{{"id": {id}}}"#)).collect();
    insert(&workspace, &task, &tasks);
    workspace.shutdown_with(Default::default()).unwrap();
    // The shell waits for its pager, which Ctrl-C ends, too.
    let mut terminal = shell_with_pager("echo '[waiting]'; exec sleep 100000", folder.path());
    terminal.expect(PROMPT);
    // A command without an end of its own.
    terminal.type_in("watch Task 'id == 7' --select id\r");
    terminal.expect("    7");
    terminal.type_in(CTRL_C);
    terminal.expect(PROMPT);
    // The values of the dictionary, too.
    terminal.type_in("dict watch volume\r");
    terminal.expect("value");
    terminal.type_in(CTRL_C);
    terminal.expect(PROMPT);
    // A query whose output nobody reads waits for its pager. Ctrl-C ends both, and nothing of it
    // is left for the next command.
    for _ in 0..5 {
        terminal.type_in("query Task\r");
        terminal.expect("[waiting]");
        terminal.type_in(CTRL_C);
        terminal.expect(PROMPT);
        terminal.type_in("count Task\r");
        terminal.expect("\r\n3000\r\n");
        terminal.expect(PROMPT);
    }
    terminal.type_in(CTRL_D);
    assert_eq!(terminal.end().1.code(), Some(0));
}

/// A shell whose pager is a script.
fn shell_with_pager(script: &str, folder: &Path) -> Terminal {
    fs::write(folder.join("pager.sh"), script).unwrap();
    let start = format!("export DFLAT_PAGER='sh pager.sh'; exec {PROGRAM} shell tasks.db");
    fs::write(folder.join("start.sh"), start).unwrap();
    Terminal::start_program("sh", &["start.sh"], folder, 100)
}

#[test]
fn ctrl_c_ends_a_query_that_prints() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let workspace = open(&folder.path().join("tasks.db"));
    let title = "long ".repeat(200);
    let tasks: Vec<String> = (0..3000)
        .map(|id| format!(r#"{{"id": {id}, "title": "{title}"}}"#))
        .collect();
    insert(&workspace, &table("Work.Task"), &tasks);
    workspace.shutdown_with(Default::default()).unwrap();
    // A pager that Ctrl-C does not end, as `less`, and that reads nothing until it may.
    let script = "trap '' INT; echo '[waiting]'; until test -e go; do sleep 0.1; done; cat > seen";
    let mut terminal = shell_with_pager(script, folder.path());
    terminal.expect(PROMPT);
    terminal.type_in("query Task --json\r");
    terminal.expect("[waiting]");
    terminal.type_in(CTRL_C);
    // The terminal shows this after it has sent the signal.
    terminal.expect("^C");
    fs::write(folder.path().join("go"), "").unwrap();
    terminal.expect("interrupted");
    terminal.expect(PROMPT);
    let seen = fs::read_to_string(folder.path().join("seen")).unwrap();
    let seen = seen.lines().count();
    assert!(0 < seen && seen < 3000, "{seen} objects");
    terminal.type_in("count Task\r");
    terminal.expect("\r\n3000\r\n");
    terminal.expect(PROMPT);
    terminal.type_in(CTRL_D);
    assert_eq!(terminal.end().1.code(), Some(0));
}

#[test]
fn ctrl_c_ends_a_query_that_searches() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let workspace = open(&folder.path().join("tasks.db"));
    // Some millions of steps for each object: the whole query takes many seconds.
    let title = "a".repeat(6000);
    let tasks: Vec<String> = (0..1500)
        .map(|id| format!(r#"{{"id": {id}, "title": "{title}"}}"#))
        .collect();
    insert(&workspace, &table("Work.Task"), &tasks);
    workspace.shutdown_with(Default::default()).unwrap();
    let mut terminal = shell_with_pager("cat", folder.path());
    terminal.expect(PROMPT);
    // The first objects are found at once, and are printed.
    let pattern = format!("%{}b%", "a".repeat(300));
    let query = format!("query Task 'id < 300 || title.like(\"{pattern}\")' --select id --json\r");
    terminal.type_in(&query);
    terminal.expect("{\"id\":20}\r\n");
    terminal.type_in(CTRL_C);
    terminal.expect("interrupted");
    terminal.expect(PROMPT);
    terminal.type_in("count Task\r");
    terminal.expect("\r\n1500\r\n");
    terminal.expect(PROMPT);
    terminal.type_in(CTRL_D);
    assert_eq!(terminal.end().1.code(), Some(0));
}

#[test]
fn long_output_goes_to_a_pager() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    make_tasks(&folder.path().join("tasks.db"));
    let tasks: Vec<String> = (100..200).map(|id| format!(r#"{{"id": {id}}}"#)).collect();
    let workspace = open(&folder.path().join("tasks.db"));
    insert(&workspace, &table("Work.Task"), &tasks);
    workspace.shutdown_with(Default::default()).unwrap();
    let mut terminal = shell_with_pager("echo '[pager]'; cat; echo '[end]'", folder.path());
    terminal.expect(PROMPT);
    terminal.type_in("query Task 'id < 3' --select id\r");
    let short = terminal.expect(PROMPT);
    assert!(
        short.contains(" 2\r\n") && !short.contains("[pager]"),
        "{short}"
    );
    terminal.type_in("query Task --select id\r");
    terminal.expect("[pager]");
    let long = terminal.expect("[end]");
    assert!(long.contains("199\r\n"), "{long}");
    terminal.expect(PROMPT);
    terminal.type_in(CTRL_D);
    assert_eq!(terminal.end().1.code(), Some(0));
}

#[test]
fn scripts_end_at_their_first_mistake() {
    let folder = tempfile::tempdir().unwrap();
    make_tasks(&folder.path().join("tasks.db"));
    let run = |script: &str| {
        let mut command = Command::new(PROGRAM);
        command
            .args(["shell", "tasks.db"])
            .current_dir(folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(script.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (code, out, error) = run("count Task\nset Task 2 title='a \\\nb'\n\nget Task 2 --json\n");
    assert_eq!((code, error.as_str()), (Some(0), ""));
    assert!(
        out.starts_with("4\n1 updated\n{\"id\":2,\"title\":\"a \\\\\\nb\""),
        "{out}"
    );
    let (code, out, error) = run("count Task\ncount Tsk\ncount Task\n");
    assert_eq!((code, out.as_str()), (Some(2), "4\n"));
    assert!(error.contains("did you mean `Task`?"), "{error}");
    for (line, message) in [
        ("insert Task", "standard input is that of the shell"),
        ("import Task", "standard input is that of the shell"),
        ("serve", "standard input is that of the shell"),
        ("shell", "the shell runs already"),
        (".tables", "there is no `.tables`"),
        ("query", "required arguments"),
    ] {
        let (code, _, error) = run(line);
        assert_eq!(code, Some(2), "{line}");
        assert!(error.contains(message), "{error}");
    }
    for script in [
        "count List\nset Task 1 title=\"abc\ncount List",
        "count List\ncount \\\n",
    ] {
        let (code, out, error) = run(script);
        assert_eq!((code, out.as_str()), (Some(2), "2\n"));
        assert!(error.contains("ends within its last command"), "{error}");
    }
    // A new type of another process is known.
    let count = printed(&["count", "tasks.db", "List"], folder.path());
    assert_eq!(count, "2\n");
}
