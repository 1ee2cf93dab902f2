//! Processes that deliver the commits of others without a call of their own.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use dflat::{FetchedResult, Object, Result, TransactionContext, Update, Watch, Workspace};
use dflat_engine::engine::EngineOptions;
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::{bounded, next, until};
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};
use rusqlite::Connection;

/// Where a process of the tests finds its file.
const PATH: &str = "DFLAT_FOLLOWING_PATH";

fn put(tx: &TransactionContext, id: i32) -> Result<()> {
    let note = Some(format!("note {id}"));
    tx.submit(OtherChangeRequest::upsert(OtherData { id, note }))
        .map(drop)
}

fn write(workspace: &Workspace, id: i32) {
    let written = workspace.perform_changes([Other::TABLE], move |tx| put(tx, id));
    written.wait().unwrap();
}

/// The ids and notes of a list.
fn shown(list: &FetchedResult<Other>) -> String {
    let rows = list.iter().map(|other| {
        let data: OtherData = other.to_data();
        format!("{}={}", data.id, data.note.unwrap_or_default())
    });
    rows.collect::<Vec<_>>().join(",")
}

/// Not a test by itself: a process that subscribes, and prints each delivery. It writes if a line
/// of its input asks for it, and otherwise makes no call until its input ends.
#[test]
fn a_process_that_follows() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let workspace = Workspace::open(path).unwrap();
    let list = workspace.fetch::<Other>().order_by(Other::ID.ascending());
    let subscription = workspace
        .subscribe(list, |update: Result<Update<FetchedResult<Other>>>| {
            let update = update.unwrap();
            // The test harness does not capture this output.
            let mut output = std::io::stdout().lock();
            writeln!(output, "\nshows {}", shown(update.result())).unwrap();
            output.flush().unwrap();
        })
        .unwrap();
    for line in std::io::stdin().lines() {
        write(&workspace, line.unwrap().parse().unwrap());
    }
    subscription.cancel();
    workspace.shutdown().unwrap();
}

/// A process that follows a file.
struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lists: Receiver<String>,
}

impl Process {
    fn start(path: &Path) -> Self {
        let name = "other_programs::following::a_process_that_follows";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(PATH, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lists) = channel();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        std::thread::spawn(move || {
            let shown =
                lines.filter_map(|line| Some(line.ok()?.strip_prefix("shows ")?.to_owned()));
            shown.for_each(|list| drop(sender.send(list)));
        });
        let input = child.stdin.take();
        let process = Self {
            child,
            input,
            lists,
        };
        next(&process.lists);
        process
    }

    /// Waits until it shows a list.
    fn shows(&self, list: &str) {
        while next(&self.lists) != list {}
    }

    fn write(&mut self, id: i32) {
        writeln!(self.input.as_ref().unwrap(), "{id}").unwrap();
    }

    fn signal(&self, signal: &str) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &process]).status();
        assert!(sent.unwrap().success());
    }

    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// A process that a failed test leaves is killed.
impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A directory with a file, which holds the object 1.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> (Self, Workspace) {
        let place = Self(tempfile::tempdir().unwrap());
        let workspace = Workspace::open(place.path()).unwrap();
        write(&workspace, 1);
        (place, workspace)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("a.db")
    }

    fn presence(&self) -> PathBuf {
        self.0.path().join("a.db-dflat-presence")
    }
}

/// Deletes the object 1 as the original's format allows, by the shell of SQLite if there is one.
fn delete_first(path: &Path) {
    const SQL: &str = "DELETE FROM other WHERE __pk0 = 1";
    let shell = Command::new("sqlite3").arg(path).arg(SQL).output();
    match shell {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(_) => drop(Connection::open(path).unwrap().execute(SQL, []).unwrap()),
    }
}

// Promise: live-queries#L42
#[test]
fn commit_is_delivered_in_an_idle_process() {
    bounded(|| {
        let (place, workspace) = Place::new();
        let first = Process::start(&place.path());
        let mut second = Process::start(&place.path());
        write(&workspace, 2);
        for process in [&first, &second] {
            process.shows("1=note 1,2=note 2");
        }
        second.write(3);
        for process in [&first, &second] {
            process.shows("1=note 1,2=note 2,3=note 3");
        }
        first.end();
        second.end();
        workspace.shutdown().unwrap();
        assert!(!place.presence().exists());
    });
}

// Promise: live-queries#L44
#[test]
fn write_of_the_shell_is_delivered_in_an_idle_process() {
    bounded(|| {
        let (place, workspace) = Place::new();
        write(&workspace, 2);
        let process = Process::start(&place.path());
        delete_first(&place.path());
        process.shows("2=note 2");
        // The shell is the last to close the file, so that the log is made anew.
        workspace.shutdown().unwrap();
        process.end();
    });
}

