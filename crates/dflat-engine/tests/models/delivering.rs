//! Deliveries: one at a time, each once, in order, and every waiting thread is woken.

use std::time::Duration;

use dflat_model::{CommitSeq, RowId, Table, TableDescriptor};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

use crate::change_set::{ChangeSet, Completion, Ended, RowChange, TableChanges};
use crate::deliveries::Deliveries;
use crate::error::Result;
use crate::explore;
use crate::queue::{Calls, Deliver};

/// Deliveries with a record of their calls, and a count of the completions that overlapped.
struct Rig {
    deliveries: Arc<Deliveries>,
    delivered: Arc<Mutex<Vec<usize>>>,
    collisions: Arc<AtomicUsize>,
}

/// Makes two recorded calls for each commit and one for each renewal, and counts completions that
/// overlap.
struct Noting {
    busy: AtomicUsize,
    collisions: Arc<AtomicUsize>,
    delivered: Arc<Mutex<Vec<usize>>>,
}

impl Deliver for Noting {
    fn publish(&self, changes: &ChangeSet) -> Option<Arc<dyn Calls>> {
        let seq = usize::try_from(changes.seq.0).unwrap();
        Some(RecordedCalls::new(seq, 2, &self.delivered))
    }

    fn renew(&self) -> Option<Arc<dyn Calls>> {
        Some(RecordedCalls::new(9, 1, &self.delivered))
    }

    fn is_observed(&self, _: &Table) -> bool {
        false
    }

    fn complete(&self, outcome: Result<()>, completion: Completion) {
        let others = self.busy.fetch_add(1, Ordering::SeqCst);
        self.collisions.fetch_add(others, Ordering::SeqCst);
        thread::yield_now();
        completion.complete(outcome);
        self.busy.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Calls that record their number.
struct RecordedCalls {
    state: Mutex<(usize, u64, u64)>,
    number: usize,
    delivered: Arc<Mutex<Vec<usize>>>,
}

impl RecordedCalls {
    fn new(number: usize, calls: usize, delivered: &Arc<Mutex<Vec<usize>>>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new((calls, 0, 0)),
            number,
            delivered: Arc::clone(delivered),
        })
    }
}

impl Calls for RecordedCalls {
    fn make_next(&self, turn: u64) -> bool {
        let mut state = self.state.lock().unwrap();
        if state.2 != turn || state.0 == 0 {
            return false;
        }
        state.0 -= 1;
        state.1 += 1;
        let number = self.number * 100 + state.0;
        drop(state);
        thread::yield_now();
        self.delivered.lock().unwrap().push(number);
        true
    }

    fn progress(&self) -> u64 {
        self.state.lock().unwrap().1
    }

    fn give_up(&self, _: Duration) -> u64 {
        let mut state = self.state.lock().unwrap();
        state.2 += 1;
        state.2
    }
}

impl Rig {
    fn new() -> Arc<Self> {
        let delivered: Arc<Mutex<Vec<usize>>> = Arc::default();
        let collisions: Arc<AtomicUsize> = Arc::default();
        let noting = Noting {
            busy: AtomicUsize::new(0),
            collisions: Arc::clone(&collisions),
            delivered: Arc::clone(&delivered),
        };
        Arc::new(Self {
            deliveries: Arc::new(Deliveries::new(
                Box::new(noting),
                Duration::from_secs(1),
                usize::MAX,
            )),
            delivered,
            collisions,
        })
    }

    /// Pushes a commit of which two subscribers are notified.
    fn commit(&self, number: usize) {
        let changes = ChangeSet {
            seq: CommitSeq(number as u64),
            tables: Vec::new().into(),
            state: None,
        };
        self.deliveries.push([Ended {
            outcome: Ok(Some(changes)),
            completion: self.noted(number),
        }]);
    }

    /// A completion that records a number.
    fn noted(&self, number: usize) -> Completion {
        let delivered = Arc::clone(&self.delivered);
        Box::new(move |_| delivered.lock().unwrap().push(number))
    }

