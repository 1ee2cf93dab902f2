//! Several processes of random programs on one file, which are killed, stopped and started again.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use dflat::{ChangeRequest, ErrorKind, Object, Payload, RowId, Workspace};
use dflat_testkit::fixture::until;
use dflat_testkit::follower::Follower;
use dflat_testkit::model::Model;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Sample, SampleData};
use dflat_testkit::watcher::Watcher;
use dflat_testkit::workload::{change_at_random, random_question, random_sample};
use rusqlite::{Connection, params};

/// Where a process of the test finds its file.
const PATH: &str = "DFLAT_PROGRAMS_PATH";

/// Whether the process writes with SQL.
const USES_SQL: &str = "DFLAT_PROGRAMS_SQL";

/// How long the test runs, if it is not as long as usual.
const SECONDS: &str = "DFLAT_PROGRAMS_SECONDS";

/// The number of processes; the first one writes with SQL.
const PROCESSES: usize = 4;

/// The number of transactions of a process between two quiet points.
const TRANSACTIONS: usize = 12;

/// The number of quiet points of a seed.
const ROUNDS: usize = 5;

/// A program that does as its input says: `work SEED` and `check SEED`.
trait Program {
    /// Makes a few random changes, in transactions of their own.
    fn work(&mut self, random: &mut Random);

    /// Compares all that it shows with the file. No process writes meanwhile. Returns all objects.
    fn check(&mut self, random: &mut Random) -> Vec<(RowId, SampleData)>;
}

/// Not a test by itself: a process of the test below.
#[test]
fn a_random_program() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let path = Path::new(&path);
    let mut program: Box<dyn Program> = match std::env::var_os(USES_SQL) {
        Some(_) => Box::new(Sql(Connection::open(path).unwrap())),
        None => Box::new(Typed::new(path)),
    };
    say("started");
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let (task, seed) = line.split_once(' ').unwrap();
        let mut random = Random::new(seed.parse().unwrap());
        if task == "work" {
            for _ in 0..TRANSACTIONS {
                program.work(&mut random);
                say("committed");
            }
            say("done");
        } else {
            let objects = program.check(&mut random);
            let mut hasher = DefaultHasher::new();
            for (row_id, data) in &objects {
                (row_id.0, format!("{data:?}")).hash(&mut hasher);
            }
            say(&format!("agrees {} {:x}", objects.len(), hasher.finish()));
        }
    }
}

/// The test harness does not capture this output.
fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    output
        .write_all(format!("\nsays {line}\n").as_bytes())
        .unwrap();
    output.flush().unwrap();
}

/// A program in the format of Dflat for Swift.
struct Sql(Connection);

impl Program for Sql {
    fn work(&mut self, random: &mut Random) {
        self.0.busy_timeout(Duration::from_secs(60)).unwrap();
        let transaction = self
            .0
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate);
        let transaction = transaction.unwrap();
        for _ in 0..=random.below(3) {
            let mut data = random_sample(random);
            // The index of the unique value has a table of its own, which this program leaves out.
            data.code = None;
            let payload = data.to_bytes().unwrap();
            let sql = match random.below(4) {
                0 => "DELETE FROM sample WHERE __pk0 = ?1 AND length(?2) > 0",
                1 => "INSERT OR IGNORE INTO sample (__pk0, p) VALUES (?1, ?2)",
                _ => "UPDATE sample SET p = ?2 WHERE __pk0 = ?1",
            };
            transaction.execute(sql, params![data.id, payload]).unwrap();
        }
        transaction.commit().unwrap();
    }

    fn check(&mut self, _: &mut Random) -> Vec<(RowId, SampleData)> {
        let mut rows = self
            .0
            .prepare("SELECT rowid, p FROM sample ORDER BY rowid")
            .unwrap();
        let read = |row: &rusqlite::Row<'_>| {
            let payload: Vec<u8> = row.get(1)?;
            Ok((
                RowId(row.get(0)?),
                SampleData::from_bytes(&payload).unwrap(),
            ))
        };
        rows.query_map([], read)
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }
}

/// A program of this library, with live queries and subscribed objects.
struct Typed {
    workspace: Workspace,
    live: Vec<Follower>,
    watched: Vec<Watcher>,
}

impl Typed {
    fn new(path: &Path) -> Self {
        Self {
            workspace: Workspace::open(path).unwrap(),
            live: Vec::new(),
            watched: Vec::new(),
        }
    }

    fn subscribe(&mut self, random: &mut Random) {
        let workspace = &self.workspace;
        if self.live.len() < 6 && random.one_in(2) {
            let question = random_question(random);
            self.live
                .push(Follower::new(workspace, question, None, random));
        } else if self.live.len() > 2 && random.one_in(8) {
            let place = random.below(self.live.len());
            self.live.swap_remove(place).cancel();
        }
        let objects = workspace.fetch::<Sample>().all().unwrap();
        if self.watched.len() < 6 && !objects.is_empty() {
            self.watched
                .push(Watcher::new(random.pick(&objects).clone()));
        }
        for watcher in &mut self.watched {
            if random.one_in(2) {
                watcher.subscribe(workspace);
            }
        }
    }
}

