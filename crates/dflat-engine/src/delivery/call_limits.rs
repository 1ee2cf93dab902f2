//! How long a call of a subscriber may take before the queue goes on without it.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// How long a call may take while too many items wait for its end: not longer than it takes to hand
/// the queue over to another thread, which may have to be started.
const CROWDED: Duration = Duration::from_micros(100);

/// How often calls are checked, and how long a call may take once its item is late. The check wakes
/// a thread, so it is at most one in a millisecond.
const TICKS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_millis(16);

/// How long the items of a queue may wait for calls, all calls together.
#[derive(Clone, Copy)]
pub(super) struct CallLimits(pub(super) Duration);

impl CallLimits {
    fn tick(self) -> Duration {
        (self.0 / 64).clamp(*TICKS.start(), *TICKS.end())
    }

    /// A subscriber whose call was given up is waited for again once its call takes less than this.
    pub(super) fn quick(self) -> Duration {
        self.0 / 2
    }

    /// How long a call may take, and when to check it again. The call is `crowded` if too many
    /// items wait for its end; `age` is the time that its own item has waited.
    fn bounds(self, crowded: bool, age: Duration) -> (Duration, Duration) {
        let tick = self.tick();
        if crowded {
            (CROWDED, CROWDED)
        } else if age >= self.0 {
            (tick, tick)
        } else {
            (self.0, tick)
        }
    }
}

/// Checks the calls of a queue, one after the other.
pub(super) struct CallTimer<C> {
    limits: CallLimits,
    /// A call, and when it was seen first.
    seen: Option<(C, Instant)>,
    /// When a call was last given up without regard to its own time.
    gave_up: Option<Instant>,
}

impl<C: Copy + PartialEq> CallTimer<C> {
    pub(super) fn new(limits: CallLimits) -> Self {
        Self {
            limits,
            seen: None,
            gave_up: None,
        }
    }

    /// When to check the current call again; `None` if it has taken too long. The call is `crowded`
    /// if too many items wait for its end; `age` is the time that its item has waited. A call has
    /// taken at least the time since this method first saw it.
    pub(super) fn check(
        &mut self,
        call: C,
        now: Instant,
        (crowded, age): (bool, Duration),
    ) -> Option<Duration> {
        let seen = self.seen.filter(|(seen, _)| *seen == call);
        let (_, since) = *self.seen.insert(seen.unwrap_or((call, now)));
        if crowded && age >= self.limits.0 {
            // However quick the calls are, more items come than the calls can handle. The
            // subscriber that is called now may be a slow one; if not, a slow one is found soon.
            let recent = self.gave_up.filter(|at| now.duration_since(*at) < CROWDED);
            self.gave_up = recent.or(Some(now));
            return recent.map(|_| CROWDED);
        }
        let (longest, tick) = self.limits.bounds(crowded, age);
        (now.duration_since(since) < longest).then_some(tick)
    }

    /// Notes that no call is being made.
    pub(super) fn reset(&mut self) {
        self.seen = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_call_has_the_full_time_unless_its_item_is_late_or_many_wait() {
        let limits = CallLimits(SECOND);
        assert_eq!(limits.bounds(false, Duration::ZERO).0, SECOND);
        assert_eq!(limits.bounds(false, SECOND / 2).0, SECOND);
        assert!(limits.bounds(false, SECOND).0 < SECOND / 50);
        assert!(limits.bounds(true, Duration::ZERO).0 < SECOND / 1000);
    }

    #[test]
    fn calls_are_given_up_one_at_a_time_while_many_late_items_wait() {
        let mut timer = CallTimer::new(CallLimits(SECOND));
        let begun = Instant::now();
        // Each call is another, and has only just begun.
        let mut check = |call, age| timer.check(call, begun + call * CROWDED / 2, (true, age));
        assert!((0..100).all(|call| check(call, SECOND / 2).is_some()));
        let given_up = (100..200).filter(|call| check(*call, SECOND).is_none());
        assert_eq!(given_up.count(), 50, "one at a time");
    }

    #[test]
    fn a_call_that_is_checked_often_keeps_its_time() {
        let mut timer = CallTimer::new(CallLimits(SECOND));
        let begun = Instant::now();
        let mut check = |call, after: Duration, age| timer.check(call, begun + after, (false, age));
        assert!((0..1000).all(|n| check(1, n * SECOND / 1000, Duration::ZERO).is_some()));
        assert_eq!(check(1, SECOND, Duration::ZERO), None);
        let late = 2 * SECOND;
        assert!(
            check(2, late, late).is_some(),
            "another call, which has only just been seen"
        );
        assert_eq!(check(2, late + SECOND / 16, late), None);
    }
}
