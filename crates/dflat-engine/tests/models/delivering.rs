//! Deliveries: one at a time, each once, in order, and whoever waits is woken.

use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

use crate::deliveries::{Acknowledgement, Deliveries};
use crate::explore;

/// Deliveries that are noted, and how many were under way at once.
struct Rig {
    deliveries: Arc<Deliveries>,
    delivered: Arc<Mutex<Vec<usize>>>,
    collisions: Arc<AtomicUsize>,
}

impl Rig {
    fn new() -> Arc<Self> {
        let (busy, collisions): (Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
        let collided = Arc::clone(&collisions);
        let deliver = Box::new(move |acknowledgement: Acknowledgement| {
            collided.fetch_add(busy.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
            thread::yield_now();
            (acknowledgement.completion)(acknowledgement.outcome.map(drop));
            busy.fetch_sub(1, Ordering::SeqCst);
        });
        Arc::new(Self {
            deliveries: Arc::new(Deliveries::new(deliver)),
            delivered: Arc::default(),
            collisions,
        })
    }

    fn push(&self, numbers: impl IntoIterator<Item = usize>) {
        let acknowledgement = |number| {
            let delivered = Arc::clone(&self.delivered);
            let completion = Box::new(move |_| delivered.lock().unwrap().push(number));
            Acknowledgement {
                outcome: Ok(None),
                completion,
            }
        };
        self.deliveries
            .push(numbers.into_iter().map(acknowledgement));
    }

    fn delivered(&self) -> Vec<usize> {
        self.delivered.lock().unwrap().clone()
    }

    fn finish(&self, expected: &[usize]) {
        self.deliveries.stop(true);
        assert_eq!(self.delivered(), expected);
        assert_eq!(self.collisions.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn two_threads_that_push_and_drain_deliver_each_once() {
    explore(|| {
        let rig = Rig::new();
        let other = {
            let rig = Arc::clone(&rig);
            thread::spawn(move || {
                rig.push([10]);
                rig.deliveries.drain();
            })
        };
        rig.push([1, 2]);
        rig.deliveries.drain();
        rig.push([3]);
        rig.deliveries.drain();
        other.join().unwrap();
        let mut delivered = rig.delivered();
        let ours: Vec<_> = delivered
            .iter()
            .copied()
            .filter(|number| *number < 10)
            .collect();
        assert_eq!(ours, [1, 2, 3], "in the order of pushing");
        delivered.sort_unstable();
        assert_eq!(delivered, [1, 2, 3, 10]);
        assert_eq!(rig.collisions.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn waiting_ends_when_what_was_pushed_before_is_delivered_by_whomever() {
    explore(|| {
        let rig = Rig::new();
        rig.push([1, 2]);
        let waiters = [(); 2].map(|()| {
            let rig = Arc::clone(&rig);
            thread::spawn(move || {
                rig.deliveries.wait();
                assert!(rig.delivered().starts_with(&[1, 2]));
            })
        });
        rig.deliveries.drain();
        rig.push([3]);
        rig.deliveries.hand_over();
        for waiter in waiters {
            waiter.join().unwrap();
        }
        rig.deliveries.wait();
        rig.finish(&[1, 2, 3]);
    });
}

#[test]
fn what_is_handed_over_is_delivered_without_anybody_waiting() {
    explore(|| {
        let rig = Rig::new();
        rig.push([1]);
        rig.deliveries.hand_over();
        rig.push([2]);
        rig.deliveries.hand_over();
        // The queue's own thread does it before it ends; nobody else drains.
        while rig.delivered().len() < 2 {
            thread::yield_now();
        }
        rig.finish(&[1, 2]);
    });
}

#[test]
fn what_is_pushed_while_another_thread_delivers_is_not_left_behind() {
    explore(|| {
        let rig = Rig::new();
        rig.push([1]);
        let draining = {
            let rig = Arc::clone(&rig);
            thread::spawn(move || rig.deliveries.drain())
        };
        rig.push([2]);
        rig.deliveries.drain();
        draining.join().unwrap();
        rig.finish(&[1, 2]);
    });
}
