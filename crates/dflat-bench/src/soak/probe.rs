//! The time that a single small commit takes.

use std::fmt;
use std::time::{Duration, Instant};

use dflat::{ChangeRequest, Workspace};

use crate::Result;
use crate::workload::{BenchDocV4, Doc};

/// The time of a transaction with one change, from the call until it is committed and its
/// subscribers are notified, on a type that no other thread uses.
pub(super) fn probe(workspace: &Workspace) -> Result<Duration> {
    let start = Instant::now();
    let changed = workspace.perform_changes([<BenchDocV4 as dflat::Object>::TABLE], |tx| {
        let mut data = BenchDocV4::data(0, 1);
        let priority = tx
            .get::<BenchDocV4>(BenchDocV4::title_of(&data))?
            .map(|doc| doc.priority());
        *BenchDocV4::priority_of(&mut data) = priority.unwrap_or(0).wrapping_add(1);
        tx.submit(ChangeRequest::<BenchDocV4>::upsert(data))
            .map(drop)
    });
    changed.wait()?;
    Ok(start.elapsed())
}

/// Percentiles of the time that commits took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Latency {
    /// The 50th percentile.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The number of commits that were timed.
    pub count: usize,
}

impl Latency {
    pub(super) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| {
            let position = (times.len() * percent).div_ceil(100).saturating_sub(1);
            times.get(position).copied().unwrap_or_default()
        };
        Self {
            p50: at(50),
            p99: at(99),
            count: times.len(),
        }
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |time: Duration| time.as_micros();
        write!(
            f,
            "p50 {} us, p99 {} us of {}",
            us(self.p50),
            us(self.p99),
            self.count
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_taken_from_the_sorted_times() {
        let times = (1..=200).rev().map(Duration::from_micros).collect();
        let latency = Latency::of(times);
        assert_eq!(latency.to_string(), "p50 100 us, p99 198 us of 200");
        assert_eq!(Latency::of(Vec::new()).count, 0);
    }
}
