//! The steps of the benchmark of Dflat for Swift, one after the other on one file, without
//! checkpoints between the steps. The floor makes the same steps on a file of its own.

mod by_hand;
mod ours;
mod upkeep;

use std::time::Duration;

use crate::Result;
use crate::measure::{Probe, Report, Settings};

pub use by_hand::ByHand;
pub use ours::Ours;
pub(super) use upkeep::wait;

/// The maximum number of runs, because a run takes seconds.
const RUNS_MAX: usize = 7;

/// The objects of the first step, for each object of the later steps.
const FILL_TIMES: usize = 10;

/// A step of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Inserts ten times as many objects as the later steps have.
    Fill,
    /// Fetches and deletes these objects in one transaction.
    Empty,
    /// Inserts the objects, right after the large transactions.
    Insert,
    /// Fetches a sixth of the objects by a field without an index.
    Scan,
    /// The same again.
    ScanAgain,
    /// Fetches and updates all objects in one transaction.
    Update,
    /// Updates each object in a transaction of its own. The floor makes as many commits.
    UpdateEach,
    /// Fetches each object by a condition on its key.
    FetchByKey,
    /// Fetches and deletes all objects in one transaction.
    Delete,
    /// Inserts the objects of four types from four threads. The floor does it in turn.
    InsertThreads,
    /// Deletes them from four threads. The floor does it in turn.
    DeleteThreads,
    /// Inserts the objects once more.
    InsertLater,
    /// Updates all objects, while there are subscriptions to results of one object each. The time
    /// of this step and of the next ones is from the handler's return to the return of the last
    /// callback. The floor commits, and fetches each result anew.
    DeliverResults,
    /// Updates all objects, while there are subscriptions to objects.
    DeliverObjects,
    /// Fetches ranges of a tenth of the objects each, by a field without an index.
    FetchRanges,
    /// Moves all objects from one range to another, while there are subscriptions to the ranges.
    DeliverRanges,
}

impl Step {
    /// All steps, in their order.
    pub const ALL: [Self; 16] = [
        Self::Fill,
        Self::Empty,
        Self::Insert,
        Self::Scan,
        Self::ScanAgain,
        Self::Update,
        Self::UpdateEach,
        Self::FetchByKey,
        Self::Delete,
        Self::InsertThreads,
        Self::DeleteThreads,
        Self::InsertLater,
        Self::DeliverResults,
        Self::DeliverObjects,
        Self::FetchRanges,
        Self::DeliverRanges,
    ];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fill => "original_fill",
            Self::Empty => "original_empty",
            Self::Insert => "original_insert",
            Self::Scan => "original_scan",
            Self::ScanAgain => "original_scan_again",
            Self::Update => "original_update",
            Self::UpdateEach => "original_update_each",
            Self::FetchByKey => "original_fetch_by_key",
            Self::Delete => "original_delete",
            Self::InsertThreads => "original_insert_mt4",
            Self::DeleteThreads => "original_delete_mt4",
            Self::InsertLater => "original_insert_later",
            Self::DeliverResults => "original_results",
            Self::DeliverObjects => "original_objects",
            Self::FetchRanges => "original_fetch_ranges",
            Self::DeliverRanges => "original_ranges",
        }
    }
}

/// Runs the program on both sides in turn, and reports each step.
pub(super) fn program(settings: &Settings) -> Result<Vec<Report>> {
    let names = Step::ALL.map(Step::name);
    settings.with_runs_max(RUNS_MAX).compare_steps(
        &names,
        |probe| {
            let mut ours = Ours::new(settings)?;
            Step::ALL
                .into_iter()
                .map(|step| ours.run(step, probe))
                .collect()
        },
        |probe| {
            let mut by_hand = ByHand::new(settings)?;
            Step::ALL
                .into_iter()
                .map(|step| by_hand.run(step, probe))
                .collect()
        },
    )
}

/// A time that a step measured itself.
type Timed = Result<Duration>;

/// Drops the value of a timed piece of work.
fn time<R>(probe: &mut Probe, work: impl FnOnce() -> Result<R>) -> Timed {
    probe.time(work).map(|(_, time)| time)
}
