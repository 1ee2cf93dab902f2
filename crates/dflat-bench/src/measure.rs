//! Measuring Dflat and the floor in turn, in one process, and reporting the results.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use tempfile::TempDir;

use crate::{Result, allocator};

/// The settings of a scenario.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The number of objects of a table.
    pub objects: usize,
    /// The number of times that Dflat and the floor are measured.
    pub runs: usize,
    /// The directory in which files are made.
    pub directory: PathBuf,
}

/// The results of a scenario. Times are in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The scenario's name.
    pub scenario: &'static str,
    /// The number of objects that the scenario was run with.
    pub objects: usize,
    /// The number of times that Dflat and the floor were measured.
    pub runs: usize,
    /// The median time of Dflat.
    pub ours_ns: u64,
    /// The median time of the floor.
    pub floor_ns: u64,
    /// The median of Dflat divided by the median of the floor.
    pub ratio: f64,
    /// The best time of Dflat.
    pub ours_min_ns: u64,
    /// The best time of the floor.
    pub floor_min_ns: u64,
    /// The time that 99 of 100 runs of Dflat do not exceed.
    pub ours_p99_ns: u64,
    /// The time that 99 of 100 runs of the floor do not exceed.
    pub floor_p99_ns: u64,
    /// The maximum of the bytes that Rust code held during a run of Dflat, minus those held before
    /// the run.
    pub peak_bytes: isize,
}

/// Measures the time of the relevant part of a run.
#[derive(Debug, Default)]
pub struct Probe {
    counting: bool,
    peak_bytes: isize,
}

impl Probe {
    fn new(counting: bool) -> Self {
        Self {
            counting,
            peak_bytes: 0,
        }
    }

    /// Runs `work` and measures its time. The caller drops the result, outside the measured time.
    ///
    /// # Errors
    /// The errors of `work`.
    pub fn time<R>(&mut self, work: impl FnOnce() -> Result<R>) -> Result<(R, Duration)> {
        let timed = || {
            let start = Instant::now();
            let result = work();
            (result, start.elapsed())
        };
        let (result, time) = if self.counting {
            let (timed, usage) = allocator::counted(timed);
            self.peak_bytes = self.peak_bytes.max(usage.peak_bytes);
            timed
        } else {
            timed()
        };
        Ok((result?, time))
    }
}

impl Settings {
    /// These settings, with at most `runs` runs.
    #[must_use]
    pub fn with_runs_max(&self, runs: usize) -> Self {
        Self {
            runs: self.runs.min(runs),
            ..self.clone()
        }
    }

    /// A directory for the files of a scenario, removed when it is dropped.
    ///
    /// # Errors
    /// If the directory can't be made.
    pub fn scratch(&self) -> Result<TempDir> {
        Ok(tempfile::Builder::new()
            .prefix("dflat-bench-")
            .tempdir_in(&self.directory)?)
    }

    /// Measures both sides in turn. Each side returns the time of the relevant part of its run.
    ///
    /// # Errors
    /// The first error of either side.
    pub fn compare(
        &self,
        scenario: &'static str,
        mut ours: impl FnMut(&mut Probe) -> Result<Duration>,
        mut floor: impl FnMut(&mut Probe) -> Result<Duration>,
    ) -> Result<Report> {
        // The first run of each side fills caches, so that its time is not counted. The bytes of
        // Dflat are counted in it.
        let mut counting = Probe::new(true);
        ours(&mut counting)?;
        let mut probe = Probe::new(false);
        floor(&mut probe)?;
        let mut times = (Vec::new(), Vec::new());
        for run in 0..self.runs {
            // The sides take turns in going first, so that neither always runs after the other.
            if run % 2 == 0 {
                times.0.push(ours(&mut probe)?);
                times.1.push(floor(&mut probe)?);
            } else {
                times.1.push(floor(&mut probe)?);
                times.0.push(ours(&mut probe)?);
            }
        }
        Ok(self.report(scenario, &times, counting.peak_bytes))
    }

    /// Measures both sides in turn. Each side returns the times of many pieces of work, all of
    /// which are counted.
    ///
    /// # Errors
    /// The first error of either side.
    pub fn compare_each(
        &self,
        scenario: &'static str,
        mut ours: impl FnMut() -> Result<Vec<Duration>>,
        mut floor: impl FnMut() -> Result<Vec<Duration>>,
    ) -> Result<Report> {
        let (counted, usage) = allocator::counted(&mut ours);
        counted?;
        floor()?;
        let mut times = (Vec::new(), Vec::new());
        for run in 0..self.runs {
            if run % 2 == 0 {
                times.0.extend(ours()?);
                times.1.extend(floor()?);
            } else {
                times.1.extend(floor()?);
                times.0.extend(ours()?);
            }
        }
        Ok(self.report(scenario, &times, usage.peak_bytes))
    }

