//! Files and memory: their sizes, cold opening, and the dictionary.

use super::{Outcome, Run, check, keys, timed};
use crate::record::{Change, Digest, number};
use crate::{Result, dictionary, usage};

/// How often a file is opened.
const OPENINGS: usize = 3;
/// The commits whose written bytes are counted.
const COMMITS: usize = 1000;
/// The keys of a dictionary.
const KEYS: usize = 40_000;

impl Run<'_> {
    /// Opening a store whose files are not in memory, and a query of a hundred objects by an index.
    pub(super) fn open_cold(&self) -> Result<Outcome> {
        let records = self.records();
        drop(self.filled(&records)?);
        let mut outcome = Outcome::default();
        for opening in 0..OPENINGS {
            usage::evict(self.folder)?;
            // Another range each time.
            let start = number(records.len() / (OPENINGS + 1) * opening);
            let ranks = start..start + number(100.min(records.len()));
            let wanted = Digest::of_ranks(&records, &ranks);
            let (digest, time) = timed(|| {
                let store = self.open()?;
                let found = store.session(0)?.by_rank(ranks)?.digest();
                Ok(found)
            })?;
            check(&digest, &wanted)?;
            outcome.values.push(time.as_secs_f64() * 1e9);
        }
        Ok(outcome)
    }

    /// The bytes of a closed store for each byte of its objects.
    pub(super) fn file_bytes(&self) -> Result<Outcome> {
        let records = self.records();
        let store = self.filled(&records)?;
        check(
            &store.session(0)?.fetch_all()?.digest(),
            &Digest::of(&records),
        )?;
        drop(store);
        let bytes = usage::folder_bytes(self.folder)? as f64;
        Ok(Outcome::of(bytes / self.payload_bytes()))
    }

    /// The bytes that an import writes, for each byte of its objects.
    pub(super) fn written_bytes(&self) -> Result<Outcome> {
        let records = self.records();
        let before = usage::written_bytes()?;
        drop(self.filled(&records)?);
        let written = usage::written_bytes()? - before;
        check(
            &self.open()?.session(0)?.fetch_all()?.digest(),
            &Digest::of(&records),
        )?;
        Ok(Outcome::of(written as f64 / self.payload_bytes()))
    }

    /// The bytes that a commit writes, which changes a number of one object.
    pub(super) fn written_by_commits(&self) -> Result<Outcome> {
        let mut records = self.records();
        drop(self.filled(&records)?);
        let commits = COMMITS.min(records.len());
        let store = self.open()?;
        let before = usage::written_bytes()?;
        let mut session = store.session(0)?;
        for key in &keys(&records)[..commits] {
            session.update_one(key, Change::Priority)?;
        }
        drop(session);
        drop(store);
        let written = usage::written_bytes()? - before;
        records[..commits]
            .iter_mut()
            .for_each(|record| Change::Priority.apply(record));
        check(
            &self.open()?.session(0)?.fetch_all()?.digest(),
            &Digest::of(&records),
        )?;
        Ok(Outcome::of(written as f64 / commits as f64))
    }

    fn payload_bytes(&self) -> f64 {
        (self.scenario.count * self.scenario.bytes) as f64
    }

    /// The memory of each object in a result of all objects.
    pub(super) fn result_bytes(&self) -> Result<Outcome> {
        let records = self.records();
        let store = self.filled(&records)?;
        let mut session = store.session(0)?;
        // The first read fills the caches, which are no part of the result.
        let wanted = Digest::of(&records);
        check(&session.fetch_all()?.digest(), &wanted)?;
        let before = usage::held_bytes();
        let held = session.fetch_all()?;
        let bytes = usage::held_bytes().saturating_sub(before);
        check(&held.digest(), &wanted)?;
        Ok(Outcome::of(bytes as f64 / records.len() as f64))
    }

    pub(super) fn dictionary(&self, work: usize) -> Result<Outcome> {
        let name = match self.entry.name {
            "rusqlite" => "SQLite",
            "redb" => "redb, no sync",
            name => name,
        };
        let found = dictionary::STORES.iter().find(|store| store.0 == name);
        let (_, open) = found.ok_or("no such dictionary")?;
        let count = KEYS.min(self.scenario.count);
        let keys: Vec<String> = (0..count).map(|i| format!("key{i}")).collect();
        let work = dictionary::WORK.get(work).ok_or("no such work")?;
        Ok(work.run(*open, &keys)?.into())
    }
}
