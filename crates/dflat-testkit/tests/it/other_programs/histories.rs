//! Recorded histories of several processes on one file.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use dflat::Workspace;
use dflat_engine::engine::EngineOptions;
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::bounded;
use dflat_testkit::history::{
    Clock, History, Recorder, add_line, check, fill, last_lists, to_lines,
};
use std::time::Duration;

/// Where a process of the test finds its file.
const PATH: &str = "DFLAT_HISTORIES_PATH";

/// The number of processes.
const PROCESSES: u64 = 3;

fn open(path: &Path) -> Workspace {
    // However slow the machine is, no delivery is merged with another one.
    let patient = EngineOptions {
        patience: Duration::from_secs(300),
        ..EngineOptions::default()
    };
    let backend = SqliteBackend::open(path, SqliteOptions::default()).unwrap();
    Workspace::on_backend(backend, patient)
}

/// Not a test by itself: a process that subscribes to all objects. A line of its input asks it for
/// the transactions of a seed, and the next line for its events and deliveries.
#[test]
fn a_recorded_process() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let path = PathBuf::from(path);
    let workspace = open(&path);
    let clock = Clock::of_file(&path.with_extension("clock"));
    let recorder = Recorder::new(&workspace, clock);
    let mut input = std::io::stdin().lines();
    say(&["subscribed".to_owned()]);
    let line = input.next().unwrap().unwrap();
    let (seed, first) = line.split_once(' ').unwrap();
    let events = recorder.run(seed.parse().unwrap(), first.parse().unwrap());
    say(&["done".to_owned()]);
    input.next();
    workspace.refresh().unwrap();
    workspace.settle().unwrap();
    let mut lines = to_lines(&events, &recorder.end());
    lines.push("end".to_owned());
    say(&lines);
    // The commits of the others are delivered from their records, one by one.
    assert_eq!(workspace.stats().renewals, 0);
    workspace.shutdown().unwrap();
}

/// The test harness does not capture this output.
fn say(lines: &[String]) {
    let mut output = std::io::stdout().lock();
    for line in lines {
        output
            .write_all(format!("\nsays {line}\n").as_bytes())
            .unwrap();
    }
    output.flush().unwrap();
}

/// A process of the test.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(path: &Path) -> Self {
        let name = "other_programs::histories::a_recorded_process";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(PATH, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
        }
    }

    /// The next line that it says.
    fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            let length = self.output.read_line(&mut line).unwrap();
            assert!(length > 0, "a process has failed");
            if let Some(line) = line.trim_end_matches('\n').strip_prefix("says ") {
                return line.to_owned();
            }
        }
    }
}

/// A process that a failed test leaves is killed.
impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run_seed(seed: u64) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let workspace = open(&path);
    fill(&workspace);
    workspace.settle().unwrap();
    let mut processes: Vec<Process> = (0..PROCESSES).map(|_| Process::start(&path)).collect();
    for process in &mut processes {
        assert_eq!(process.line(), "subscribed");
    }
    for (number, process) in (0..).zip(&mut processes) {
        let (seed, first) = (seed * PROCESSES + number, 1 + 1000 * number);
        writeln!(process.input, "{seed} {first}").unwrap();
    }
    for process in &mut processes {
        assert_eq!(process.line(), "done");
    }
    let last = last_lists(&workspace);
    let mut histories: Vec<History> = Vec::new();
    for mut process in processes {
        writeln!(process.input, "end").unwrap();
        let mut history = History::default();
        loop {
            match process.line().as_str() {
                "end" => break,
                line => add_line(&mut history, line),
            }
        }
        assert!(process.child.wait().unwrap().success());
        histories.push(history);
    }
    // Completions and deliveries are in the order of commits in each process.
    for at in 0..histories.len() {
        let mut history = History {
            last: last.clone(),
            deliveries: histories[at].deliveries.clone(),
            ..History::default()
        };
        for (other, part) in histories.iter().enumerate() {
            let events = part.events.iter().cloned().map(|mut event| {
                event.ordered &= other == at;
                event
            });
            history.events.extend(events);
        }
        let committed = history.events.iter().filter(|event| event.committed);
        assert!(committed.count() > 100);
        if let Err(error) = check(&history) {
            panic!("seed {seed}, process {at}: {error}\n{history:#?}");
        }
    }
    workspace.shutdown().unwrap();
}

// Promise: concurrency#C1, live-queries#L61
#[test]
fn random_transactions_of_several_processes_are_strictly_serializable_and_delivered_in_order() {
    (0..3).for_each(|seed| bounded(move || run_seed(seed)));
}