impl Program for Typed {
    fn work(&mut self, random: &mut Random) {
        self.subscribe(random);
        match random.below(30) {
            0 => drop(self.workspace.reclaim(2)),
            1 => drop(self.workspace.purge()),
            _ => {}
        }
        // Several in the queue share a commit.
        let handles = (0..1 + random.below(3) * random.below(2)).map(|_| {
            let seed = random.number();
            let handler = move |tx: &_| change_at_random(tx, &mut Random::new(seed));
            match random.one_in(2) {
                true => self.workspace.perform_changes([Sample::TABLE], handler),
                false => self
                    .workspace
                    .perform_changes_retrying([Sample::TABLE], handler),
            }
        });
        for handle in handles.collect::<Vec<_>>() {
            match handle.wait() {
                Err(error) if error.kind() == ErrorKind::Busy => {}
                outcome => outcome.unwrap(),
            }
        }
    }

    fn check(&mut self, random: &mut Random) -> Vec<(RowId, SampleData)> {
        let workspace = &self.workspace;
        // Half of the times, the deliveries come without a call.
        if random.one_in(2) {
            until(|| self.live.iter().all(|live| live.is_fresh(workspace)));
        }
        workspace.refresh().unwrap();
        workspace.settle().unwrap();
        let objects = workspace.fetch::<Sample>().all().unwrap();
        let mut model = Model::default();
        for object in objects.iter() {
            model.insert(object.to_data()).unwrap();
        }
        for live in &self.live {
            live.check(&model);
            live.check_fresh(workspace);
        }
        self.watched
            .iter()
            .for_each(|watcher| watcher.check(&objects));
        let objects = objects.iter();
        objects.map(|o| (o.row_id(), o.to_data())).collect()
    }
}

/// A process, and the lines that it wrote.
struct Process {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    works: bool,
}

impl Process {
    fn start(path: &Path, uses_sql: bool) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = "other_programs::random_programs::a_random_program";
        command
            .args(["--exact", name, "--nocapture"])
            .env(PATH, path);
        if uses_sql {
            command.env(USES_SQL, "1");
        }
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        thread::spawn(move || {
            let lines = output.map_while(Result::ok);
            let mut said = lines.filter_map(|line| Some(line.strip_prefix("says ")?.to_owned()));
            said.try_for_each(|line| sender.send(line))
        });
        let input = child.stdin.take().unwrap();
        let process = Self {
            child,
            input,
            lines,
            works: false,
        };
        assert_eq!(process.line(), "started");
        process
    }

    fn line(&self) -> String {
        let line = self.lines.recv_timeout(Duration::from_secs(120));
        line.expect("a process has failed or hangs")
    }

    fn ask(&mut self, task: &str, random: &mut Random) {
        writeln!(self.input, "{task} {}", random.number()).unwrap();
        self.works = task == "work";
    }

    /// Waits until it has committed, or has done its work.
    fn commits(&mut self) {
        if self.works && self.line() == "done" {
            self.works = false;
        }
    }

    fn signal(&self, signal: &str) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &process]).status();
        assert!(sent.unwrap().success());
    }
}

/// A process is killed when it is dropped, also if the test fails.
impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs one seed. Processes run at the same time, so a seed does not repeat a failure exactly.
fn run_seed(seed: u64, stop_ms_max: usize) {
    let mut random = Random::new(seed);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    let first = Typed::new(&path);
    let created = first.workspace.perform_changes([Sample::TABLE], |tx| {
        let data = SampleData {
            id: 100,
            ..SampleData::default()
        };
        tx.submit(ChangeRequest::<Sample>::creation(data)).map(drop)
    });
    created.wait().unwrap();
    first.workspace.shutdown().unwrap();
    let start = |at: usize| Process::start(&path, at == 0);
    let mut processes: Vec<Process> = (0..PROCESSES).map(start).collect();
    for round in 0..ROUNDS {
        processes
            .iter_mut()
            .for_each(|process| process.ask("work", &mut random));
        for _ in 0..random.below(4) {
            let at = random.below(PROCESSES);
            let process = &mut processes[at];
            (0..random.below(TRANSACTIONS)).for_each(|_| process.commits());
            thread::sleep(Duration::from_micros(random.below(2000) as u64));
            if random.one_in(2) {
                process.signal("-STOP");
                thread::sleep(Duration::from_millis(random.below(stop_ms_max) as u64));
                process.signal("-CONT");
            } else {
                // The old process is killed before the new one starts.
                process.child.kill().unwrap();
                process.child.wait().unwrap();
                *process = start(at);
                process.ask("work", &mut random);
            }
        }
        for process in &mut processes {
            while process.works {
                process.commits();
            }
        }
        processes
            .iter_mut()
            .for_each(|process| process.ask("check", &mut random));
        let found: Vec<String> = processes.iter().map(Process::line).collect();
        let agree = found
            .iter()
            .all(|one| *one == found[0] && one.starts_with("agrees "));
        assert!(agree, "seed {seed}, round {round}: {found:?}");
    }
}

// Promise: live-queries#L43, live-queries#L44, live-queries#L61
#[test]
fn random_programs_of_several_processes_agree_at_every_quiet_point() {
    let seconds: Option<u64> = std::env::var(SECONDS)
        .ok()
        .map(|text| text.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(3));
    let stop_ms_max = if seconds.is_some() { 3_000 } else { 100 };
    for seed in 0.. {
        run_seed(seed, stop_ms_max);
        if Instant::now() > end {
            eprintln!("random programs: {} seeds", seed + 1);
            break;
        }
    }
}
