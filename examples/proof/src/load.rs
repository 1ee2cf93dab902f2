//! The work of both programs: the same tasks, the same changes, the same measurements.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// How many tasks of a board are shown.
pub(crate) const SHOWN: usize = 20;
/// How many transactions are made between two checks.
pub(crate) const GROUP: usize = 256;
/// How many boards a check compares.
pub(crate) const CHECKED: usize = 20;

/// The outcome of a program's work.
pub(crate) type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// How much there is to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// The tasks there are at first.
    pub tasks: u64,
    /// The boards they are on, each of which is watched.
    pub boards: u32,
    /// How long changes are made.
    pub time: Duration,
}

/// A change, a transaction each.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// A new task.
    Add { id: u64, board: u32, rank: i64 },
    /// Another rank.
    Rank { id: u64, rank: i64 },
    /// Another board.
    Move { id: u64, board: u32 },
    /// Done, or open again.
    Toggle { id: u64 },
    /// Gone.
    Remove { id: u64 },
}

/// Numbers that look random and are the same each time (xorshift64*).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    /// The next number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }
}

/// The changes in the order in which both programs make them.
pub(crate) struct Changes {
    numbers: Numbers,
    next_id: u64,
    boards: u64,
}

impl Changes {
    pub(crate) fn new(load: &Load) -> Self {
        Self {
            numbers: Numbers::new(7),
            next_id: load.tasks,
            boards: load.boards.into(),
        }
    }
}

impl Iterator for Changes {
    type Item = Change;

    fn next(&mut self) -> Option<Change> {
        let kind = self.numbers.below(10);
        let board = self.numbers.below(self.boards) as u32;
        let rank = self.numbers.below(1 << 30) as i64;
        let id = self.numbers.below(self.next_id);
        Some(match kind {
            0 => {
                self.next_id += 1;
                Change::Add {
                    id: self.next_id - 1,
                    board,
                    rank,
                }
            }
            1 => Change::Remove { id },
            2 => Change::Move { id, board },
            3 => Change::Toggle { id },
            _ => Change::Rank { id, rank },
        })
    }
}

/// The board of a task at first, and its rank.
pub(crate) fn place(id: u64, load: &Load) -> (u32, i64) {
    let mut numbers = Numbers::new(id + 1);
    let board = numbers.below(load.boards.into()) as u32;
    (board, numbers.below(1 << 30) as i64)
}

/// The title of a task.
pub(crate) fn title(id: u64) -> String {
    format!("Task {id}: to be done before the end of the week")
}

/// How long changes took to be shown.
pub(crate) struct Latencies {
    start: Instant,
    /// The stamp of the beginning of the latest group.
    group: AtomicU64,
    nanoseconds: Mutex<Vec<u64>>,
}

impl Latencies {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            group: AtomicU64::new(u64::MAX),
            nanoseconds: Mutex::default(),
        }
    }

    /// The note for a task that is changed now.
    pub(crate) fn stamp(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Notes that a task is shown now.
    pub(crate) fn shown(&self, touched: u64) {
        // One that was changed before takes the place of another.
        if touched >= self.group.load(Ordering::Relaxed) {
            let latency = self.stamp() - touched;
            self.nanoseconds
                .lock()
                .expect("no thread panics")
                .push(latency);
        }
    }

    fn percentiles(&self) -> (u64, u64, usize) {
        let mut all = self.nanoseconds.lock().expect("no thread panics");
        all.sort_unstable();
        let at = |percent: usize| all.get(all.len() * percent / 100).copied().unwrap_or(0);
        (at(50), at(99), all.len())
    }
}

/// The work of a program and its speed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub transactions: usize,
    /// The time until they were made and shown.
    pub seconds: f64,
    pub shown: usize,
    pub p50: u64,
    pub p99: u64,
    pub compared: usize,
    pub mismatches: usize,
    /// The most memory that the process has held, in KiB, if the system reports it.
    pub memory: Option<u64>,
}

/// Makes changes in groups until the time is over, and compares boards after each.
pub(crate) fn drive(
    load: &Load,
    latencies: &Latencies,
    mut group: impl FnMut(&[Change]) -> Result<()>,
    mut is_right: impl FnMut(u32) -> Result<bool>,
) -> Result<Outcome> {
    let mut changes = Changes::new(load);
    let mut numbers = Numbers::new(11);
    let (mut transactions, mut compared, mut mismatches) = (0, 0, 0);
    let mut spent = Duration::ZERO;
    while spent < load.time {
        let next: Vec<Change> = changes.by_ref().take(GROUP).collect();
        latencies.group.store(latencies.stamp(), Ordering::Relaxed);
        let start = Instant::now();
        group(&next)?;
        spent += start.elapsed();
        transactions += next.len();
        for _ in 0..CHECKED {
            let board = numbers.below(load.boards.into()) as u32;
            compared += 1;
            mismatches += usize::from(!is_right(board)?);
        }
    }
    let (p50, p99, shown) = latencies.percentiles();
    Ok(Outcome {
        transactions,
        seconds: spent.as_secs_f64(),
        shown,
        p50,
        p99,
        compared,
        mismatches,
        memory: memory(),
    })
}

fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