    /// Measures both sides in turn, each of which makes several steps and returns their times.
    ///
    /// # Errors
    /// The first error of either side.
    pub fn compare_steps(
        &self,
        names: &[&'static str],
        mut ours: impl FnMut(&mut Probe) -> Result<Vec<Duration>>,
        mut floor: impl FnMut(&mut Probe) -> Result<Vec<Duration>>,
    ) -> Result<Vec<Report>> {
        let mut counting = Probe::new(true);
        ours(&mut counting)?;
        let mut probe = Probe::new(false);
        let mut times = vec![(Vec::new(), Vec::new()); names.len()];
        for run in 0..self.runs {
            let (of_ours, of_floor) = if run % 2 == 0 {
                let first = ours(&mut probe)?;
                (first, floor(&mut probe)?)
            } else {
                let first = floor(&mut probe)?;
                (ours(&mut probe)?, first)
            };
            for (times, step) in times.iter_mut().zip(of_ours.into_iter().zip(of_floor)) {
                times.0.push(step.0);
                times.1.push(step.1);
            }
        }
        let reports = names.iter().zip(&times);
        let report =
            |(name, times): (&&'static str, _)| self.report(name, times, counting.peak_bytes);
        Ok(reports.map(report).collect())
    }

    fn report(
        &self,
        scenario: &'static str,
        times: &(Vec<Duration>, Vec<Duration>),
        peak_bytes: isize,
    ) -> Report {
        let (ours, floor) = (sorted_ns(&times.0), sorted_ns(&times.1));
        let (ours_ns, floor_ns) = (rank(&ours, 50), rank(&floor, 50));
        Report {
            scenario,
            objects: self.objects,
            runs: self.runs,
            ours_ns,
            floor_ns,
            ratio: ours_ns as f64 / floor_ns.max(1) as f64,
            ours_min_ns: rank(&ours, 0),
            floor_min_ns: rank(&floor, 0),
            ours_p99_ns: rank(&ours, 99),
            floor_p99_ns: rank(&floor, 99),
            peak_bytes,
        }
    }
}

/// A file name in a scratch directory.
#[must_use]
pub fn file(scratch: &TempDir, side: &str, number: usize) -> PathBuf {
    Path::join(scratch.path(), format!("{side}-{number}.db"))
}

fn sorted_ns(times: &[Duration]) -> Vec<u64> {
    let ns = |time: &Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let mut times: Vec<u64> = times.iter().map(ns).collect();
    times.sort_unstable();
    times
}

/// The smallest of sorted numbers that `percent` of 100 do not exceed.
fn rank(sorted: &[u64], percent: usize) -> u64 {
    let position = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(position).copied().unwrap_or_default()
}

impl Report {
    /// The column heads of [`Report::line`].
    #[must_use]
    pub fn heads() -> String {
        format!(
            "{:<24}{:>9}{:>6}{:>12}{:>12}{:>8}{:>12}{:>12}{:>12}",
            "scenario",
            "objects",
            "runs",
            "ours ms",
            "floor ms",
            "ratio",
            "min ms",
            "p99 ms",
            "peak KiB"
        )
    }

    /// The report as a line of a table.
    #[must_use]
    pub fn line(&self) -> String {
        let ms = |ns: u64| ns as f64 / 1e6;
        format!(
            "{:<24}{:>9}{:>6}{:>12.3}{:>12.3}{:>8.2}{:>12.3}{:>12.3}{:>12.1}",
            self.scenario,
            self.objects,
            self.runs,
            ms(self.ours_ns),
            ms(self.floor_ns),
            self.ratio,
            ms(self.ours_min_ns),
            ms(self.ours_p99_ns),
            self.peak_bytes as f64 / 1024.0,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn ranks_are_taken_from_the_sorted_numbers() {
        let numbers: Vec<u64> = (1..=15).collect();
        assert_eq!(rank(&numbers, 0), 1);
        assert_eq!(rank(&numbers, 50), 8);
        assert_eq!(rank(&numbers, 99), 15);
        assert_eq!(rank(&[], 50), 0);
    }
}
