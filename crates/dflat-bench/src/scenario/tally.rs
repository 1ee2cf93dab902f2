//! Counts the callbacks of a run.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Result, check};

/// How long a run waits for callbacks that run after the completion.
const CALLS_WAIT_MAX: Duration = Duration::from_secs(60);

/// Counts of the callbacks of a run, and the time of the last one.
pub(super) struct Tally {
    start: Instant,
    right: AtomicUsize,
    wrong: AtomicUsize,
    last_ns: AtomicU64,
}

impl Tally {
    /// Counts from now on.
    pub(super) fn start() -> Self {
        Self {
            start: Instant::now(),
            right: AtomicUsize::new(0),
            wrong: AtomicUsize::new(0),
            last_ns: AtomicU64::new(0),
        }
    }

    /// Counts a call.
    pub(super) fn count(&self, right: bool) {
        let counter = if right { &self.right } else { &self.wrong };
        let ns = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.last_ns.fetch_max(ns, Ordering::Release);
        // Order: the time first, so that a counted call has its time.
        counter.fetch_add(1, Ordering::Release);
    }

    /// Waits until this many callbacks have run, at most [`CALLS_WAIT_MAX`]. On a loaded machine a
    /// completion may give up a callback as slow; the callback then runs after the completion.
    fn wait_for(&self, calls: usize) {
        let end = Instant::now() + CALLS_WAIT_MAX;
        let called =
            || self.right.load(Ordering::Acquire) + self.wrong.load(Ordering::Acquire) >= calls;
        while !called() && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for this many calls, and returns the time of the last one; `None` if there is none.
    ///
    /// # Errors
    /// An error if there were more or fewer calls, or wrong ones.
    pub(super) fn last_of(&self, calls: usize) -> Result<Option<Instant>> {
        self.wait_for(calls);
        let (right, wrong) = (&self.right, &self.wrong);
        check("right deliveries", &right.load(Ordering::Acquire), &calls)?;
        check("wrong deliveries", &wrong.load(Ordering::Acquire), &0)?;
        let last = self.last_ns.load(Ordering::Acquire);
        Ok((calls > 0).then(|| self.start + Duration::from_nanos(last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_waits_for_callbacks_that_run_after_the_completion() {
        let tally = Tally::start();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                tally.count(true);
            });
            tally.wait_for(1);
            assert_eq!(tally.right.load(Ordering::Acquire), 1);
            assert_ne!(tally.last_ns.load(Ordering::Acquire), 0);
        });
    }
}
