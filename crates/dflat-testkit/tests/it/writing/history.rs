//! Random concurrent transactions are strictly serializable, and delivered in order.

use std::sync::Arc;

use dflat::Workspace;
use dflat_engine::engine::EngineOptions;
use dflat_engine::storage::{Backend, MemoryBackend};
use dflat_engine::transaction::Concurrency;
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::bounded;
use dflat_testkit::history::{Delivery, Event, History, Reading, Register, check, record};
use dflat_testkit::seeds;

/// The file of the seeds that failed once, which are run first.
const SEEDS_FILE: &str = "tests/history_seeds.txt";

fn each_seed(one: impl Fn(u64)) {
    let kept = seeds::kept(SEEDS_FILE);
    let kept = kept.iter().map(|seed| seed.parse().unwrap());
    for seed in kept.chain(0..10) {
        seeds::run(SEEDS_FILE, seed, &one);
    }
}

fn run(backend: Arc<dyn Backend>, concurrency: Concurrency, threads_max: usize, seed: u64) {
    let options = EngineOptions {
        concurrency,
        threads_max,
        ..EngineOptions::default()
    };
    let workspace = Workspace::on_backend(backend, options.clone());
    let history = record(&workspace, seed);
    assert!(
        history
            .events
            .iter()
            .filter(|event| event.committed)
            .count()
            > 100
    );
    if let Err(error) = check(&history) {
        panic!("seed {seed}, {options:?}: {error}\n{history:#?}");
    }
}

fn modes(seed: u64, backend: impl Fn() -> Arc<dyn Backend>) {
    run(backend(), Concurrency::MultiWriter, 64, seed);
    run(backend(), Concurrency::MultiWriter, 2, seed);
    run(backend(), Concurrency::SingleWriter, 64, seed);
}

// Promise: concurrency#C1, compatibility#P5
#[test]
fn random_transactions_in_memory_are_strictly_serializable_and_delivered_in_order() {
    each_seed(|seed| bounded(move || modes(seed, || MemoryBackend::new())));
}

// Promise: concurrency#C1, compatibility#P5
#[test]
fn random_transactions_on_a_file_are_strictly_serializable_and_delivered_in_order() {
    each_seed(|seed| {
        bounded(move || {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path();
            modes(seed, || {
                let name = format!("{}.db", path.read_dir().unwrap().count());
                SqliteBackend::open(path.join(name), SqliteOptions::default()).unwrap()
            });
        });
    });
}

const A: Register = Register { kind: 0, key: 0 };
const B: Register = Register { kind: 1, key: 0 };

fn at(register: Register, list: &[u64]) -> Reading {
    let list = list.to_vec();
    Reading { register, list }
}

/// A committed transaction that reads and appends.
fn event(
    id: u64,
    (called, answered): (u64, u64),
    reads: &[Reading],
    appends: &[Register],
) -> Event {
    Event {
        id,
        called,
        answered,
        committed: true,
        in_doubt: false,
        reads: reads.to_vec(),
        appends: appends.to_vec(),
        ordered: true,
    }
}

fn delivery(moment: u64, reading: Reading) -> Delivery {
    Delivery { moment, reading }
}

/// A good history with two transactions, one after the other, from which tests make bad ones.
fn good() -> History {
    History {
        events: vec![
            event(1, (10, 20), &[at(A, &[])], &[A]),
            event(2, (30, 40), &[at(A, &[1]), at(B, &[])], &[A, B]),
        ],
        deliveries: vec![
            delivery(15, at(A, &[1])),
            delivery(35, at(A, &[1, 2])),
            delivery(36, at(B, &[2])),
        ],
        last: vec![at(A, &[1, 2]), at(B, &[2])],
        ..History::default()
    }
}

/// The checker refuses the good history after a change, for this reason.
#[track_caller]
fn refuses(reason: &str, spoil: impl FnOnce(&mut History)) {
    let mut history = good();
    spoil(&mut history);
    let error = check(&history).expect_err("the history is bad");
    assert!(error.contains(reason), "{error}");
}

#[test]
fn checker_accepts_a_good_history() {
    assert_eq!(check(&good()), Ok(()));
}

// Promise: concurrency#C2
#[test]
fn checker_finds_a_lost_update() {
    refuses("lost [1]", |history| history.last[0] = at(A, &[2]));
}

// Promise: concurrency#C2
#[test]
fn checker_finds_a_change_that_was_not_committed() {
    refuses("has [1]", |history| history.events[0].committed = false);
    refuses("has [7]", |history| history.last[1] = at(B, &[2, 7]));
}

// Promise: concurrency#C2
#[test]
fn checker_finds_a_change_made_twice() {
    refuses("twice", |history| history.last[1] = at(B, &[2, 2]));
}

// Promise: concurrency#C2
#[test]
fn checker_finds_a_lost_object() {
    refuses("was lost", |history| drop(history.last.pop()));
}

// Promise: concurrency#C2
#[test]
fn checker_finds_a_read_of_an_undone_change() {
    refuses("no beginning", |history| {
        history.events[1].reads[0] = at(A, &[9])
    });
}

// Promise: concurrency#C2
#[test]
fn checker_finds_a_read_that_is_out_of_date() {
    refuses("no order", |history| {
        let reads = [at(A, &[1]), at(B, &[])];
        history.events.push(event(3, (50, 60), &reads, &[]));
    });
}

// Promise: concurrency#C2
#[test]
fn checker_finds_a_torn_read() {
    refuses("no order", |history| {
        // This transaction overlaps the second one, and reads half of its appends.
        let reads = [at(A, &[1, 2]), at(B, &[])];
        history.events.push(event(3, (30, 60), &reads, &[]));
    });
}

// Promise: concurrency#C2
#[test]
fn checker_finds_write_skew() {
    let history = History {
        events: vec![
            event(1, (10, 20), &[at(B, &[])], &[A]),
            event(2, (11, 21), &[at(A, &[])], &[B]),
        ],
        deliveries: vec![delivery(15, at(A, &[1])), delivery(16, at(B, &[2]))],
        last: vec![at(A, &[1]), at(B, &[2])],
        ..History::default()
    };
    assert!(check(&history).unwrap_err().contains("no order"));
}

// Promise: concurrency#C2
#[test]
fn checker_finds_completions_out_of_order() {
    refuses("completions", |history| {
        history.events[0].answered = 45;
        history.deliveries.clear();
    });
}

// Promise: concurrency#C2
#[test]
fn checker_finds_deliveries_that_are_missing_twice_early_or_late() {
    refuses("got 1 deliveries", |history| {
        drop(history.deliveries.remove(1))
    });
    refuses("instead", |history| {
        history.deliveries.insert(0, delivery(14, at(A, &[1])));
    });
    refuses("instead", |history| history.deliveries.swap(0, 1));
    refuses("later completion", |history| {
        history.deliveries[0].moment = 25
    });
    refuses("later completion", |history| {
        history.deliveries.pop();
        history.deliveries.insert(0, delivery(12, at(B, &[2])));
    });
}
