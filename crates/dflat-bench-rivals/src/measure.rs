//! Lets the stores take turns at each scenario, and collects the figures.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::Result;
use crate::figures::{Figure, Percentiles, ScenarioFigures};
use crate::scenario::{ALL, Outcome, Scenario};
use crate::store::{Entry, STORES};

/// Objects of a quick look.
const QUICK: usize = 500;

/// How to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Scenarios to measure; all if empty.
    pub scenarios: Vec<String>,
    /// Stores to measure; all if empty.
    pub stores: Vec<String>,
    /// The rounds, in each of which every store has a turn.
    pub rounds: usize,
    /// A store has no further turn at a scenario after this time, the making of objects included.
    pub time_max: Duration,
    /// Scenarios with more objects are left out.
    pub objects_max: usize,
    /// Few objects and one round, to see that everything works.
    pub quick: bool,
    /// Where the files of the stores are made.
    pub folder: PathBuf,
}

/// The turns that a store has had at a scenario so far.
#[derive(Default)]
struct Turns {
    outcome: Outcome,
    spent: Duration,
    count: usize,
}

/// Measures, and shows the progress.
///
/// # Errors
/// If a name is unknown, or a store fails or returns a wrong result.
pub fn run(options: &Options) -> Result<Vec<ScenarioFigures>> {
    let names = ALL.iter().map(|scenario| scenario.name);
    check_names(&options.scenarios, &names.collect::<Vec<_>>())?;
    check_names(&options.stores, &STORES.map(|entry| entry.name))?;
    let is_chosen =
        |chosen: &[String], name: &str| chosen.is_empty() || chosen.iter().any(|n| n == name);
    let scenarios = ALL.iter().filter(|scenario| {
        scenario.count <= options.objects_max && is_chosen(&options.scenarios, scenario.name)
    });
    let scenarios: Vec<&Scenario> = scenarios.collect();
    let stores: Vec<&Entry> = STORES
        .iter()
        .filter(|e| is_chosen(&options.stores, e.name))
        .collect();

    let steps = scenarios.len() * stores.len() * (options.rounds + 1);
    let bar = ProgressBar::new(steps as u64);
    let style = "{bar:30} {pos}/{len} {elapsed} passed, {eta} left  {msg}";
    bar.set_style(ProgressStyle::with_template(style)?);
    let measured = scenarios.iter().map(|scenario| {
        let scenario = if options.quick {
            scenario.reduced(QUICK)
        } else {
            **scenario
        };
        measure(&scenario, &stores, options, &bar)
    });
    let measured = measured.collect();
    bar.finish_and_clear();
    measured
}

fn check_names(chosen: &[String], known: &[&str]) -> Result<()> {
    match chosen.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("{name} is unknown; there are {}", known.join(", ")).into()),
        None => Ok(()),
    }
}

fn measure(
    scenario: &Scenario,
    stores: &[&Entry],
    options: &Options,
    bar: &ProgressBar,
) -> Result<ScenarioFigures> {
    let takes_part = |entry: &&&Entry| scenario.reason_against(entry.name).is_none();
    let mut taking: Vec<(&Entry, Turns)> = stores
        .iter()
        .filter(takes_part)
        .map(|entry| (*entry, Turns::default()))
        .collect();
    bar.inc(((stores.len() - taking.len()) * (options.rounds + 1)) as u64);
    // The first round is a warm-up: it counts only for stores that have no time for a second.
    for round in 0..=options.rounds {
        let first = round % taking.len().max(1);
        taking.rotate_left(first);
        for (entry, turns) in &mut taking {
            bar.set_message(format!("{}, {}", scenario.name, entry.name));
            bar.inc(1);
            if turns.count > 0 && turns.spent >= options.time_max {
                continue;
            }
            let folder = tempfile::Builder::new()
                .prefix("rivals-")
                .tempdir_in(&options.folder)?;
            let start = Instant::now();
            let outcome = scenario.run(entry, folder.path())?;
            if round == 1 && turns.spent < options.time_max {
                turns.outcome = Outcome::default();
                turns.count = 0;
            }
            turns.spent += start.elapsed();
            turns.count += 1;
            turns.outcome.values.extend(outcome.values);
            turns.outcome.latencies.extend(outcome.latencies);
        }
    }
    let figure = |(entry, turns): (&Entry, Turns)| figure(entry, turns);
    let mut figures: Vec<_> = taking.into_iter().filter_map(figure).collect();
    // In the order of the stores, whatever the last turn was.
    figures.sort_by_key(|figure| STORES.iter().position(|entry| entry.name == figure.store));
    let absent = stores.iter().filter_map(|entry| {
        let reason = scenario.reason_against(entry.name)?;
        Some((entry.name.to_owned(), reason.to_owned()))
    });
    Ok(ScenarioFigures {
        scenario: scenario.name.to_owned(),
        group: scenario.group.to_owned(),
        about: scenario.about.to_owned(),
        unit: scenario.unit.into(),
        objects: scenario.count,
        object_bytes: scenario.bytes,
        figures,
        absent: absent.collect(),
    })
}

fn figure(entry: &Entry, turns: Turns) -> Option<Figure> {
    let Outcome {
        mut values,
        mut latencies,
    } = turns.outcome;
    values.sort_by(f64::total_cmp);
    latencies.sort_unstable();
    let latency = |per_mille| rank(&latencies, per_mille).map(|&ns| ns as f64);
    Some(Figure {
        store: entry.name.to_owned(),
        runs: turns.count,
        values: values.len(),
        median: *rank(&values, 500)?,
        min: *rank(&values, 0)?,
        p10: *rank(&values, 100)?,
        p90: *rank(&values, 900)?,
        p99: *rank(&values, 990)?,
        latency: latency(500).map(|p50| Percentiles {
            p50,
            p99: latency(990).unwrap_or(p50),
            p99_9: latency(999).unwrap_or(p50),
        }),
    })
}

/// The smallest of sorted numbers that so many of a thousand do not exceed.
fn rank<T>(sorted: &[T], per_mille: usize) -> Option<&T> {
    let position = (sorted.len() * per_mille).div_ceil(1000).saturating_sub(1);
    sorted.get(position)
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn ranks_are_taken_from_the_sorted_numbers() {
        let numbers: Vec<u32> = (1..=15).collect();
        assert_eq!(rank(&numbers, 0), Some(&1));
        assert_eq!(rank(&numbers, 500), Some(&8));
        assert_eq!(rank(&numbers, 990), Some(&15));
        assert_eq!(rank::<u32>(&[], 500), None);
    }
}
