//! Random reads by key, mixed with updates that are waited for, by several threads.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use super::{Outcome, Run, check, keys};
use crate::Result;
use crate::record::{Change, Digest};
use crate::store::Store;

/// The operations of all threads of a run together.
const OPERATIONS: usize = 8_000;
/// The unmeasured reads of each thread before: the caches of a store are as full as in a program
/// that has run for a while.
const READS_BEFORE: usize = 2_000;

/// Random numbers by xorshift, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (limit as u64)).unwrap_or(0)
    }
}

/// The load of a thread.
#[derive(Clone, Copy)]
struct Load {
    operations: usize,
    /// So many of a hundred operations read.
    reads: usize,
    seed: usize,
}

/// The work of a thread.
struct Done {
    /// The times of its operations.
    latencies: Vec<u64>,
    /// The keys that it updated.
    updated: Vec<usize>,
    start: Instant,
    end: Instant,
}

impl Run<'_> {
    /// The value is the time of one operation: that of all, divided by their number.
    pub(super) fn mixed(&self, reads: usize, threads: usize) -> Result<Outcome> {
        let mut records = self.records();
        let store = self.filled(&records)?;
        let keys = keys(&records);
        let operations = OPERATIONS.min(2 * records.len()) / threads;
        let begin = Barrier::new(threads);
        let done = thread::scope(|scope| {
            let (store, keys, begin) = (&*store, &*keys, &begin);
            let start = |seed| {
                let load = Load {
                    operations,
                    reads,
                    seed,
                };
                scope.spawn(move || work(store, keys, load, begin))
            };
            let running: Vec<_> = (0..threads).map(start).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, Result<Done>>| {
                thread.join().map_err(|_| "a thread panicked")?
            };
            running.into_iter().map(join).collect::<Result<Vec<_>>>()
        })?;
        let start = done.iter().map(|done| done.start).min();
        let end = done.iter().map(|done| done.end).max();
        let time = start.zip(end).map(|(start, end)| end.duration_since(start));
        let time = time.ok_or("no thread has run")?;
        let mut outcome = Outcome::of(time.as_secs_f64() * 1e9 / (operations * threads) as f64);
        for Done {
            latencies, updated, ..
        } in done
        {
            outcome.latencies.extend(latencies);
            for place in updated {
                Change::Priority.apply(&mut records[place]);
            }
        }
        check(
            &store.session(0)?.fetch_all()?.digest(),
            &Digest::of(&records),
        )?;
        Ok(outcome)
    }
}

fn work(store: &dyn Store, keys: &[String], load: Load, begin: &Barrier) -> Result<Done> {
    let mut session = store.session(0);
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (load.seed as u64 + 1));
    if let Ok(session) = &mut session {
        for _ in 0..READS_BEFORE {
            // The error of a store comes back from a measured read.
            let _ = session.get(&keys[random.below(keys.len())]);
        }
    }
    // Also without a session, so that no other thread waits for this one.
    begin.wait();
    let mut session = session?;
    let mut latencies = Vec::with_capacity(load.operations);
    let mut updated = Vec::new();
    let start = Instant::now();
    for _ in 0..load.operations {
        let place = random.below(keys.len());
        let start = Instant::now();
        if random.below(100) < load.reads {
            check(&session.get(&keys[place])?.count, &1)?;
        } else {
            session.update_one(&keys[place], Change::Priority)?;
            updated.push(place);
        }
        latencies.push(u64::try_from(start.elapsed().as_nanos())?);
    }
    Ok(Done {
        latencies,
        updated,
        start,
        end: Instant::now(),
    })
}
