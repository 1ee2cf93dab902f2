//! The stored figures: those of the rivals, and those of the floors of raw SQLite.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::amount::Unit;
use crate::compile::Compiled;
use crate::{FOLDER, OURS, Result};

/// All figures of a run, as `dflat-bench-rivals` writes them.
#[derive(Clone, Debug, Deserialize)]
pub struct Figures {
    /// Where and when.
    pub machine: Machine,
    /// The options that were given.
    pub options: BTreeMap<String, String>,
    /// The versions of the stores and of what they are built on.
    pub versions: BTreeMap<String, String>,
    /// The stores.
    pub stores: Vec<Store>,
    /// The figures of each scenario.
    pub scenarios: Vec<Scenario>,
    /// The figures beside the floors.
    #[serde(skip)]
    pub floors: Vec<Floor>,
    /// The figures of compiled programs.
    #[serde(skip)]
    pub compiled: Compiled,
}

/// The machine, and the state that it was in.
#[derive(Clone, Debug, Deserialize)]
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
    /// The load before the run: threads that run or want to.
    pub load_before: f64,
    /// The load at the end, that of the run included.
    pub load_after: f64,
}

/// How a store was used.
#[derive(Clone, Debug, Deserialize)]
pub struct Store {
    /// Its name.
    pub name: String,
    /// How it was used.
    pub usage: String,
    /// When its commits reach the disk.
    pub durability: String,
    /// The crates that it consists of.
    pub crates: Vec<String>,
    /// Its licence.
    pub licence: String,
}

/// A scenario with its figures.
#[derive(Clone, Debug, Deserialize)]
pub struct Scenario {
    /// Its name.
    pub scenario: String,
    /// Its group.
    pub group: String,
    /// The measured work.
    pub about: String,
    /// The unit of the figures.
    pub unit: Unit,
    /// The number of objects.
    pub objects: usize,
    /// The figures, by store.
    pub figures: Vec<Figure>,
    /// The stores without a figure, and why.
    pub absent: BTreeMap<String, String>,
    /// The run of the scenario, if it was measured apart from the others.
    pub apart: Option<Apart>,
}

/// A run of some scenarios.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Apart {
    /// The commit that was measured.
    pub commit: String,
    /// The load of the machine before.
    pub load_before: f64,
    /// The rounds, of which there may be fewer for want of time.
    pub rounds: String,
    /// The seconds after which a store had no further turn.
    pub seconds: String,
}

/// The figures of a store.
#[derive(Clone, Debug, Deserialize)]
pub struct Figure {
    /// The store.
    pub store: String,
    /// The number of runs, each with a store of its own.
    pub runs: usize,
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
    /// The times of single operations, where they were measured.
    pub latency: Option<Percentiles>,
}

/// The times that shares of all operations do not exceed, in nanoseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Percentiles {
    /// Half of them.
    pub p50: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1,000.
    pub p99_9: f64,
}

/// A line of `dflat-bench --json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Floor {
    /// The scenario of `dflat-bench`.
    pub scenario: String,
    /// The number of objects.
    pub objects: usize,
    /// The number of runs.
    pub runs: usize,
    /// The median of Dflat in nanoseconds.
    pub ours_ns: f64,
    /// The median of the floor.
    pub floor_ns: f64,
    /// The first divided by the second.
    pub ratio: f64,
    /// The minimum of Dflat.
    pub ours_min_ns: f64,
    /// The 99th percentile of Dflat.
    pub ours_p99_ns: f64,
}

impl Figures {
    /// Reads the stored figures of a repository.
    ///
    /// # Errors
    /// If a file is absent or malformed.
    pub fn read(root: &Path) -> Result<Self> {
        let folder = root.join(FOLDER);
        let mut figures: Self = serde_json::from_str(&text(&folder.join("figures.json"))?)?;
        figures.compiled = Compiled::read(root)?;
        figures.with_floors(&folder.join("floors.jsonl"))
    }

    /// The same figures with the floors of a file of `dflat-bench --json`.
    ///
    /// # Errors
    /// If the file is absent or malformed.
    pub fn with_floors(mut self, path: &Path) -> Result<Self> {
        let floors = text(path)?;
        let floors = floors.lines().map(serde_json::from_str);
        self.floors = floors.collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// The groups, in the order of their first scenarios.
    #[must_use]
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for scenario in &self.scenarios {
            if !groups.contains(&scenario.group.as_str()) {
                groups.push(&scenario.group);
            }
        }
        groups
    }

    /// The scenarios of a group.
    pub fn of_group(&self, group: &str) -> impl Iterator<Item = &Scenario> {
        self.scenarios.iter().filter(move |s| s.group == group)
    }
}

impl Scenario {
    /// The figures of a store.
    #[must_use]
    pub fn of(&self, store: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.store == store)
    }

    /// The median of a store divided by that of Dflat; `None` if either lacks, or is 0.
    #[must_use]
    pub fn ratio(&self, store: &str) -> Option<f64> {
        let (ours, other) = (self.of(OURS)?.median, self.of(store)?.median);
        (ours > 0.0 && other > 0.0).then(|| other / ours)
    }
}

fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("read {}: {error}", path.display()).into())
}
