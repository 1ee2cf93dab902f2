//! Notifiers make one call at a time, in order. No call is lost, and no call is made after a
//! cancellation that waited.

use std::time::Duration;

use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

use crate::explore;
use crate::notification::{self, Absorb, Callback, Job};

/// A notifier that is not registered anywhere.
type Notifier<E = Number> = notification::Notifier<E, ()>;

/// A number that is never merged with a later one.
#[derive(Debug)]
struct Number(usize);

impl Absorb for Number {
    fn absorb(&mut self, later: Self) -> Option<Self> {
        Some(later)
    }
}

/// A sum of numbers.
#[derive(Debug)]
struct Sum(usize);

impl Absorb for Sum {
    fn absorb(&mut self, later: Self) -> Option<Self> {
        self.0 += later.0;
        None
    }
}

/// The numbers that the callback was called with, and whether a call is running.
#[derive(Default)]
struct Recorded {
    numbers: Mutex<Vec<usize>>,
    running: AtomicUsize,
}

impl Recorded {
    fn note(&self, number: usize) {
        assert_eq!(
            self.running.fetch_add(1, Ordering::SeqCst),
            0,
            "one call at a time"
        );
        thread::yield_now();
        self.numbers.lock().unwrap().push(number);
        self.running.fetch_sub(1, Ordering::SeqCst);
    }

    fn numbers(&self) -> Vec<usize> {
        self.numbers.lock().unwrap().clone()
    }
}

fn notifier(recorded: &Arc<Recorded>) -> Arc<Notifier> {
    let recorded = Arc::clone(recorded);
    let function = Box::new(move |number: Number| recorded.note(number.0));
    Arc::new(Notifier::new(None, 1, function, ()))
}

#[test]
fn no_call_runs_after_a_cancellation_that_waited() {
    explore(|| {
        let recorded: Arc<Recorded> = Arc::default();
        let notifier = notifier(&recorded);
        let delivering = {
            let notifier = Arc::clone(&notifier);
            thread::spawn(move || (0..3).for_each(|number| notifier.deliver(Number(number))))
        };
        notifier.cancel(true);
        let at_its_end = recorded.numbers();
        assert_eq!(recorded.running.load(Ordering::SeqCst), 0);
        delivering.join().unwrap();
        assert_eq!(recorded.numbers(), at_its_end);
        assert!(at_its_end.iter().copied().eq(0..at_its_end.len()));
    });
}