/// The process that wakes last has not seen the rows that the shell wrote and that another process
/// has mended since.
// Promise: live-queries#L44
#[test]
fn write_of_the_shell_is_delivered_in_a_process_that_wakes_after_another_has_written() {
    bounded(|| {
        let (place, workspace) = Place::new();
        write(&workspace, 2);
        let process = Process::start(&place.path());
        process.signal("-STOP");
        delete_first(&place.path());
        write(&workspace, 3);
        write(&workspace, 1);
        write(&workspace, 2);
        process.signal("-CONT");
        process.shows("1=note 1,2=note 2,3=note 3");
        process.end();
    });
}

// Promise: live-queries#L43
#[test]
fn killed_process_follows_no_longer() {
    bounded(|| {
        let (place, workspace) = Place::new();
        let survivor = Process::start(&place.path());
        drop(Process::start(&place.path()));
        write(&workspace, 2);
        survivor.shows("1=note 1,2=note 2");
        assert!(place.presence().exists());
        drop(survivor);
        // The next writer finds no process, and deletes the file that the last one has left.
        write(&workspace, 3);
        assert!(!place.presence().exists());
    });
}

// Promise: live-queries#L43
#[test]
fn stopped_process_delivers_all_commits_when_it_goes_on() {
    bounded(|| {
        let (place, workspace) = Place::new();
        let process = Process::start(&place.path());
        for round in 0..3 {
            process.signal("-STOP");
            for id in 2..20 {
                write(&workspace, 100 * round + id);
            }
            // Long enough for a slow check to be missed.
            std::thread::sleep(std::time::Duration::from_secs(1));
            process.signal("-CONT");
            let list = workspace.fetch::<Other>().order_by(Other::ID.ascending());
            process.shows(&shown(&list.all().unwrap()));
        }
        process.end();
    });
}

// Promise: live-queries#L43
#[test]
fn presence_file_that_was_deleted_is_made_anew() {
    bounded(|| {
        let (place, workspace) = Place::new();
        let process = Process::start(&place.path());
        fs::remove_file(place.presence()).unwrap();
        until(|| place.presence().exists());
        write(&workspace, 2);
        process.shows("1=note 1,2=note 2");
        process.end();
        assert!(!place.presence().exists());
    });
}

/// Whatever the permissions are, no file can be made under the name of a directory.
// Promise: live-queries#L45
#[test]
fn process_without_a_presence_file_follows_at_intervals() {
    bounded(|| {
        let (place, workspace) = Place::new();
        fs::create_dir(place.presence()).unwrap();
        let process = Process::start(&place.path());
        write(&workspace, 2);
        process.shows("1=note 1,2=note 2");
        delete_first(&place.path());
        process.shows("2=note 2");
        process.end();
        let count = count_in(&workspace);
        until(|| count.latest().is_some());
        assert!(workspace.stats().follows_processes);
        assert!(workspace.stats().looks_at_intervals);
        drop(count);
        workspace.shutdown().unwrap();
        assert!(place.presence().is_dir());
    });
}

// Promise: live-queries#L45
#[test]
fn read_only_workspace_follows_and_makes_no_file() {
    bounded(|| {
        let (place, writer) = Place::new();
        let options = SqliteOptions {
            read_only: true,
            ..SqliteOptions::default()
        };
        // An engine of its own, as in another process.
        let backend = SqliteBackend::open(place.path(), options).unwrap();
        let reader = Workspace::on_backend(backend, EngineOptions::default());
        let count = count_in(&reader);
        until(|| count.latest().is_some());
        write(&writer, 2);
        until(|| count.latest().unwrap().unwrap() == 2);
        assert!(!place.presence().exists());
    });
}

fn count_in(workspace: &Workspace) -> Watch<Result<usize>> {
    let count = workspace.fetch::<Other>().live_count();
    workspace.observe(count).unwrap().watch().unwrap()
}

// Promise: live-queries#L46
#[test]
fn presence_file_is_there_only_while_a_process_follows() {
    bounded(|| {
        let (place, workspace) = Place::new();
        assert!(!place.presence().exists() && !workspace.stats().follows_processes);
        let count = count_in(&workspace);
        until(|| count.latest().is_some());
        assert!(place.presence().exists() && workspace.stats().follows_processes);
        assert!(!workspace.stats().looks_at_intervals);
        workspace.suspend().unwrap();
        assert!(!place.presence().exists() && !workspace.stats().follows_processes);
        delete_first(&place.path());
        workspace.resume();
        until(|| count.latest().unwrap().unwrap() == 0);
        assert!(place.presence().exists() && workspace.stats().follows_processes);
        workspace.shutdown().unwrap();
        assert!(!place.presence().exists());
    });
}

// Promise: live-queries#L46
#[test]
fn workspace_that_is_not_to_follow_delivers_with_refresh() {
    bounded(|| {
        let place = Place(tempfile::tempdir().unwrap());
        let builder = Workspace::builder(place.path()).follow_processes(false);
        let workspace = builder.open().unwrap();
        write(&workspace, 1);
        let count = count_in(&workspace);
        until(|| count.latest().is_some());
        assert!(!place.presence().exists() && !workspace.stats().follows_processes);
        delete_first(&place.path());
        workspace.refresh().unwrap();
        until(|| count.latest().unwrap().unwrap() == 0);
    });
}
