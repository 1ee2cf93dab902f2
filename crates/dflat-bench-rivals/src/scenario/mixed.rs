//! Random reads by key, mixed with updates that are waited for, by several threads.

use std::thread;
use std::time::Instant;

use super::{Outcome, Run, check, keys, timed};
use crate::Result;
use crate::record::{Change, Digest};
use crate::store::Store;

/// The operations of all threads of a run together.
const OPERATIONS: usize = 8_000;

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

/// The work of a thread: the times of its operations, and the keys that it updated.
type Done = (Vec<u64>, Vec<usize>);

impl Run<'_> {
    /// The value is the time of one operation: that of all, divided by their number.
    pub(super) fn mixed(&self, reads: usize, threads: usize) -> Result<Outcome> {
        let mut records = self.records();
        let store = self.filled(&records)?;
        let keys = keys(&records);
        let operations = OPERATIONS.min(2 * records.len()) / threads;
        let (done, time) = timed(|| {
            thread::scope(|scope| {
                let (store, keys) = (&*store, &*keys);
                let start = |seed| {
                    let load = Load {
                        operations,
                        reads,
                        seed,
                    };
                    scope.spawn(move || work(store, keys, load))
                };
                let running: Vec<_> = (0..threads).map(start).collect();
                let join = |thread: thread::ScopedJoinHandle<'_, Result<Done>>| {
                    thread.join().map_err(|_| "a thread panicked")?
                };
                running.into_iter().map(join).collect::<Result<Vec<_>>>()
            })
        })?;
        let mut outcome = Outcome::of(time.as_secs_f64() * 1e9 / (operations * threads) as f64);
        for (latencies, updated) in done {
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

fn work(store: &dyn Store, keys: &[String], load: Load) -> Result<Done> {
    let mut session = store.session(0)?;
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (load.seed as u64 + 1));
    let mut latencies = Vec::with_capacity(load.operations);
    let mut updated = Vec::new();
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
    Ok((latencies, updated))
}
