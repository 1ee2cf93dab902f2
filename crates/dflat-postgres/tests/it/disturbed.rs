//! Histories of several programs while connections are ended, processes of the server are killed,
//! and the server is restarted.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use dflat::Workspace;
use dflat_testkit::fixture::{bounded, until};
use dflat_testkit::history::{Clock, Event, History, Recorder, check, fill, last_lists};

use crate::engines::is_skipped;
use crate::server::{Server, new_schema, new_server, server, sql};

/// A connection of a program that works in a schema, at random.
fn process_of(server: &Server, schema: &str) -> Option<String> {
    let query = format!(
        "SELECT pid FROM pg_stat_activity WHERE application_name = '{schema}' \
         AND state <> 'idle' ORDER BY random() LIMIT 1"
    );
    let rows = sql(server, &query).ok()?;
    rows.first().and_then(|row| row.first()).cloned()
}

/// A program on a schema.
fn program(server: &Server, schema: &str) -> Workspace {
    let address = format!("{} application_name='{schema}'", server.address());
    let workspace = Workspace::server(&address)
        .schema(schema)
        .busy_timeout(Duration::from_secs(20));
    workspace.open().unwrap()
}

/// The events of the programs, with the numbers of their programs. `disturb` is called again and
/// again; if the programs end before something was disturbed, they run again.
fn run_disturbed(
    recorders: &[Recorder<'_>],
    pause: Duration,
    disturb: &(impl Fn() -> bool + Sync),
) -> Vec<(u64, Vec<Event>)> {
    let events: Mutex<Vec<(u64, Vec<Event>)>> = Mutex::default();
    let (is_over, disturbed) = (AtomicBool::new(false), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                thread::sleep(pause);
                while !is_over.load(Ordering::SeqCst) {
                    if disturb() {
                        disturbed.fetch_add(1, Ordering::SeqCst);
                        break;
                    }
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
        let run = |(number, recorder): (u64, &Recorder<'_>)| {
            for round in 0..100 {
                let number_of_run = number + 3 * round;
                let done = recorder.run(7 + number_of_run, 1 + number_of_run * 1_000);
                events.lock().unwrap().push((number, done));
                if disturbed.load(Ordering::SeqCst) > 0 {
                    break;
                }
            }
        };
        thread::scope(|scope| {
            for numbered in (0..).zip(recorders) {
                scope.spawn(move || run(numbered));
            }
        });
        is_over.store(true, Ordering::SeqCst);
    });
    assert!(disturbed.into_inner() > 0, "nothing was disturbed");
    events.into_inner().unwrap()
}

/// Records the histories of three programs while `disturb` is called again and again. Checks that
/// they are strictly serializable, that no acknowledged commit is lost, and that each program gets
/// all commits, one by one.
fn check_disturbed(server: &Server, pause: Duration, disturb: impl Fn(&str) -> bool + Sync) {
    let schema = new_schema();
    let programs = [0; 3].map(|_| program(server, &schema));
    fill(&programs[0]);
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::of_file(&directory.path().join("clock"));
    let recorders = programs
        .each_ref()
        .map(|program| Recorder::new(program, clock.clone()).disturbed());
    let done = run_disturbed(&recorders, pause, &|| disturb(&schema));
    // The server may still recover from the last disturbance.
    until(|| sql(server, "SELECT 1").is_ok());
    for program in &programs {
        // The first use of a connection finds out that it was ended.
        let refreshed = (0..20).any(|_| program.refresh().is_ok());
        assert!(refreshed, "a program does not find the server again");
        program.settle().unwrap();
    }
    let last = last_lists(&programs[0]);
    for (at, recorder) in (0_usize..).zip(recorders) {
        let events = done.iter().flat_map(|(number, events)| {
            let events = events.iter().cloned();
            events.map(|mut event| {
                event.ordered &= *number == at as u64;
                event.decide(&last);
                event
            })
        });
        // A commit in doubt may have been made, so everything is read again.
        let is_coalesced = programs[at].stats().renewals > 0;
        let doubts = done.iter().filter(|(number, _)| *number == at as u64);
        let doubts = doubts
            .flat_map(|(_, events)| events)
            .any(|event| event.in_doubt);
        assert!(
            !is_coalesced || doubts,
            "commits were not delivered one by one"
        );
        let history = History {
            events: events.collect(),
            deliveries: recorder.end(),
            last: last.clone(),
            is_coalesced,
        };
        let committed = history.events.iter().filter(|event| event.committed);
        assert!(committed.count() > 20, "too few commits");
        check(&history).unwrap();
    }
}

#[test]
fn histories_are_strictly_serializable_while_connections_end() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let server = server().unwrap();
        check_disturbed(server, Duration::from_millis(40), |schema| {
            let Some(process) = process_of(server, schema) else {
                return false;
            };
            sql(server, &format!("SELECT pg_terminate_backend({process})")).is_ok()
        });
    });
}

#[test]
fn histories_are_strictly_serializable_while_processes_of_the_server_are_killed() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let server = new_server(&[]).unwrap();
        check_disturbed(&server, Duration::from_millis(700), |schema| {
            let process = process_of(&server, schema);
            // After the death of one, the server ends all its processes, and recovers.
            process.is_some_and(|process| server.process.kill(&process))
        });
    });
}

#[test]
fn histories_are_strictly_serializable_while_the_server_restarts() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let server = new_server(&[]).unwrap();
        let restarts = AtomicU32::new(0);
        check_disturbed(&server, Duration::from_millis(1_500), |_| {
            let is_even = restarts.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
            server.process.restart(if is_even { "INT" } else { "QUIT" });
            true
        });
    });
}
