//! Objects inserted, read, changed and deleted, by one thread and by four.

use std::thread;
use std::time::Duration;

use super::{Outcome, Run, check, keys, timed};
use crate::Result;
use crate::record::{Change, Digest, PRIORITIES, Record, Shape, number};
use crate::store::Store;

/// How often a run repeats a read.
const READS: usize = 3;
/// The ranges that are read by an index, and the objects in each.
const RANGES: usize = 100;

impl Run<'_> {
    /// From nothing to a file with one object.
    pub(super) fn first_commit(&self) -> Result<Outcome> {
        let records = self.scenario.shape.records(1, self.scenario.bytes);
        let (store, time) = timed(|| {
            let store = self.open()?;
            store.session(0)?.insert(&records)?;
            Ok(store)
        })?;
        check(
            &store.session(0)?.fetch_all()?.digest(),
            &Digest::of(&records),
        )?;
        Ok(time.into())
    }

    pub(super) fn insert(&self) -> Result<Outcome> {
        let (records, store) = (self.records(), self.prepared()?);
        let mut session = store.session(0)?;
        let ((), time) = timed(|| session.insert(&records))?;
        check(&session.fetch_all()?.digest(), &Digest::of(&records))?;
        Ok(time.into())
    }

    /// Until the store is closed, so that all objects are where they stay.
    pub(super) fn import(&self) -> Result<Outcome> {
        let (records, store) = (self.records(), self.prepared()?);
        let ((), time) = timed(|| {
            store.session(0)?.insert(&records)?;
            drop(store);
            Ok(())
        })?;
        check(
            &self.open()?.session(0)?.fetch_all()?.digest(),
            &Digest::of(&records),
        )?;
        Ok(time.into())
    }

    /// Reads the objects that a closure reads, three times, and checks each.
    fn read(&self, wanted: Digest, mut read: impl FnMut() -> Result<Digest>) -> Result<Outcome> {
        // Unmeasured: the caches of a store are as full as in a program that has run for a while.
        check(&read()?, &wanted)?;
        let mut outcome = Outcome::default();
        for _ in 0..READS {
            let (digest, time) = timed(&mut read)?;
            check(&digest, &wanted)?;
            outcome.values.push(time.as_secs_f64() * 1e9);
        }
        Ok(outcome)
    }

    pub(super) fn scan(&self) -> Result<Outcome> {
        let records = self.records();
        let store = self.filled(&records)?;
        let mut session = store.session(0)?;
        // A sixth of all objects.
        let below = number(1);
        assert!(PRIORITIES > 1, "the scan leaves objects out");
        let found = records.iter().filter(|record| record.priority < below);
        self.read(Digest::of(found), || Ok(session.scan(below)?.digest()))
    }

    pub(super) fn fetch_all(&self) -> Result<Outcome> {
        let records = self.records();
        let store = self.filled(&records)?;
        let mut session = store.session(0)?;
        self.read(Digest::of(&records), || Ok(session.fetch_all()?.digest()))
    }

    pub(super) fn fetch_by_key(&self) -> Result<Outcome> {
        let records = self.records();
        let store = self.filled(&records)?;
        let mut session = store.session(0)?;
        let keys = scattered(&records);
        let wanted: Vec<_> = keys.iter().map(|record| Digest::of([*record])).collect();
        let all = Digest::of(keys.iter().copied());
        self.read(all, || {
            let mut found = Digest::default();
            for (record, wanted) in keys.iter().zip(&wanted) {
                let digest = session.get(&record.title)?;
                check(&digest, wanted)?;
                found.join(digest);
            }
            Ok(found)
        })
    }

    pub(super) fn scan_by_index(&self) -> Result<Outcome> {
        let records = self.records();
        let store = self.filled(&records)?;
        let mut session = store.session(0)?;
        let width = number(records.len() / RANGES).max(1);
        let all = Digest::of(&records);
        self.read(all, || {
            let mut found = Digest::default();
            for start in (0..number(records.len())).step_by(usize::try_from(width)?) {
                found.join(session.by_rank(start..start + width)?.digest());
            }
            Ok(found)
        })
    }

    pub(super) fn update_all(&self, indexed: bool) -> Result<Outcome> {
        let change = if indexed {
            Change::Indexed {
                count: self.scenario.count,
                all: self.scenario.shape == Shape::Listed,
            }
        } else {
            Change::Priority
        };
        self.change(change, |store, _| store.session(0)?.update_all(change))
    }

    pub(super) fn update_each(&self) -> Result<Outcome> {
        self.change(Change::Priority, |store, keys| {
            store.session(0)?.update_each(keys, Change::Priority)
        })
    }

    pub(super) fn update_waited(&self) -> Result<Outcome> {
        self.change(Change::Priority, |store, keys| {
            let mut session = store.session(0)?;
            let mut update = |key: &String| session.update_one(key, Change::Priority);
            keys.iter().try_for_each(&mut update)
        })
    }

    /// Changes every object.
    fn change(
        &self,
        change: Change,
        work: impl FnOnce(&dyn Store, &[String]) -> Result<()>,
    ) -> Result<Outcome> {
        let mut records = self.records();
        let store = self.filled(&records)?;
        let keys = keys(&records);
        let ((), time) = timed(|| work(&*store, &keys))?;
        records.iter_mut().for_each(|record| change.apply(record));
        let mut session = store.session(0)?;
        check(&session.fetch_all()?.digest(), &Digest::of(&records))?;
        if self.scenario.shape.indexes() > 0 {
            // The index has the new values, too.
            let some = 0..number(records.len() / 10);
            let wanted = Digest::of_ranks(&records, &some);
            check(&session.by_rank(some)?.digest(), &wanted)?;
        }
        Ok(time.into())
    }

    pub(super) fn delete(&self) -> Result<Outcome> {
        let records = self.records();
        let store = self.filled(&records)?;
        let mut session = store.session(0)?;
        let keys = keys(&records);
        let ((), time) = timed(|| session.delete(&keys))?;
        check(&session.fetch_all()?.digest(), &Digest::default())?;
        Ok(time.into())
    }

    pub(super) fn insert_by_threads(&self) -> Result<Outcome> {
        let (records, store) = (self.records(), self.prepared()?);
        let time = by_threads(&*store, |store, table| {
            store.session(table)?.insert(&records)
        })?;
        for table in 0..self.scenario.shape.tables() {
            let digest = store.session(table)?.fetch_all()?.digest();
            check(&digest, &Digest::of(&records))?;
        }
        Ok(time.into())
    }

    pub(super) fn delete_by_threads(&self) -> Result<Outcome> {
        let (records, store) = (self.records(), self.prepared()?);
        for table in 0..self.scenario.shape.tables() {
            store.session(table)?.insert(&records)?;
        }
        let keys = keys(&records);
        let time = by_threads(&*store, |store, table| store.session(table)?.delete(&keys))?;
        for table in 0..self.scenario.shape.tables() {
            let digest = store.session(table)?.fetch_all()?.digest();
            check(&digest, &Digest::default())?;
        }
        Ok(time.into())
    }
}

/// Objects in an order that has nothing to do with their keys.
fn scattered(records: &[Record]) -> Vec<&Record> {
    let mut scattered: Vec<_> = records.iter().collect();
    scattered.sort_unstable_by_key(|record| record.rank);
    scattered
}

/// The time in which four threads have worked on a table each.
fn by_threads(
    store: &dyn Store,
    work: impl Fn(&dyn Store, usize) -> Result<()> + Sync,
) -> Result<Duration> {
    let work = &work;
    let tables = Shape::Plain.tables();
    let ((), time) = timed(|| {
        thread::scope(|scope| {
            let start = |table| scope.spawn(move || work(store, table));
            let threads: Vec<_> = (0..tables).map(start).collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
        })
    })?;
    Ok(time)
}
