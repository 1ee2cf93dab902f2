//! Live queries of another process's commits.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use dflat_engine::dictionary::Value;

use crate::fixture::{PROGRAM, insert, make_tasks, open, printed, table};

/// How long a line may take before the test fails: long enough for any machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running command, whose output is read line by line.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    fn start(arguments: &[&str], folder: &Path) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(folder);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            // The test may have failed meanwhile.
            let _ = output
                .lines()
                .try_for_each(|line| sender.send(line.unwrap()));
        });
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    /// Sends a signal to the command.
    #[cfg(unix)]
    fn signal(&self, name: &str) {
        let mut kill = Command::new("kill");
        let sent = kill.args([name, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success(), "{name}");
    }

    fn end(mut self) {
        let rest = self.lines.recv_timeout(PATIENCE);
        assert_eq!(rest, Err(RecvTimeoutError::Disconnected));
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

/// A test that fails leaves no command behind.
impl Drop for Running {
    fn drop(&mut self) {
        // The command may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn changes_of_another_process_are_marked() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = open(&folder.path().join("tasks.db"));
    let task = table("Work.Task");
    insert(
        &workspace,
        &task,
        &[r#"{"id": 1, "title": "one"}"#.to_owned()],
    );
    let query = [
        "watch",
        "tasks.db",
        "Task",
        "done == false",
        "--select",
        "id,title",
    ];
    let more = ["--order", "id", "--deliveries", "5"];
    let json = [&query[..], &more, &["--json"]].concat();
    let (mut table_form, mut json_form) = (
        Running::start(&[&query[..], &more].concat(), folder.path()),
        Running::start(&json, folder.path()),
    );
    assert_eq!(table_form.line(), "   id  title");
    assert_eq!(table_form.line(), "    1  one");
    assert_eq!(
        json_form.line(),
        r#"{"change":"present","id":1,"title":"one"}"#
    );
    // Each commit waits until both have shown the one before.
    let mut expect = |marked: &str, json: &str| {
        assert_eq!(table_form.line(), marked);
        assert_eq!(json_form.line(), json);
    };
    insert(
        &workspace,
        &task,
        &[r#"{"id": 2, "title": "two"}"#.to_owned()],
    );
    expect(
        "+   2  two",
        r#"{"change":"inserted","id":2,"title":"two"}"#,
    );
    printed(
        &["set", "tasks.db", "Task", "1", "title=uno"],
        folder.path(),
    );
    expect("~   1  uno", r#"{"change":"updated","id":1,"title":"uno"}"#);
    printed(&["delete", "tasks.db", "Task", "2", "--yes"], folder.path());
    expect("-   2  two", r#"{"change":"deleted","id":2,"title":"two"}"#);
    printed(
        &["set", "tasks.db", "Task", "1", "done=true"],
        folder.path(),
    );
    expect("-   1  uno", r#"{"change":"deleted","id":1,"title":"uno"}"#);
    table_form.end();
    json_form.end();
    workspace.shutdown_with(Default::default()).unwrap();
}

/// The command reads a file that no program has open without locks, and may see parts of several
/// states while another program writes.
#[test]
fn watch_goes_on_if_another_process_begins_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    make_tasks(&path);
    let mut running = watch_first_list(folder.path());
    for id in 10..13 {
        add_to_first_list(&path, id);
        let inserted = format!(r#"{{"change":"inserted","id":{id}}}"#);
        assert_eq!(running.line(), inserted);
    }
    running.end();
}

/// Issue 33. The command was seen to miss such a change on a busy machine.
#[cfg(unix)]
#[test]
fn watch_shows_a_change_that_began_and_ended_while_the_command_stood_still() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    make_tasks(&path);
    // From now on the file has a log while it is open.
    printed(
        &["set", "tasks.db", "Task", "3", "priority=8"],
        folder.path(),
    );
    let mut running = watch_first_list(folder.path());
    for id in 10..13 {
        running.signal("-STOP");
        add_to_first_list(&path, id);
        running.signal("-CONT");
        let inserted = format!(r#"{{"change":"inserted","id":{id}}}"#);
        assert_eq!(running.line(), inserted);
    }
    running.end();
}

/// A watch of the first list of `make_tasks`, which has shown its two tasks. The watch ends after
/// three changes.
fn watch_first_list(folder: &Path) -> Running {
    let watch = ["watch", "tasks.db", "Task", "list == 1", "--json"];
    let more = ["--select", "id", "--deliveries", "4"];
    let mut running = Running::start(&[&watch[..], &more].concat(), folder);
    for id in [1, 2] {
        let present = format!(r#"{{"change":"present","id":{id}}}"#);
        assert_eq!(running.line(), present);
    }
    running
}

/// Opens the file, adds a task, and closes the file.
fn add_to_first_list(path: &Path, id: u64) {
    let workspace = open(path);
    let json = format!(r#"{{"id": {id}, "list": 1}}"#);
    insert(&workspace, &table("Work.Task"), &[json]);
    workspace.shutdown_with(Default::default()).unwrap();
}

#[test]
fn objects_that_change_their_place_are_marked() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = open(&folder.path().join("tasks.db"));
    let task = table("Work.Task");
    let tasks = [1, 2, 3].map(|id| format!(r#"{{"id": {id}, "priority": {id}}}"#));
    insert(&workspace, &task, &tasks);
    let watch = ["watch", "tasks.db", "Task", "--select", "id,priority"];
    let more = ["--order", "priority", "--deliveries", "3", "--json"];
    let mut running = Running::start(&[&watch[..], &more].concat(), folder.path());
    for id in 1..4 {
        let present = format!(r#"{{"change":"present","id":{id},"priority":{id}}}"#);
        assert_eq!(running.line(), present);
    }
    printed(
        &["set", "tasks.db", "Task", "1", "priority=9"],
        folder.path(),
    );
    assert_eq!(running.line(), r#"{"change":"moved","id":1,"priority":9}"#);
    printed(
        &["set", "tasks.db", "Task", "1", "priority=8"],
        folder.path(),
    );
    assert_eq!(
        running.line(),
        r#"{"change":"updated","id":1,"priority":8}"#
    );
    running.end();
    workspace.shutdown_with(Default::default()).unwrap();
}

#[test]
fn values_of_the_dictionary_are_watched() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = open(&folder.path().join("tasks.db"));
    let dictionary = workspace.dictionary();
    dictionary.set("volume", Some(Value::I64(1))).unwrap();
    dictionary.synchronize().unwrap();
    let watch = [
        "dict",
        "watch",
        "tasks.db",
        "vol",
        "--prefix",
        "--json",
        "--deliveries",
        "3",
    ];
    let mut running = Running::start(&watch, folder.path());
    assert_eq!(running.line(), r#"{"key":"volume","value":1}"#);
    printed(&["dict", "set", "tasks.db", "volume", "2"], folder.path());
    assert_eq!(running.line(), r#"{"key":"volume","value":2}"#);
    printed(
        &["dict", "remove", "tasks.db", "volume", "--yes"],
        folder.path(),
    );
    assert_eq!(running.line(), r#"{"key":"volume","value":null}"#);
    running.end();
    workspace.shutdown_with(Default::default()).unwrap();
}
