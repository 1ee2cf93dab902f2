//! Commands while another process writes: each output is one committed state.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::fixture::{PROGRAM, dflat, insert, open, printed, table};

/// The number of objects, all of which each transaction of the other process changes.
const TASKS: u64 = 200;

/// Another process: a shell that upserts all tasks with the next number, again and again. Each of
/// its transactions gives all tasks one priority.
struct Writer {
    child: Child,
}

impl Writer {
    fn start(folder: &Path) -> Self {
        let round = |number: u64| -> String {
            let tasks = (0..TASKS).map(|id| {
                // The order by title differs from that of insertion, and from round to round.
                let title = (id * 7 + number) % TASKS;
                format!(r#"{{"id": {id}, "priority": {number}, "title": "{title:04}"}}"#)
            });
            tasks.collect::<Vec<_>>().join("\n")
        };
        for number in 0..40 {
            let path = folder.join(format!("round{number}.jsonl"));
            std::fs::write(path, round(number)).unwrap();
        }
        let script = "while :; do for f in round*.jsonl; do \
                      \"$0\" upsert tasks.db Task --from $f || exit 1; done; done";
        let mut command = Command::new("sh");
        command.args(["-c", script, PROGRAM]).current_dir(folder);
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        Self { child }
    }

    fn stop(mut self) {
        assert!(
            self.child.try_wait().unwrap().is_none(),
            "the writer has failed"
        );
    }
}

/// The other process ends with the test.
impl Drop for Writer {
    fn drop(&mut self) {
        // Its last command ends by itself. The process may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asserts that lines hold all tasks, all of one transaction, and returns its number.
fn transaction_of(lines: &str) -> u64 {
    let objects: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(objects.len() as u64, TASKS);
    let number = |object: &Value| object["priority"].as_u64().unwrap_or(0);
    let first = number(&objects[0]);
    assert!(
        objects.iter().all(|object| number(object) == first),
        "{lines}"
    );
    first
}

#[test]
fn outputs_are_one_committed_state_while_another_process_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let workspace = open(&path.join("tasks.db"));
    let tasks: Vec<String> = (0..TASKS)
        .map(|id| format!(r#"{{"id": {id}, "title": "{id:04}"}}"#))
        .collect();
    insert(&workspace, &table("Work.Task"), &tasks);
    workspace.shutdown_with(Default::default()).unwrap();
    let writer = Writer::start(path);
    let mut seen = Vec::new();
    let mut rounds = 0;
    // The test ends when several states were seen, however fast the machine is.
    while rounds < 8 || seen.len() < 3 {
        let export = printed(&["export", "tasks.db", "Task"], path);
        let by_export = transaction_of(&export);
        let query = ["query", "tasks.db", "Task", "--order", "title", "--json"];
        let query = printed(&query, path);
        transaction_of(&query);
        let titles = query.lines().map(|line| {
            let object: Value = serde_json::from_str(line).unwrap();
            object["title"].as_str().unwrap().to_owned()
        });
        assert!(titles.is_sorted(), "{query}");
        let backup = format!("backup{rounds}.db");
        printed(&["backup", "tasks.db", &backup], path);
        transaction_of(&printed(&["export", &backup, "Task"], path));
        seen.push(by_export);
        seen.sort_unstable();
        seen.dedup();
        rounds += 1;
    }
    // An import of other objects is whole, too, and loses nothing of the other process.
    let mut lines = std::fs::File::create(path.join("more.jsonl")).unwrap();
    for id in 1000..3000 {
        writeln!(lines, r#"{{"id": {id}, "list": 9}}"#).unwrap();
    }
    let import = [
        "import",
        "tasks.db",
        "Task",
        "--from",
        "more.jsonl",
        "--batch",
        "50",
    ];
    let imported = dflat(&import, path);
    let error = String::from_utf8_lossy(&imported.stderr);
    assert!(imported.status.success(), "{error}");
    assert_eq!(imported.stdout, b"2000 inserted\n");
    writer.stop();
    let count = |condition| printed(&["count", "tasks.db", "Task", condition], path);
    assert_eq!(count("list == 9"), "2000\n");
    let others = ["query", "tasks.db", "Task", "list == 0", "--json"];
    transaction_of(&printed(&others, path));
}

/// Printed lines cannot be taken back, and the rest of the old state is gone: the objects behind
/// the printed ones are those of another state.
#[test]
fn a_command_that_has_printed_something_ends_if_another_process_begins_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let task = table("Work.Task");
    // More than the pipe, the command and its next objects hold.
    let title = "long ".repeat(200);
    let tasks: Vec<String> = (0..3000)
        .map(|id| format!(r#"{{"id": {id}, "title": "{title}"}}"#))
        .collect();
    let workspace = open(&path.join("tasks.db"));
    insert(&workspace, &task, &tasks);
    workspace.shutdown_with(Default::default()).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["export", "tasks.db"]).current_dir(path);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut printed_lines = String::new();
    output.read_line(&mut printed_lines).unwrap();
    // The command waits until its output is read.
    let workspace = open(&path.join("tasks.db"));
    insert(&workspace, &task, &[r#"{"id": 9999}"#.to_owned()]);
    output.read_to_string(&mut printed_lines).unwrap();
    let ended = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{error}");
    assert!(error.contains("another process writes"), "{error}");
    // The lines are whole, and the first ones of the old state.
    for (id, line) in printed_lines.lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["object"]["id"].as_u64().unwrap_or(0), id as u64);
    }
    assert!(printed_lines.lines().count() < 3000);
    // Now the command shares the file with the other process.
    let again = printed(&["export", "tasks.db"], path);
    assert_eq!(again.lines().count(), 3001);
    workspace.shutdown_with(Default::default()).unwrap();
}

/// A lock by which a process shows that it has the index of the log open: SQLite's file format has
/// it at byte 128.
#[cfg(target_os = "linux")]
fn hold_index(path: &Path) -> std::fs::File {
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;
    let options = std::fs::File::options().read(true).write(true).open(path);
    let file = options.unwrap();
    let lock = libc::flock {
        l_type: libc::c_short::try_from(libc::F_RDLCK).unwrap(),
        l_whence: libc::c_short::try_from(libc::SEEK_SET).unwrap(),
        l_start: 128,
        l_len: 1,
        l_pid: 0,
    };
    fcntl(&file, FcntlArg::F_OFD_SETLK(&lock)).unwrap();
    file
}

/// Another process has begun to open the file, and is slow: it has not made the index of the log.
#[cfg(target_os = "linux")]
#[test]
fn read_waits_for_another_process_that_has_begun_to_open_the_file() {
    use std::time::{Duration, Instant};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let workspace = open(&path.join("used.db"));
    insert(
        &workspace,
        &table("Work.Task"),
        &[r#"{"id": 1}"#.to_owned()],
    );
    for suffix in ["", "-wal"] {
        let copy = path.join(format!("tasks.db{suffix}"));
        std::fs::copy(path.join(format!("used.db{suffix}")), copy).unwrap();
    }
    let index = path.join("tasks.db-shm");
    std::fs::write(&index, [0; 32 * 1024]).unwrap();
    let held = hold_index(&index);
    let pause = Duration::from_millis(200);
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(pause);
            printed(&["upsert", "tasks.db", "Task", r#"{"id": 2}"#], path);
        });
        let export = printed(&["export", "tasks.db", "Task"], path);
        assert!(start.elapsed() >= pause, "the read did not wait: {export}");
    });
    drop(held);
}
