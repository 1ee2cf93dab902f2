//! The file of figures, from which the page of results is made.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::scenario::Unit;
use crate::store::STORES;
use crate::{Result, usage};

/// All figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Where and when.
    pub machine: Machine,
    /// The options that were given.
    pub options: BTreeMap<String, String>,
    /// The versions of the stores and of what they are built on.
    pub versions: BTreeMap<String, String>,
    /// The stores.
    pub stores: Vec<StoreNotes>,
    /// The figures of each scenario.
    pub scenarios: Vec<ScenarioFigures>,
}

/// The machine, and the state that it was in.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// The number of cores.
    pub cores: usize,
    /// The memory in GiB.
    pub memory_gib: u64,
    /// The operating system.
    pub system: String,
    /// The commit that was measured.
    pub commit: String,
    /// The version of the compiler.
    pub compiler: String,
    /// The seconds from 1970 to the end.
    pub time: u64,
    /// The load of the machine before the run: threads that run or want to.
    pub load_before: f64,
    /// The load at the end, that of the run included.
    pub load_after: f64,
}

/// How a store was used.
#[derive(Clone, Debug, Serialize)]
pub struct StoreNotes {
    name: &'static str,
    usage: &'static str,
    durability: &'static str,
    crates: &'static [&'static str],
    licence: &'static str,
}

/// A scenario with its figures.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioFigures {
    /// Its name.
    pub scenario: String,
    /// Its group.
    pub group: String,
    /// The measured work.
    pub about: String,
    /// The unit of the figures.
    pub unit: UnitName,
    /// The number of objects.
    pub objects: usize,
    /// The bytes of an object.
    pub object_bytes: usize,
    /// The figures, by store.
    pub figures: Vec<Figure>,
    /// The stores without a figure, and why.
    pub absent: BTreeMap<String, String>,
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitName {
    /// Nanoseconds.
    Ns,
    /// Bytes.
    Bytes,
    /// A number.
    Number,
}

impl From<Unit> for UnitName {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Time => Self::Ns,
            Unit::Bytes => Self::Bytes,
            Unit::Number => Self::Number,
        }
    }
}

/// The figures of a store.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// The store.
    pub store: String,
    /// The number of runs, each with a store of its own.
    pub runs: usize,
    /// The number of measured values.
    pub values: usize,
    /// Half of the values do not exceed it.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// A tenth of the values does not exceed it.
    pub p10: f64,
    /// Nine tenths do not.
    pub p90: f64,
    /// 99 of 100 do not.
    pub p99: f64,
    /// The times of single operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Percentiles>,
}

/// The times that shares of all operations do not exceed, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Percentiles {
    /// Half of them.
    pub p50: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1,000.
    pub p99_9: f64,
}

/// The stores, as the page describes them.
pub fn stores() -> Vec<StoreNotes> {
    let notes = |entry: &crate::store::Entry| StoreNotes {
        name: entry.name,
        usage: entry.usage,
        durability: entry.durability,
        crates: entry.crates,
        licence: entry.licence,
    };
    STORES.iter().map(notes).collect()
}

/// This machine, now.
pub fn machine(load_before: f64) -> Machine {
    let line = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.split_once(':'));
        line.map(|(_, value)| value.trim().to_owned())
            .unwrap_or_default()
    };
    let memory = line("/proc/meminfo", "MemTotal");
    let kib: u64 = memory
        .split(' ')
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Machine {
        processor: line("/proc/cpuinfo", "model name"),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory_gib: (kib + (1 << 19)) >> 20,
        system: output("uname", &["-sr"]),
        commit: output("git", &["rev-parse", "--short=12", "HEAD"]),
        compiler: output("rustc", &["--version"]),
        time: now.map_or(0, |now| now.as_secs()),
        load_before,
        load_after: usage::load(),
    }
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(
        |_| String::new(),
        |o| String::from_utf8_lossy(&o.stdout).trim().to_owned(),
    )
}

/// The versions in the lock file of this program.
///
/// # Errors
/// If the lock file lacks a crate.
pub fn versions() -> Result<BTreeMap<String, String>> {
    let lock = include_str!("../Cargo.lock");
    let mut versions = BTreeMap::new();
    for name in STORES.iter().flat_map(|entry| entry.crates) {
        let head = format!("name = \"{name}\"\nversion = \"");
        // Of several versions, the last is the newest; others belong to native_db.
        let start = lock
            .rfind(&head)
            .ok_or_else(|| format!("Cargo.lock lacks {name}"))?;
        let version = lock[start + head.len()..]
            .split('"')
            .next()
            .unwrap_or_default();
        versions.insert((*name).to_owned(), version.to_owned());
    }
    versions.insert("SQLite".to_owned(), rusqlite::version().to_owned());
    Ok(versions)
}
