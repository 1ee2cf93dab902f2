//! How long a call of a subscriber may take before the queue goes on without it.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// How long a call may take while too many items wait for its end: not longer than handing it over
/// takes.
const CROWDED: Duration = Duration::from_micros(100);

/// How often calls are checked, and how long a call may take once its item is late.
const TICKS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_millis(16);

/// How long the items of a queue may wait for calls, all calls together.
#[derive(Clone, Copy)]
pub(super) struct Patience(pub(super) Duration);

impl Patience {
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
pub(super) struct Watch<C> {
    patience: Patience,
    /// A call, and when it was seen first.
    seen: Option<(C, Instant)>,
    /// When a call was last given up without regard to its own time.
    gave_up: Option<Instant>,
}

impl<C: Copy + PartialEq> Watch<C> {
    pub(super) fn new(patience: Patience) -> Self {
        Self {
            patience,
            seen: None,
            gave_up: None,
        }
    }

    /// When to check the current call again; `None` if it has taken too long. The call is `crowded`
    /// if too many items wait for its end; `age` is the time that its item has waited. A call has
    /// taken at least the time since this method first saw it.
    pub(super) fn look(
        &mut self,
        call: C,
        now: Instant,
        (crowded, age): (bool, Duration),
    ) -> Option<Duration> {
        let seen = self.seen.filter(|(seen, _)| *seen == call);
        let (_, since) = *self.seen.insert(seen.unwrap_or((call, now)));
        if crowded && age >= self.patience.0 {
            // However quick the calls are, more items come than the calls can handle. The
            // subscriber that is called now may be a slow one; if not, a slow one is found soon.
            let recent = self.gave_up.filter(|at| now.duration_since(*at) < CROWDED);
            self.gave_up = recent.or(Some(now));
            return recent.map(|_| CROWDED);
        }
        let (longest, tick) = self.patience.bounds(crowded, age);
        (now.duration_since(since) < longest).then_some(tick)
    }

    /// Notes that no call is being made.
    pub(super) fn rest(&mut self) {
        self.seen = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_call_may_take_the_patience_unless_its_item_is_late_or_many_wait() {
        let patience = Patience(SECOND);
        assert_eq!(patience.bounds(false, Duration::ZERO).0, SECOND);
        assert_eq!(patience.bounds(false, SECOND / 2).0, SECOND);
        assert!(patience.bounds(false, SECOND).0 < SECOND / 50);
        assert!(patience.bounds(true, Duration::ZERO).0 < SECOND / 1000);
    }

    #[test]
    fn no_call_is_quick_enough_for_many_that_have_waited_for_the_patience() {
        let mut watch = Watch::new(Patience(SECOND));
        let begun = Instant::now();
        // Each call is another, and has only just begun.
        let mut look = |call, age| watch.look(call, begun + call * CROWDED / 2, (true, age));
        assert!((0..100).all(|call| look(call, SECOND / 2).is_some()));
        let given_up = (100..200).filter(|call| look(*call, SECOND).is_none());
        assert_eq!(given_up.count(), 50, "one at a time");
    }

    #[test]
    fn a_call_that_is_looked_at_often_is_not_given_up_before_its_time() {
        let mut watch = Watch::new(Patience(SECOND));
        let begun = Instant::now();
        let mut look = |call, after: Duration, age| watch.look(call, begun + after, (false, age));
        assert!((0..1000).all(|n| look(1, n * SECOND / 1000, Duration::ZERO).is_some()));
        assert_eq!(look(1, SECOND, Duration::ZERO), None);
        let late = 2 * SECOND;
        assert!(
            look(2, late, late).is_some(),
            "another call, which has only just been seen"
        );
        assert_eq!(look(2, late + SECOND / 16, late), None);
    }
}
