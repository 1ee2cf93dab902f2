//! Times of work.

use std::time::{Duration, Instant};

use crate::Result;

/// The result of work, and its time.
pub(crate) fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
    let start = Instant::now();
    let done = work()?;
    Ok((done, start.elapsed()))
}

/// The time for one of `count` objects, in nanoseconds.
pub(crate) fn each(time: Duration, count: usize) -> f64 {
    time.as_nanos() as f64 / count.max(1) as f64
}
