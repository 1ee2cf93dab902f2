//! Turns: the order in which transactions run.

use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use dflat_engine::transaction::{Concurrency, Job, Scheduler};

const PATIENCE: Duration = Duration::from_secs(20);

fn next<T>(receiver: &Receiver<T>) -> T {
    receiver
        .recv_timeout(PATIENCE)
        .expect("a job should have run by now")
}

/// A job that sends its name when it starts and ends when it is released.
fn gated(name: &'static str, started: &Sender<&'static str>) -> (Box<dyn Job>, Sender<()>) {
    let (go, gate) = mpsc::channel::<()>();
    let started = started.clone();
    let job = Box::new(move || {
        started.send(name).unwrap();
        let _ = gate.recv_timeout(PATIENCE);
    });
    (job, go)
}

#[test]
fn overlapping_jobs_run_in_order_of_call_and_disjoint_ones_together() {
    let scheduler = Scheduler::new(Concurrency::MultiWriter, 64, Box::new(|_| {}));
    let (send, started) = mpsc::channel();
    let sets: [(&'static str, &[&str]); 5] = [
        ("ab", &["a", "b"]),
        ("a", &["a"]),
        ("b", &["b", "b"]),
        ("ba", &["b", "a"]),
        ("c", &["c"]),
    ];
    let gates: Vec<_> = sets
        .into_iter()
        .map(|(name, tables)| {
            let (job, gate) = gated(name, &send);
            scheduler.enqueue(tables.iter().copied(), job).unwrap();
            gate
        })
        .collect();
    let mut first = [next(&started), next(&started)];
    first.sort_unstable();
    assert_eq!(first, ["ab", "c"]);
    assert!(started.try_recv().is_err(), "a and b wait for ab");
    gates[0].send(()).unwrap();
    let mut second = [next(&started), next(&started)];
    second.sort_unstable();
    assert_eq!(second, ["a", "b"]);
    gates[1].send(()).unwrap();
    assert!(
        started.recv_timeout(Duration::from_millis(50)).is_err(),
        "ba waits for b too"
    );
    gates[2].send(()).unwrap();
    assert_eq!(next(&started), "ba");
    drop(gates);
    scheduler.close();
}

#[test]
fn one_writer_runs_everything_in_order_of_call() {
    let scheduler = Scheduler::new(Concurrency::SingleWriter, 64, Box::new(|_| {}));
    let (send, ran) = mpsc::channel();
    for number in 0..100 {
        let send = send.clone();
        let table = if number % 2 == 0 { "even" } else { "odd" };
        let job = Box::new(move || send.send(number).unwrap());
        scheduler.enqueue([table], job).unwrap();
    }
    scheduler.close();
    assert_eq!(
        ran.try_iter().collect::<Vec<_>>(),
        (0..100).collect::<Vec<_>>()
    );
}

#[test]
fn closing_finishes_queued_jobs_and_refuses_later_ones() {
    let scheduler = Scheduler::new(Concurrency::MultiWriter, 2, Box::new(|_| {}));
    let (send, ran) = mpsc::channel();
    for number in 0..1_000 {
        let send = send.clone();
        let tables = [["a", "b", "c"][number % 3], ["a", "c", "d"][number % 7 % 3]];
        let job = Box::new(move || send.send(number).unwrap());
        scheduler.enqueue(tables, job).unwrap();
    }
    scheduler.close();
    assert_eq!(ran.try_iter().count(), 1_000);
    assert!(scheduler.enqueue(["a"], Box::new(|| {})).is_err());
    scheduler.close();
}

#[test]
fn jobs_queued_from_many_threads_with_overlapping_sets_all_run() {
    let scheduler = Scheduler::new(Concurrency::MultiWriter, 8, Box::new(|_| {}));
    let (send, ran) = mpsc::channel();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (scheduler, send) = (&scheduler, send.clone());
            scope.spawn(move || {
                for number in 0..200 {
                    let send = send.clone();
                    let sets: [&[&str]; 4] = [&["a", "b"], &["b", "a"], &["b", "c"], &["c", "a"]];
                    let tables = sets[(thread + number) % 4].iter().copied();
                    let job = Box::new(move || send.send(()).unwrap());
                    scheduler.enqueue(tables, job).unwrap();
                }
            });
        }
    });
    for _ in 0..1_600 {
        next(&ran);
    }
    scheduler.close();
}
