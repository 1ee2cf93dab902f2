//! The waits between two runs of a handler that other processes overtake.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::thread;
use std::time::Duration;

/// The first wait is this long at most. It is about as long as a commit of another process.
const FIRST: Duration = Duration::from_millis(1);

/// The longest wait. Longer waits would only leave the file unused.
const LONGEST: Duration = Duration::from_millis(50);

/// Waits that double, each shortened by a random part, so that processes that overtake each other
/// do not run again at the same time.
#[derive(Default)]
pub(super) struct BackOff {
    count: u32,
}

impl BackOff {
    /// The number of waits so far.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Waits on this thread.
    pub(super) fn wait(&mut self) {
        thread::sleep(self.next(random()));
    }

    /// The length of the next wait, between a half and all of its bound: `random` chooses.
    fn next(&mut self, random: u64) -> Duration {
        let bound = FIRST
            .saturating_mul(1_u32.checked_shl(self.count).unwrap_or(u32::MAX))
            .min(LONGEST);
        self.count = self.count.saturating_add(1);
        let part = u32::try_from(random % 1024).unwrap_or_default();
        bound / 2 + bound / 2048 * part
    }
}

/// A random number. The keys of the standard library's hash maps are random.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_never_zero() {
        for random in [0, 511, 1023, u64::MAX] {
            let mut back_off = BackOff::default();
            let mut bound = FIRST;
            for count in 0..100 {
                assert_eq!(back_off.count(), count);
                let wait = back_off.next(random);
                assert!(wait >= bound / 2 && wait <= bound, "{count}: {wait:?}");
                bound = (bound * 2).min(LONGEST);
            }
        }
    }

    #[test]
    fn waits_of_two_processes_differ() {
        let numbers: std::collections::HashSet<u64> = (0..16).map(|_| random() % 1024).collect();
        assert!(numbers.len() > 1);
    }
}
