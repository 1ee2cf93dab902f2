//! Many processes at the same time open a file, use it for a moment and close it; some are killed.

use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use dflat::{ErrorKind, Result, Workspace};
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};

/// The variable with the path of the file of a short-lived program.
const PATH: &str = "DFLAT_SHORT_LIVED_PATH";

/// The variable with the task of a short-lived program.
const TASK: &str = "DFLAT_SHORT_LIVED_TASK";

/// The variable with the number of programs that each loop starts, if it differs from that of the
/// usual tests.
const PROGRAMS: &str = "DFLAT_SHORT_LIVED_PROGRAMS";

/// The task of the loop that adds rows, and the number of its programs.
const ADD: &str = "add";

/// The tasks of the loops that only read.
const READS: [&str; 2] = ["list", "look"];

/// The number of times that a program opens and closes the file: several, because starting a
/// process takes longer.
const OPENINGS: usize = 10;

/// One in this many programs is killed.
const KILLED: usize = 8;

fn ids(program: u32) -> Range<i32> {
    let first = i32::try_from(program as usize * OPENINGS).unwrap();
    first..first + OPENINGS as i32
}

/// Adds rows, each in a workspace of its own.
fn add(path: &Path, program: u32) -> Result<()> {
    // The test harness does not capture this output.
    let mut stdout = std::io::stdout();
    for id in ids(program) {
        let workspace = Workspace::open(path)?;
        let added = workspace.perform_changes([Other::TABLE], move |tx| {
            let note = Some(format!("{id}").repeat(300));
            tx.submit(OtherChangeRequest::creation(OtherData { id, note }))
                .map(drop)
        });
        added.wait()?;
        writeln!(stdout, "\nadded {id}").unwrap();
        workspace.shutdown()?;
    }
    Ok(())
}

/// Reads in all ways, with default options.
fn list(path: &Path, program: u32) -> Result<()> {
    for opening in 0..OPENINGS {
        let workspace = Workspace::open(path)?;
        let count = workspace.fetch::<Other>().count()?;
        let all = workspace.fetch::<Other>().all()?;
        assert!(all.len() >= count, "{} of {count} rows", all.len());
        match (program as usize + opening) % 8 {
            0 => {
                let report = workspace.check([Other::TABLE])?;
                assert!(report.is_sound(), "{:?}", report.problems);
            }
            1 => {
                let directory = tempfile::tempdir().unwrap();
                let copy = directory.path().join("copy.db");
                workspace.backup(&copy)?;
                let copied = Workspace::open(&copy)?.fetch::<Other>().count()?;
                assert!(copied >= all.len(), "{copied} of {} rows", all.len());
            }
            2 => {
                let snapshot = workspace.snapshot()?;
                let count = snapshot.fetch::<Other>().count()?;
                assert_eq!(snapshot.fetch::<Other>().all()?.len(), count);
            }
            3 => workspace.refresh()?,
            _ => {}
        }
        // Half of the workspaces are dropped without a shutdown.
        if opening % 2 == 0 {
            workspace.shutdown()?;
        }
    }
    Ok(())
}

/// Reads a file that was opened read-only. A read that overlaps a commit may be refused.
fn look(path: &Path) -> Result<()> {
    for _ in 0..OPENINGS {
        let workspace = Workspace::builder(path).read_only(true).open()?;
        match workspace.fetch::<Other>().all() {
            Err(error) if error.kind() == ErrorKind::Busy => {}
            read => drop(read?),
        }
        workspace.shutdown()?;
    }
    Ok(())
}

/// Not a test by itself: the program that the test below starts.
#[test]
fn the_program_that_lives_shortly() {
    let (Some(path), Ok(task)) = (std::env::var_os(PATH), std::env::var(TASK)) else {
        return;
    };
    let path = Path::new(&path);
    let (task, program) = task.split_once(' ').unwrap();
    let program = program.parse().unwrap();
    let outcome = match task {
        ADD => add(path, program),
        "list" => list(path, program),
        _ => look(path),
    };
    // The message has the causes of the error.
    outcome.unwrap_or_else(|error| panic!("{task}: {error:?}"));
}

fn run(path: &Path, task: &str, kill_after: Option<Duration>) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "faults::short_lived::the_program_that_lives_shortly",
            "--nocapture",
        ])
        .env(PATH, path)
        .env(TASK, task)
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if let Some(after) = kill_after {
        thread::sleep(after);
        child.kill().unwrap();
    }
    child.wait_with_output().unwrap()
}

// Promise: concurrency#C78
#[test]
fn short_lived_programs_meet_no_error() {
    let programs = std::env::var(PROGRAMS).map_or(70, |text| text.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let added = AtomicU32::new(0);
    let errors = thread::scope(|scope| {
        let loops = [[ADD].as_slice(), &READS, &READS].into_iter().enumerate();
        let loops = loops.map(|(number, tasks)| {
            let (path, added) = (&path, &added);
            scope.spawn(move || {
                let mut random = Random::new(number as u64 + 3);
                let mut errors = Vec::new();
                for program in 0..programs {
                    let is_killed = random.below(KILLED) == 0;
                    let kill_after = Duration::from_micros(random.below(20_000) as u64);
                    let task = tasks[usize::from(random.below(6) == 0) % tasks.len()];
                    let task = format!("{task} {program}");
                    let output = run(path, &task, is_killed.then_some(kill_after));
                    let text = String::from_utf8_lossy(&output.stdout);
                    let lines = text.lines().filter(|line| line.starts_with("added "));
                    added.fetch_add(u32::try_from(lines.count()).unwrap(), Ordering::Relaxed);
                    if !output.status.success() && !is_killed {
                        let text = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
                        errors.push(text);
                    }
                }
                errors
            })
        });
        let loops: Vec<_> = loops.collect();
        let errors = loops.into_iter().flat_map(|one| one.join().unwrap());
        errors.collect::<Vec<String>>()
    });
    assert!(
        errors.is_empty(),
        "{} errors: {}",
        errors.len(),
        errors.concat()
    );
    let workspace = Workspace::open(&path).unwrap();
    let count = workspace.fetch::<Other>().count().unwrap();
    let added = added.into_inner() as usize;
    // A program that was killed may have added one row more than it said.
    assert!(
        (added..=added + programs as usize).contains(&count),
        "{count} rows, of which {added} were acknowledged"
    );
    let report = workspace.check([Other::TABLE]).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
}
