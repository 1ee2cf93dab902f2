//! How often a process wakes that follows and to which nothing happens, and its work then.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use dflat::Workspace;
use dflat_testkit::fixture::{bounded, until};
use dflat_testkit::schema::Other;

use super::idle_follower::insert;
use crate::system_calls::{traced, whole_calls};

/// Where the process of the tests finds its file.
const PATH: &str = "DFLAT_WAKE_UPS_PATH";

/// The time before the wake-ups are counted.
const BEGINNING: Duration = Duration::from_secs(1);

/// The time in which the wake-ups are counted.
const SPAN: Duration = Duration::from_secs(7);

/// The output before and after this time.
const IDLE: &str = "is idle";
const WOKE: &str = "woke ";

/// Not a test by itself: a process that follows and prints how often its threads wake meanwhile.
#[test]
fn a_process_that_counts_its_wake_ups() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let workspace = Workspace::open(path).unwrap();
    let count = workspace.fetch::<Other>().live_count();
    let count = workspace.observe(count).unwrap().watch().unwrap();
    until(|| count.latest().is_some());
    say(IDLE);
    // The looks after the subscription end after 28 ms, and other threads end.
    std::thread::sleep(BEGINNING);
    let (start, before) = (Instant::now(), waits());
    std::thread::sleep(SPAN);
    let (time, after) = (start.elapsed(), waits());
    // A thread that has just ended counts as one that never waited.
    let woke = |(thread, waits): (OsString, u64)| {
        waits.saturating_sub(before.get(&thread).copied().unwrap_or(0))
    };
    let woke: u64 = after.into_iter().map(woke).sum();
    say(&format!("{WOKE}{woke} {}", time.as_millis()));
    drop(count);
    workspace.shutdown().unwrap();
}

/// The test harness does not capture this output.
fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    let line = format!("\n{line}\n");
    output.write_all(line.as_bytes()).unwrap();
    output.flush().unwrap();
}

/// How often each thread of this process has waited so far, without the calling one.
fn waits() -> HashMap<OsString, u64> {
    let own = std::fs::read_link("/proc/thread-self").unwrap();
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let threads = threads.map(|thread| thread.unwrap());
    let others = threads.filter(|thread| Some(&*thread.file_name()) != own.file_name());
    let waits = others.map(|thread| {
        // A thread that has just ended has no file.
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let mut lines = status.lines();
        let waits = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        let waits = waits.map_or(0, |waits| waits.trim().parse().unwrap());
        (thread.file_name(), waits)
    });
    waits.collect()
}

/// Prepares a process that counts its wake-ups, on a file with one object.
fn counting(mut program: Command, directory: &Path) -> Command {
    let path = directory.join("a.db");
    let workspace = Workspace::open(&path).unwrap();
    insert(&workspace, 1);
    workspace.shutdown().unwrap();
    let name = "other_programs::idle_wake_ups::a_process_that_counts_its_wake_ups";
    program
        .args(["--exact", name, "--nocapture"])
        .env(PATH, path);
    program
}

/// On a busy machine the process wakes less often. The test measures the real time, not the planned
/// time.
// Promise: live-queries#L77
#[test]
fn idle_process_that_follows_wakes_once_in_two_seconds() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let program = Command::new(std::env::current_exe().unwrap());
        let output = counting(program, directory.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let output = String::from_utf8(output.stdout).unwrap();
        let woke = output.lines().find_map(|line| line.strip_prefix(WOKE));
        let (woke, milliseconds) = woke.unwrap().split_once(' ').unwrap();
        let [woke, milliseconds]: [u64; 2] = [woke, milliseconds].map(|n| n.parse().unwrap());
        // One wake-up in two seconds, and one at each end of the span.
        let woke_max = milliseconds / 2000 + 2;
        assert!(woke <= woke_max, "{woke} times in {milliseconds} ms");
    });
}

// Promise: live-queries#L77
#[test]
fn idle_process_that_follows_reads_nothing() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let trace = directory.path().join("trace");
        let Some(program) = traced(&std::env::current_exe().unwrap(), &trace) else {
            return;
        };
        let output = counting(program, directory.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let trace = std::fs::read_to_string(trace).unwrap();
        let calls = whole_calls(&trace).into_iter();
        let calls = calls.skip_while(|call| !call.contains(IDLE));
        let calls: Vec<_> = calls.take_while(|call| !call.contains(WOKE)).collect();
        // The first check finds the files that the process itself has just changed.
        let is_timeout = |call: &str| call.starts_with("poll") && call.ends_with("(Timeout)");
        let is_check = |call: &String| is_timeout(call) && timeout(call) >= 1000;
        let mut checks = calls.iter().enumerate().filter(|(_, call)| is_check(call));
        let (second, _) = checks.nth(1).unwrap();
        assert!(calls[second..].iter().any(|call| call.contains("stat")));
        let reads = |call: &&String| {
            let reads = ["read", "pread64", "open", "write", "pwrite64", "mmap"];
            reads.iter().any(|name| call.starts_with(name)) && call.contains("a.db")
        };
        let reads: Vec<_> = calls[second..].iter().filter(reads).collect();
        assert!(reads.is_empty(), "{reads:#?}");
    });
}

/// The last argument of a call, in milliseconds.
fn timeout(call: &str) -> u64 {
    let (arguments, _) = call.rsplit_once('=').unwrap();
    let (_, last) = arguments.rsplit_once(", ").unwrap();
    last.trim_end().trim_end_matches(')').parse().unwrap()
}