#[test]
fn two_cancellations_at_once_both_end() {
    explore(|| {
        let recorded: Arc<Recorded> = Arc::default();
        let notifier = notifier(&recorded);
        let threads = [0, 1, 2].map(|n| {
            let notifier = Arc::clone(&notifier);
            thread::spawn(move || match n {
                0 => notifier.deliver(Number(0)),
                _ => notifier.cancel(true),
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        let at_its_end = recorded.numbers();
        notifier.deliver(Number(1));
        assert_eq!(recorded.numbers(), at_its_end);
    });
}

#[test]
fn two_callbacks_that_cancel_each_other_both_return() {
    explore(|| {
        type Slot = Arc<Mutex<Option<Arc<Notifier>>>>;
        let slots: [Slot; 2] = Default::default();
        let calls: Arc<AtomicUsize> = Arc::default();
        let tellers = [1, 0].map(|other: usize| {
            let (slot, calls) = (Arc::clone(&slots[other]), Arc::clone(&calls));
            let function = Box::new(move |_: Number| {
                calls.fetch_add(1, Ordering::SeqCst);
                let other = slot.lock().unwrap().clone();
                // A cancellation inside a callback does not wait.
                other.unwrap().cancel(false);
            });
            Arc::new(Notifier::new(None, 1, function, ()))
        });
        for (slot, notifier) in slots.iter().zip(&tellers) {
            *slot.lock().unwrap() = Some(Arc::clone(notifier));
        }
        let threads = tellers
            .clone()
            .map(|notifier| thread::spawn(move || notifier.deliver(Number(0))));
        for thread in threads {
            thread.join().unwrap();
        }
        let made = calls.load(Ordering::SeqCst);
        assert!((1..=2).contains(&made));
        assert!(tellers.iter().any(|notifier| notifier.is_cancelled()));
        slots
            .iter()
            .for_each(|slot| drop(slot.lock().unwrap().take()));
    });
}

#[test]
fn executor_makes_all_calls_in_order() {
    explore(|| {
        let recorded: Arc<Recorded> = Arc::default();
        let noting = Arc::clone(&recorded);
        let function = Box::new(move |number: Number| noting.note(number.0));
        let jobs: Arc<Mutex<Vec<Job>>> = Arc::default();
        let queue = Arc::clone(&jobs);
        let executor = Arc::new(move |job: Job| queue.lock().unwrap().push(job));
        let notifier = Arc::new(Notifier::new(Some(executor), 8, function, ()));
        let delivering = {
            let notifier = Arc::clone(&notifier);
            thread::spawn(move || (0..3).for_each(|number| notifier.deliver(Number(number))))
        };
        while recorded.numbers().len() < 3 {
            let job = jobs.lock().unwrap().pop();
            match job {
                Some(job) => job(),
                None => thread::yield_now(),
            }
        }
        delivering.join().unwrap();
        assert_eq!(recorded.numbers(), [0, 1, 2]);
    });
}

// Promise: live-queries#L18
#[test]
fn executor_job_ends_after_a_bounded_number_of_calls() {
    crate::sync::run(|| {
        let recorded: Arc<Recorded> = Arc::default();
        let notifier: Arc<Mutex<Option<Arc<Notifier>>>> = Arc::default();
        let (noting, own) = (Arc::clone(&recorded), Arc::clone(&notifier));
        // Each call makes another delivery.
        let function = Box::new(move |number: Number| {
            noting.note(number.0);
            let own = own.lock().unwrap().clone();
            own.unwrap().deliver(Number(number.0 + 1));
        });
        let jobs: Arc<Mutex<Vec<Job>>> = Arc::default();
        let queue = Arc::clone(&jobs);
        let executor = Arc::new(move |job: Job| queue.lock().unwrap().push(job));
        let notified = Arc::new(Notifier::new(Some(executor), 8, function, ()));
        *notifier.lock().unwrap() = Some(Arc::clone(&notified));
        notified.deliver(Number(0));
        for calls in [16, 32, 48] {
            let mut waiting = std::mem::take(&mut *jobs.lock().unwrap());
            assert_eq!(waiting.len(), 1);
            waiting.pop().unwrap()();
            assert_eq!(recorded.numbers().len(), calls);
        }
        notified.cancel(true);
        drop(notifier.lock().unwrap().take());
    });
}

#[test]
fn deliveries_during_an_overdue_call_are_merged_and_delivered() {
    explore(|| {
        let recorded: Arc<Recorded> = Arc::default();
        let noting = Arc::clone(&recorded);
        let function = Box::new(move |sum: Sum| noting.note(sum.0));
        let notifier = Arc::new(Notifier::new(None, 1, function, ()));
        let stuck = {
            let notifier = Arc::clone(&notifier);
            thread::spawn(move || notifier.deliver(Sum(1)))
        };
        notifier.give_up(Duration::ZERO);
        notifier.deliver(Sum(2));
        notifier.deliver(Sum(4));
        stuck.join().unwrap();
        while recorded.numbers().iter().sum::<usize>() < 7 {
            thread::yield_now();
        }
        notifier.cancel(true);
        assert_eq!(recorded.numbers().iter().sum::<usize>(), 7);
    });
}

#[test]
fn slow_subscriber_is_waited_for_again_only_after_a_quick_call() {
    explore(|| {
        for (quick, is_slow) in [(Duration::MAX, false), (Duration::ZERO, true)] {
            let recorded: Arc<Recorded> = Arc::default();
            let notifier = notifier(&recorded);
            notifier.give_up(quick);
            notifier.deliver(Number(1));
            // The call is made on a thread of its own.
            while notifier.is_slow() != is_slow || recorded.numbers().is_empty() {
                thread::yield_now();
            }
            assert_eq!(recorded.numbers(), [1]);
            if !is_slow {
                notifier.deliver(Number(2));
                assert_eq!(recorded.numbers(), [1, 2], "it was waited for");
            }
        }
    });
}

/// Counts the values that were dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn cancelled_callback_is_dropped_when_no_thread_uses_it_any_more() {
    explore(|| {
        let dropped: Arc<AtomicUsize> = Arc::default();
        let owned = Dropped(Arc::clone(&dropped));
        let function = Box::new(move |_: Number| drop(Arc::clone(&owned.0)));
        let callback = Arc::new(Callback::new(function));
        let threads = [true, true, false].map(|is_delivery| {
            let callback = Arc::clone(&callback);
            thread::spawn(move || match is_delivery {
                true => callback.deliver(Number(1)),
                false => callback.cancel(false),
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(
            dropped.load(Ordering::SeqCst),
            1,
            "while the callback exists"
        );
    });
}
