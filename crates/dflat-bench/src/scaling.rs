//! The cost of an object in small and in large tables.

use crate::Result;
use crate::measure::{Report, Settings};
use crate::scenario::Scenario;

/// The scenarios that read each object of a table once: scans, and look-ups by key.
pub const SCENARIOS: [&str; 5] = [
    "scan_condition",
    "fetch_scan",
    "fetch_all",
    "fetch_key",
    "fetch_key_snapshot",
];

/// The sizes of tables.
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// The maximum number of objects that a scenario is measured with in all runs: larger tables are
/// measured in fewer runs.
const OBJECTS_MAX: usize = 5_000_000;

/// The cost of an object of a scenario in tables of growing size.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// The scenario's name.
    pub scenario: &'static str,
    /// Sizes of tables, with the best time of an object in nanoseconds, for Dflat and for the
    /// floor.
    pub costs: Vec<(usize, [f64; 2])>,
}

impl Scaling {
    /// Measures a scenario in tables of up to `settings.objects` objects.
    ///
    /// # Errors
    /// As [`Scenario::run`].
    pub fn measure(scenario: &Scenario, settings: &Settings) -> Result<Self> {
        let mut costs = Vec::new();
        for objects in SIZES.into_iter().filter(|size| *size <= settings.objects) {
            let settings = Settings {
                objects,
                ..settings.with_runs_max((OBJECTS_MAX / objects).max(3))
            };
            costs.push((objects, cost(&scenario.run(&settings)?)));
        }
        Ok(Self {
            scenario: scenario.name,
            costs,
        })
    }

    /// The largest cost of an object divided by the smallest, for Dflat and for the floor.
    #[must_use]
    pub fn flatness(&self) -> [f64; 2] {
        [0, 1].map(|side| {
            let costs = || self.costs.iter().map(|(_, sides)| sides[side]);
            let smallest = costs().fold(f64::INFINITY, f64::min);
            costs().fold(0.0, f64::max) / smallest
        })
    }

    /// The column heads of [`Self::lines`].
    #[must_use]
    pub fn heads() -> String {
        format!(
            "{:<24}{:>9}{:>16}{:>16}",
            "scenario", "objects", "ours ns/object", "floor ns/object"
        )
    }

    /// The costs as lines of a table. The last line is the flatness of the costs.
    #[must_use]
    pub fn lines(&self) -> String {
        let line = |size: &str, [ours, floor]: [f64; 2], decimals| {
            let name = self.scenario;
            format!("{name:<24}{size:>9}{ours:>16.decimals$}{floor:>16.decimals$}")
        };
        let costs = self.costs.iter();
        let mut lines: Vec<String> = costs
            .map(|(objects, sides)| line(&objects.to_string(), *sides, 1))
            .collect();
        lines.push(line("flatness", self.flatness(), 2));
        lines.join("\n")
    }
}

/// The cost of an object on both sides, in all steps together.
fn cost(reports: &[Report]) -> [f64; 2] {
    let mut cost = [0.0; 2];
    for report in reports {
        let objects = report.objects.max(1) as f64;
        cost[0] += report.ours_min_ns as f64 / objects;
        cost[1] += report.floor_min_ns as f64 / objects;
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flatness_is_the_largest_cost_divided_by_the_smallest() {
        let scaling = Scaling {
            scenario: "fetch_all",
            costs: vec![(1000, [200.0, 50.0]), (10_000, [100.0, 60.0])],
        };
        assert_eq!(scaling.flatness(), [2.0, 1.2]);
        let lines = scaling.lines();
        assert!(
            lines.ends_with("flatness            2.00            1.20"),
            "{lines}"
        );
    }
}
