//! The scenarios: pieces of work, each of which a store does and an oracle checks.

mod deliver;
mod files;
mod list;
mod mixed;
mod objects;
mod syncs;

use std::path::Path;
use std::time::{Duration, Instant};

use crate::Result;
use crate::record::{Record, Shape};
use crate::store::{Entry, Store};

pub use list::ALL;
pub use syncs::commit;

/// A piece of work with a name.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name in files and on the page.
    pub name: &'static str,
    /// The group that it belongs to on the page.
    pub group: &'static str,
    /// The measured work, for readers of the page.
    pub about: &'static str,
    /// The unit of the measured number.
    pub unit: Unit,
    shape: Shape,
    /// The number of objects.
    pub count: usize,
    /// The bytes of an object, about.
    pub bytes: usize,
    work: Work,
}

/// The unit of a measured number; less is better in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// A number, such as bytes for each byte, or syncs for each commit.
    Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    FirstCommit,
    Insert,
    Import,
    Scan,
    ScanByIndex,
    FetchAll,
    FetchByKey,
    /// The priorities, or all indexed values.
    UpdateAll {
        indexed: bool,
    },
    UpdateEach,
    UpdateWaited,
    Delete,
    InsertByThreads,
    DeleteByThreads,
    /// So many of a hundred operations read, by so many threads.
    Mixed {
        reads: usize,
        threads: usize,
    },
    Open,
    FileBytes,
    WrittenBytes,
    WrittenByCommits,
    Syncs,
    ResultBytes,
    Subscriptions(Subscriptions),
    SubscriptionBytes,
    Dictionary(usize),
}

/// The subjects of subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subscriptions {
    /// Results of one object each, by its key.
    Results,
    Objects,
    /// Results of a tenth of all objects each.
    Ranges,
}

/// The measurements of one run, which made its objects once.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The measured numbers, in the scenario's unit.
    pub values: Vec<f64>,
    /// The times of single operations, in nanoseconds, where these were measured.
    pub latencies: Vec<u64>,
}

impl From<Duration> for Outcome {
    fn from(time: Duration) -> Self {
        Self::of(time.as_secs_f64() * 1e9)
    }
}

impl Outcome {
    fn of(value: f64) -> Self {
        Self {
            values: vec![value],
            latencies: Vec::new(),
        }
    }
}

/// A run: the scenario with its size, the store, and a folder for its files.
struct Run<'r> {
    scenario: &'r Scenario,
    entry: &'r Entry,
    folder: &'r Path,
}

impl Scenario {
    /// Why a store has no figure, if it has none.
    pub fn reason_against(&self, store: &str) -> Option<&'static str> {
        let is_small = self.count <= 10_000 && self.shape == Shape::Plain && self.bytes == 1024;
        match self.work {
            Work::Dictionary(_) => match store {
                "Dflat" | "rusqlite" | "redb" | "JSON file" => None,
                _ => Some("one store of each kind takes part"),
            },
            Work::Subscriptions(_) | Work::SubscriptionBytes => self.against_watching(store),
            Work::Import
            | Work::Open
            | Work::ScanByIndex
            | Work::Mixed { .. }
            | Work::UpdateEach
            | Work::UpdateWaited
            | Work::WrittenByCommits
            | Work::Syncs
            | Work::InsertByThreads
            | Work::DeleteByThreads
                if store == "JSON file" =>
            {
                Some("each change writes the whole file")
            }
            _ if store == "JSON file" && !is_small => Some("a whole file is for few objects"),
            _ if store == "diesel" && self.shape == Shape::Nested => {
                Some("the same tables and SQL as with rusqlite")
            }
            _ => None,
        }
    }

    fn against_watching(&self, store: &str) -> Option<&'static str> {
        match (store, self.work) {
            ("Dflat", _) => None,
            ("rusqlite", Work::Subscriptions(_)) => None,
            ("native_db", Work::Subscriptions(Subscriptions::Ranges)) => {
                Some("it watches objects, and keeps no results of queries")
            }
            ("native_db", _) => None,
            ("rusqlite", _) => Some("a list of queries in the program, which holds no results"),
            _ => Some("it has no live queries"),
        }
    }

    /// The scenario with at most so many objects, for a quick look.
    pub fn reduced(&self, count: usize) -> Self {
        Self {
            count: self.count.min(count),
            ..*self
        }
    }

    /// Does the work once, in a folder of its own.
    ///
    /// # Errors
    /// If the store fails, or returns a wrong result.
    pub fn run(&self, entry: &Entry, folder: &Path) -> Result<Outcome> {
        let run = Run {
            scenario: self,
            entry,
            folder,
        };
        let outcome = match self.work {
            Work::FirstCommit => run.first_commit(),
            Work::Insert => run.insert(),
            Work::Import => run.import(),
            Work::Scan => run.scan(),
            Work::ScanByIndex => run.scan_by_index(),
            Work::FetchAll => run.fetch_all(),
            Work::FetchByKey => run.fetch_by_key(),
            Work::UpdateAll { indexed } => run.update_all(indexed),
            Work::UpdateEach => run.update_each(),
            Work::UpdateWaited => run.update_waited(),
            Work::Delete => run.delete(),
            Work::InsertByThreads => run.insert_by_threads(),
            Work::DeleteByThreads => run.delete_by_threads(),
            Work::Mixed { reads, threads } => run.mixed(reads, threads),
            Work::Open => run.open_cold(),
            Work::FileBytes => run.file_bytes(),
            Work::WrittenBytes => run.written_bytes(),
            Work::WrittenByCommits => run.written_by_commits(),
            Work::Syncs => run.syncs(),
            Work::ResultBytes => run.result_bytes(),
            Work::Subscriptions(kind) => run.deliver(kind),
            Work::SubscriptionBytes => run.subscription_bytes(),
            Work::Dictionary(work) => run.dictionary(work),
        };
        outcome.map_err(|error| format!("{}, {}: {error}", self.name, entry.name).into())
    }
}

impl Run<'_> {
    fn open(&self) -> Result<Box<dyn Store>> {
        (self.entry.open)(self.folder, self.scenario.shape)
    }

    /// An empty store with its tables.
    fn prepared(&self) -> Result<Box<dyn Store>> {
        let store = self.open()?;
        store.prepare()?;
        Ok(store)
    }

    fn records(&self) -> Vec<Record> {
        self.scenario
            .shape
            .records(self.scenario.count, self.scenario.bytes)
    }

    /// A store with all objects in its first table.
    fn filled(&self, records: &[Record]) -> Result<Box<dyn Store>> {
        let store = self.prepared()?;
        store.session(0)?.insert(records)?;
        Ok(store)
    }
}

/// The keys of objects.
fn keys(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| record.title.clone()).collect()
}

fn timed<R>(work: impl FnOnce() -> Result<R>) -> Result<(R, Duration)> {
    let start = Instant::now();
    let result = work()?;
    Ok((result, start.elapsed()))
}

/// Compares a result with the oracle's.
fn check<T: PartialEq + std::fmt::Debug>(is: &T, wanted: &T) -> Result<()> {
    if is == wanted {
        Ok(())
    } else {
        Err(format!("{is:?} instead of {wanted:?}").into())
    }
}

#[cfg(test)]
mod tests;
