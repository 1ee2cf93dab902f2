//! How long a step takes: wall time, and processor time of everything that it started.

use std::time::{Duration, Instant};
use std::{fmt, fs};

/// Ticks a second of the times in `/proc`: 100 on every architecture that Linux runs on.
const TICKS_PER_SECOND: u64 = 100;

/// A stopwatch.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    start: Instant,
    processor: Option<Duration>,
}

/// The time that a piece of work took.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The time from the start to the end.
    pub wall: Duration,
    /// The processor time of the work and of its child processes. Only Linux reports it.
    pub processor: Option<Duration>,
}

/// A line of the summary.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The name of the step.
    pub step: &'a str,
    /// The time that it took.
    pub times: Times,
    /// How it ended.
    pub verdict: &'a str,
}

impl Stopwatch {
    /// Starts.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
            processor: processor_time(),
        }
    }

    /// The time since the start.
    pub fn read(self) -> Times {
        let spent = processor_time().zip(self.processor);
        Times {
            wall: self.start.elapsed(),
            processor: spent.map(|(now, before)| now.saturating_sub(before)),
        }
    }
}

/// The processor time of this process and of all children that have ended.
fn processor_time() -> Option<Duration> {
    ticks(&fs::read_to_string("/proc/self/stat").ok()?)
        .map(|ticks| Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// The sum of `utime`, `stime`, `cutime` and `cstime`, the fields 14 to 17 of `/proc/self/stat`.
/// The second field, the program's name, may contain spaces and ends with the last bracket.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_ascii_whitespace().skip(11).take(4);
    let times: Vec<u64> = times.map_while(|field| field.parse().ok()).collect();
    (times.len() == 4).then(|| times.iter().sum())
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", seconds(self.wall))?;
        match self.processor {
            Some(processor) => write!(f, ", {} of processor time", seconds(processor)),
            None => Ok(()),
        }
    }
}

/// The table of all steps, the slowest last.
pub fn summary(rows: &[Row<'_>], total: Times) -> String {
    let mut rows: Vec<_> = rows.to_vec();
    rows.sort_by_key(|row| row.times.wall);
    let mut lines = vec![format!(
        "{:<23} {:>10} {:>10}  {}",
        "step", "wall", "processor", "result"
    )];
    let all = Row {
        step: "all",
        times: total,
        verdict: "",
    };
    for Row {
        step,
        times,
        verdict,
    } in rows.into_iter().chain([all])
    {
        let wall = seconds(times.wall);
        let processor = times.processor.map_or_else(|| "?".to_owned(), seconds);
        let line = format!("{step:<23} {wall:>10} {processor:>10}  {verdict}");
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::{Row, Stopwatch, Times, summary, ticks};
    use std::time::Duration;

    #[test]
    fn cpu_ticks_are_read_after_the_name_of_the_program() {
        let stat = "71 (a) b) S 1 71 71 0 -1 4194304 9 8 7 6 1 20 300 4000 20 0 1 0 5 6";
        assert_eq!(ticks(stat), Some(4321));
        assert_eq!(ticks("71 (a) S 1 71"), None);
        assert_eq!(ticks(""), None);
    }

    #[test]
    fn time_of_a_child_counts_after_its_end() {
        let watch = Stopwatch::start();
        let cargo = crate::workspace::cargo().arg("--version").output().unwrap();
        assert!(cargo.status.success());
        let times = watch.read();
        assert!(times.wall > Duration::ZERO);
        assert_eq!(times.processor.is_some(), cfg!(target_os = "linux"));
    }

    #[test]
    fn the_slowest_step_is_the_last() {
        let times = |wall, processor: Option<u64>| Times {
            wall: Duration::from_secs(wall),
            processor: processor.map(Duration::from_secs),
        };
        let row = |step, times| Row {
            step,
            times,
            verdict: "passed",
        };
        let rows = [row("slow", times(7, Some(9))), row("fast", times(1, None))];
        let expected = "\
step                          wall  processor  result
fast                         1.0 s          ?  passed
slow                         7.0 s      9.0 s  passed
all                          8.0 s     10.0 s";
        assert_eq!(summary(&rows, times(8, Some(10))), expected);
        let line = times(7, Some(9)).to_string();
        assert_eq!(line, "7.0 s, 9.0 s of processor time");
    }
}