    fn push(&self, numbers: impl IntoIterator<Item = usize>) {
        let acknowledgement = |number| Ended {
            outcome: Ok(None),
            completion: self.noted(number),
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

/// Matches the rows of each commit slowly, and notifies as many subscribers as the second field
/// says.
struct Matching(Arc<AtomicUsize>, usize);

impl Deliver for Matching {
    fn publish(&self, changes: &ChangeSet) -> Option<Arc<dyn Calls>> {
        thread::yield_now();
        self.0
            .fetch_sub(changes.unmatched_count(), Ordering::SeqCst);
        (self.1 > 0).then(|| RecordedCalls::new(1, self.1, &Arc::default()) as Arc<dyn Calls>)
    }

    fn renew(&self) -> Option<Arc<dyn Calls>> {
        None
    }

    fn is_observed(&self, _: &Table) -> bool {
        false
    }

    fn complete(&self, outcome: Result<()>, completion: Completion) {
        completion.complete(outcome);
    }
}

/// A commit that changed rows.
fn changed(rows: usize) -> Ended {
    let change = RowChange {
        before: None,
        after: None,
    };
    let table = TableChanges {
        table: Table::new(TableDescriptor {
            name: "sample".into(),
            type_name: "Sample".into(),
            primary_key: Vec::new().into(),
            auto_key: None,
            indexes: Vec::new().into(),
            types: Vec::new().into(),
        }),
        rows: vec![(RowId(1), change); rows].into(),
        inserted: None,
        repeated: false,
        is_attached: false,
    };
    Ended {
        outcome: Ok(Some(ChangeSet {
            seq: CommitSeq(1),
            tables: vec![table].into(),
            state: None,
        })),
        completion: Box::new(|_| ()),
    }
}

// Promise: live-queries#L36
#[test]
fn rows_waiting_to_be_matched_are_bounded() {
    explore(|| commit_and_hold(0));
}

// Promise: live-queries#L36
#[test]
fn rows_waiting_to_be_matched_are_bounded_while_subscribers_are_called() {
    explore(|| commit_and_hold(1));
}

/// Two threads commit and check how many rows wait to be matched, while `subscribers` subscribers
/// are notified of each commit.
fn commit_and_hold(subscribers: usize) {
    const ROWS: usize = 2;
    const BOUND: usize = 3;
    let unmatched: Arc<AtomicUsize> = Arc::default();
    let matching = Box::new(Matching(Arc::clone(&unmatched), subscribers));
    let patience = Duration::from_secs(1);
    let deliveries = Arc::new(Deliveries::new(matching, patience, BOUND));
    let threads = [0, 1].map(|_| {
        let (deliveries, unmatched) = (Arc::clone(&deliveries), Arc::clone(&unmatched));
        thread::spawn(move || {
            for n in 0..3 {
                let waiting = unmatched.fetch_add(ROWS, Ordering::SeqCst) + ROWS;
                assert!(waiting <= BOUND + 2 * ROWS, "{waiting}");
                deliveries.push([changed(ROWS)]);
                if n % 2 == 0 {
                    deliveries.hand_over();
                } else {
                    deliveries.drain();
                }
                deliveries.hold();
            }
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
    deliveries.wait();
    assert_eq!(unmatched.load(Ordering::SeqCst), 0);
    deliveries.stop(true);
}

/// Matched rows no longer count as waiting, however long their completion takes.
#[test]
fn matched_rows_do_not_delay_writers() {
    const ROWS: usize = 4;
    explore(|| {
        let matching = Box::new(Matching(Arc::new(AtomicUsize::new(ROWS)), 0));
        let deliveries = Deliveries::new(matching, Duration::from_secs(1), ROWS - 1);
        let deliveries = Arc::new(deliveries);
        let (held, ends) = (Arc::clone(&deliveries), Arc::new(AtomicUsize::new(0)));
        let ended = Arc::clone(&ends);
        deliveries.push([Ended {
            completion: Box::new(move |_| {
                held.hold();
                ended.fetch_add(1, Ordering::SeqCst);
            }),
            ..changed(ROWS)
        }]);
        let other = {
            let deliveries = Arc::clone(&deliveries);
            thread::spawn(move || deliveries.hold())
        };
        deliveries.drain();
        other.join().unwrap();
        assert_eq!(ends.load(Ordering::SeqCst), 1);
        deliveries.stop(true);
    });
}

#[test]
fn commits_pushed_by_two_threads_are_delivered_once_each() {
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
fn wait_ends_when_any_thread_has_delivered_the_earlier_commits() {
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
fn handed_over_deliveries_are_made_without_a_waiter() {
    explore(|| {
        let rig = Rig::new();
        rig.push([1]);
        rig.deliveries.hand_over();
        rig.push([2]);
        rig.deliveries.hand_over();
        // The queue's own thread delivers both before it ends; no other thread drains the queue.
        while rig.delivered().len() < 2 {
            thread::yield_now();
        }
        rig.finish(&[1, 2]);
    });
}

#[test]
fn commit_pushed_while_another_thread_delivers_is_delivered() {
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

#[test]
fn subscribers_are_called_in_the_order_of_commits_and_before_the_completion() {
    explore(|| {
        let rig = Rig::new();
        rig.commit(1);
        let other = {
            let rig = Arc::clone(&rig);
            thread::spawn(move || rig.deliveries.drain())
        };
        rig.push([2]);
        rig.commit(3);
        rig.deliveries.drain();
        other.join().unwrap();
        rig.deliveries.wait();
        rig.finish(&[101, 100, 1, 2, 301, 300, 3]);
    });
}

#[test]
fn registrations_and_foreign_commits_are_ordered_among_the_commits() {
    explore(|| {
        let rig = Rig::new();
        rig.commit(1);
        let delivered = Arc::clone(&rig.delivered);
        let register =
            Box::new(move || Some(RecordedCalls::new(2, 1, &delivered) as Arc<dyn Calls>));
        rig.deliveries.register(register, 0);
        rig.deliveries.hand_over();
        rig.deliveries.renew(CommitSeq(1));
        rig.commit(3);
        rig.deliveries.wait();
        rig.finish(&[101, 100, 1, 200, 900, 301, 300, 3]);
    });
}

#[test]
fn foreign_commit_between_the_read_and_the_queuing_of_a_registration_is_delivered_after_it() {
    explore(|| {
        let rig = Rig::new();
        let renewals = rig.deliveries.renewals();
        // The registration has read its state. Before it is queued, a transaction of another table
        // finds a foreign write.
        rig.deliveries.renew(CommitSeq(0));
        let delivered = Arc::clone(&rig.delivered);
        let register =
            Box::new(move || Some(RecordedCalls::new(2, 1, &delivered) as Arc<dyn Calls>));
        rig.deliveries.register(register, renewals);
        rig.deliveries.wait();
        rig.finish(&[900, 200, 900]);
    });
}

#[test]
fn followed_commits_are_delivered_once_in_order_and_stop_a_registration_that_read_before_them() {
    explore(|| {
        let rig = Rig::new();
        let renewals = rig.deliveries.renewals();
        let follower = {
            let rig = Arc::clone(&rig);
            thread::spawn(move || {
                let commits = [4, 5].map(|number| {
                    let changes = ChangeSet {
                        seq: CommitSeq(number),
                        tables: Vec::new().into(),
                        state: None,
                    };
                    (changes, Vec::new())
                });
                rig.deliveries.follow(commits);
                rig.deliveries.hand_over();
            })
        };
        let expected = rig.deliveries.expect_registration();
        let delivered = Arc::clone(&rig.delivered);
        let register =
            Box::new(move || Some(RecordedCalls::new(2, 1, &delivered) as Arc<dyn Calls>));
        let queued = rig.deliveries.try_register(register, renewals);
        let is_queued = queued.is_ok();
        drop(expected);
        rig.deliveries.hand_over();
        follower.join().unwrap();
        rig.deliveries.wait();
        let followed = [401, 400, 501, 500];
        match is_queued {
            true => rig.finish(&[&[200][..], &followed].concat()),
            false => rig.finish(&followed),
        }
    });
}

#[test]
fn overdue_call_is_made_once_and_the_other_calls_go_on_in_order() {
    explore(|| {
        let rig = Rig::new();
        rig.commit(1);
        rig.commit(2);
        rig.deliveries.drain();
        let impatient = {
            let rig = Arc::clone(&rig);
            thread::spawn(move || rig.deliveries.give_up(None))
        };
        rig.deliveries.wait();
        impatient.join().unwrap();
        rig.deliveries.stop(true);
        let is_call = |n: &usize| *n >= 100;
        let completed: Vec<_> = rig
            .delivered()
            .into_iter()
            .filter(|n| !is_call(n))
            .collect();
        assert_eq!(completed, [1, 2], "each completion once, in order");
        // The call that was given up is recorded by its own thread, at any later time.
        while rig.delivered().len() < 6 {
            thread::yield_now();
        }
        let mut all = rig.delivered();
        all.sort_unstable();
        assert_eq!(all, [1, 2, 100, 101, 200, 201], "each call once");
    });
}
