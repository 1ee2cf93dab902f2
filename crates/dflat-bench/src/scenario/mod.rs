//! The scenarios: pieces of work that are done by Dflat and by the floor, and checked.

mod c_interface;
mod commit;
mod delete;
mod dictionary;
mod fetch;
mod file;
mod indexed;
mod indexed_writes;
mod insert;
mod latency;
mod original;
mod processes;
mod readers;
mod sides;
mod subscribe;
mod tally;
mod update;

use crate::Result;
use crate::measure::{Report, Settings};
use crate::workload::{Catalogued, Listed, Ranked};

pub use indexed_writes::{IndexedSides, delete_all, update_all};
pub use original::{ByHand, Ours, Step};
pub use sides::{Sides, insert_all};

/// A piece of work with a name.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The name, as it is given by the caller and reported.
    pub name: &'static str,
    run: Run,
}

#[derive(Clone, Copy, Debug)]
enum Run {
    /// One piece of work.
    One(fn(&'static str, &Settings) -> Result<Report>),
    /// Steps of a program, each of which has a report.
    Steps(fn(&Settings) -> Result<Vec<Report>>),
}

/// All scenarios.
pub const ALL: [Scenario; 65] = [
    Scenario::new("insert_1tx", insert::one_transaction),
    Scenario::new("fetch_scan", fetch::scan),
    Scenario::new("fetch_all", fetch::all),
    Scenario::new("scan_condition", fetch::condition),
    Scenario::new("update_1tx", update::one_transaction),
    Scenario::new("update_individual", update::individual),
    Scenario::new("update_individual_full", update::individual_full),
    Scenario::new("fetch_key", fetch::key),
    Scenario::new("fetch_key_snapshot", fetch::key_snapshot),
    Scenario::new("delete_1tx", delete::one_transaction),
    Scenario::new("insert_mt4", insert::four_threads),
    Scenario::new("delete_mt4", delete::four_threads),
    Scenario::new("subscribe_results", subscribe::results),
    Scenario::new("subscribe_objects", subscribe::objects),
    Scenario::new("subscribe_ranges", subscribe::ranges),
    Scenario::new("subscribe_top", subscribe::top),
    Scenario::new("subscribe_keys", subscribe::keys),
    Scenario::new("latency_commit", latency::commit),
    Scenario::new("latency_commit_loaded", latency::commit_loaded),
    Scenario::new("latency_delivery", latency::delivery),
    Scenario::new("latency_process", latency::process),
    Scenario::new("fetch_ranges", fetch::ranges),
    Scenario::new("readers_1", readers::one),
    Scenario::new("readers_2", readers::two),
    Scenario::new("readers_4", readers::four),
    Scenario::new("readers_8", readers::eight),
    Scenario::new("index_point", indexed::point),
    Scenario::new("index_range", indexed::range),
    Scenario::new("index_ordered", indexed::ordered),
    Scenario::new("index_top_ten", indexed::top_ten),
    Scenario::new("insert_indexed_1", indexed_writes::insert::<Ranked>),
    Scenario::new("insert_indexed_3", indexed_writes::insert::<Listed>),
    Scenario::new("insert_indexed_5", indexed_writes::insert::<Catalogued>),
    Scenario::new("update_indexed_1", indexed_writes::update::<Ranked>),
    Scenario::new("update_indexed_3", indexed_writes::update::<Listed>),
    Scenario::new("update_indexed_5", indexed_writes::update::<Catalogued>),
    Scenario::new("delete_indexed_1", indexed_writes::delete::<Ranked>),
    Scenario::new("delete_indexed_3", indexed_writes::delete::<Listed>),
    Scenario::new("delete_indexed_5", indexed_writes::delete::<Catalogued>),
    Scenario::new("first_query", indexed::first),
    Scenario::new("first_query_opened", indexed::first_opened),
    Scenario::new("commit_wait", commit::wait),
    Scenario::new("commit_blocking", commit::blocking),
    Scenario::new("commit_queued", commit::queued),
    Scenario::new("commit_after_undone", commit::after_undone),
    Scenario::new("recorded_update_100", processes::batches),
    Scenario::new("recorded_update_alone", processes::alone),
    Scenario::new("recorded_update_queued", processes::queued),
    Scenario {
        name: "count_in_processes",
        run: Run::Steps(processes::count),
    },
    Scenario::new("dictionary_insert_memory", dictionary::insert_memory),
    Scenario::new("dictionary_insert_disk", dictionary::insert_disk),
    Scenario::new("dictionary_insert_mt4", dictionary::insert_threads),
    Scenario::new("dictionary_get_cold", dictionary::get_cold),
    Scenario::new("dictionary_get_hot", dictionary::get_hot),
    Scenario::new("dictionary_update_one", dictionary::update_one),
    Scenario::new("dictionary_save_json", dictionary::save_json),
    Scenario::new("c_fetch_10000", c_interface::fetch),
    Scenario::new("c_get", c_interface::get),
    Scenario::new("c_insert", c_interface::insert),
    Scenario::new("c_delivery", c_interface::delivery),
    Scenario::new("open_1gib", file::open),
    Scenario::new("backup_1gib", file::backup),
    Scenario::new("check_1gib", file::check_all),
    Scenario::new("upkeep_wait", original::wait),
    Scenario {
        name: "original_program",
        run: Run::Steps(original::program),
    },
];

/// The scenarios whose times have a goal beside their floors.
#[must_use]
pub fn with_goals() -> Vec<Scenario> {
    const NAMES: [&str; 10] = [
        "insert_1tx",
        "delete_1tx",
        "delete_mt4",
        "fetch_all",
        "subscribe_objects",
        "subscribe_ranges",
        "first_query",
        "first_query_opened",
        "upkeep_wait",
        "original_program",
    ];
    const PARTS: [&str; 2] = ["_indexed_", "commit_"];
    let has_goal = |name: &str| {
        let is_alike = PARTS.iter().any(|part| name.contains(part));
        NAMES.contains(&name) || (is_alike && !name.starts_with("latency_"))
    };
    let all = ALL.iter().copied();
    all.filter(|scenario| has_goal(scenario.name)).collect()
}

/// Does the work of a child process of a scenario, if this process is one. Returns whether it is.
///
/// # Errors
/// The errors of the work.
pub fn serve() -> Result<bool> {
    Ok(latency::serve()? || processes::serve()?)
}

impl Scenario {
    const fn new(name: &'static str, run: fn(&'static str, &Settings) -> Result<Report>) -> Self {
        let run = Run::One(run);
        Self { name, run }
    }

    /// Runs the scenario, and returns a report, or one for each step.
    ///
    /// # Errors
    /// If either side fails, or returns a wrong result.
    pub fn run(&self, settings: &Settings) -> Result<Vec<Report>> {
        let reports = match self.run {
            Run::One(run) => run(self.name, settings).map(|report| vec![report]),
            Run::Steps(run) => run(settings),
        };
        reports.map_err(|error| format!("{}: {error}", self.name).into())
    }
}
