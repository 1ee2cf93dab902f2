//! When a follower looks for new commits.
//!
//! It looks at once when the presence file, the database or its log is changed. A change of the log
//! comes before the commit is visible, so a look that finds nothing is repeated after 1, 2, 5 and
//! 20 ms. Meanwhile writes are only counted in: they are mostly those of this process itself, and
//! would wake the thread for each of them. While writes go on, it looks every 20 ms.
//!
//! A program that syncs the log before the commit is visible may take longer than that on a slow
//! device, so two more looks follow, after 80 and 320 ms. A write ends these waits. Behind all that
//! is a slow check.

use std::time::Duration;

use crate::presence::system::{Awaited, Woken};

/// The waits after a change, until a look finds a new commit.
const STEPS: [Duration; 6] = [
    Duration::from_millis(1),
    Duration::from_millis(2),
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(80),
    Duration::from_millis(320),
];

/// The number of steps that no write ends.
const QUICK: usize = 4;

/// The next wait of a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waits {
    /// The number of the step that is next; that of all steps if no change is being followed up.
    step: usize,
}

/// The work of a follower after a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Looks for new commits.
    Look,
    /// Looks for new commits if the files have changed.
    Check,
}

impl Waits {
    /// Begins with a change, because a commit may be under way.
    pub(super) fn new() -> Self {
        Self { step: 0 }
    }

    /// The time of the next wait, and the events that end it early. `slow` is the wait of the slow
    /// check.
    pub(super) fn next(self, slow: Duration) -> (Awaited, Duration) {
        match STEPS.get(self.step) {
            Some(wait) if self.step < QUICK => (Awaited::Notices, *wait),
            Some(wait) => (Awaited::All, *wait),
            None => (Awaited::All, slow),
        }
    }

    /// The task after a wait.
    pub(super) fn task(self, woken: Woken) -> Task {
        if self.step >= STEPS.len() && !woken.is_change() {
            Task::Check
        } else {
            Task::Look
        }
    }

    /// Notes a look. `has_written` is called after the last quick step, and says whether the
    /// database or its log was changed since the first.
    pub(super) fn note_look(
        &mut self,
        woken: Woken,
        has_news: bool,
        has_written: impl FnOnce() -> bool,
    ) {
        self.step = match (has_news, woken.is_change()) {
            (true, _) => STEPS.len(),
            (false, true) => 0,
            (false, false) => (self.step + 1).min(STEPS.len()),
        };
        if !has_news && self.step == QUICK && has_written() {
            self.step = QUICK - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Duration = Duration::from_secs(9);

    fn written() -> Woken {
        Woken {
            by_write: true,
            ..Woken::default()
        }
    }

    /// The milliseconds of the waits until the slow one, if no look finds anything.
    fn steps(waits: &mut Waits) -> Vec<u128> {
        let mut steps = Vec::new();
        loop {
            let (awaited, wait) = waits.next(SLOW);
            assert_eq!(awaited == Awaited::All, wait > STEPS[3]);
            if wait == SLOW {
                return steps;
            }
            steps.push(wait.as_millis());
            assert_eq!(waits.task(Woken::default()), Task::Look);
            waits.note_look(Woken::default(), false, || false);
        }
    }

    #[test]
    fn look_without_news_is_repeated_after_1_to_320_milliseconds() {
        let mut waits = Waits::new();
        assert_eq!(steps(&mut waits), [1, 2, 5, 20, 80, 320]);
        waits.note_look(written(), false, || false);
        assert_eq!(steps(&mut waits), [1, 2, 5, 20, 80, 320]);
    }

    #[test]
    fn write_ends_a_long_wait_and_begins_the_short_ones_again() {
        let mut waits = Waits::new();
        while waits.next(SLOW).1 != STEPS[4] {
            waits.note_look(Woken::default(), false, || false);
        }
        assert_eq!(waits.task(written()), Task::Look);
        waits.note_look(written(), false, || false);
        assert_eq!(waits.next(SLOW), (Awaited::Notices, STEPS[0]));
    }

    #[test]
    fn look_with_news_is_not_repeated() {
        let mut waits = Waits::new();
        waits.note_look(written(), true, || true);
        assert_eq!(steps(&mut waits), [0; 0]);
    }

    #[test]
    fn follower_looks_every_20_milliseconds_while_the_log_grows() {
        let mut waits = Waits::new();
        for _ in 0..10 {
            waits.note_look(Woken::default(), false, || true);
        }
        assert_eq!(waits.next(SLOW), (Awaited::Notices, STEPS[3]));
        assert_eq!(steps(&mut waits), [20, 80, 320]);
    }

    #[test]
    fn slow_check_that_finds_no_change_starts_no_looks() {
        let mut waits = Waits::new();
        steps(&mut waits);
        assert_eq!(waits.task(Woken::default()), Task::Check);
        assert_eq!(waits.task(written()), Task::Look);
    }
}
