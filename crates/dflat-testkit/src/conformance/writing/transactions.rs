//! Laws of transactions: atomicity, isolation and order.

use std::fmt;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dflat::{ErrorKind, Result};

use crate::conformance::samples::{ids, item, other};
use crate::fixture::{Open, drained, next};
use crate::schema::{Item, ItemChangeRequest, Keyed, Other, OtherChangeRequest};

#[derive(Debug, PartialEq)]
struct Mine(u32);

impl fmt::Display for Mine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mine {}", self.0)
    }
}

impl std::error::Error for Mine {}

// Promise: compatibility#P27
pub fn abort_undoes_earlier_and_later_changes(open: Open) {
    let w = open();
    w.create::<Item>([item("kept", 1)]);
    let error = w
        .perform_changes([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::creation(item("before", 1)))?;
            assert!(tx.abort());
            assert!(!tx.abort());
            let after = tx.submit(ItemChangeRequest::creation(item("after", 1)));
            assert_eq!(after.unwrap_err().kind(), ErrorKind::Aborted);
            assert_eq!(tx.get::<Item>("kept").unwrap_err().kind(), ErrorKind::Aborted);
            Ok(())
        })
        .wait()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["kept"]);
}

pub fn abort_before_any_change_is_reported(open: Open) {
    let w = open();
    let handle = w.perform_changes([Item::TABLE], |tx| Ok(tx.abort()));
    assert_eq!(handle.wait().unwrap_err().kind(), ErrorKind::Aborted);
}

// Promise: compatibility#P19, compatibility#P26
pub fn handlers_error_rolls_back_and_reaches_the_handle(open: Open) {
    let w = open();
    let error = w
        .perform_changes([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::creation(item("a", 1)))?;
            Err::<(), _>(dflat::Error::user(Mine(7)))
        })
        .wait()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User);
    assert_eq!(error.downcast_ref::<Mine>(), Some(&Mine(7)));
    assert_eq!(error.to_string(), "mine 7");
    assert!(w.fetch::<Item>().all().unwrap().is_empty());
}

pub fn handlers_panic_rolls_back_and_reaches_the_handle(open: Open) {
    let w = open();
    let handle = w.perform_changes([Item::TABLE], |tx| -> Result<()> {
        tx.submit(ItemChangeRequest::creation(item("a", 1)))?;
        panic!("on purpose")
    });
    let error = handle.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert!(error.to_string().contains("on purpose"), "{error}");
    w.create::<Item>([item("b", 1)]);
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["b"]);
}

// Promise: concurrency#C23, concurrency#C47, compatibility#P20
pub fn undeclared_type_is_an_error_and_the_transaction_goes_on(open: Open) {
    let w = open();
    w.perform([Item::TABLE], |tx| {
        let kinds = [
            tx.submit(OtherChangeRequest::creation(other(1))).unwrap_err().kind(),
            tx.fetch::<Other>().all().unwrap_err().kind(),
            tx.get::<Other>(1).unwrap_err().kind(),
        ];
        assert_eq!(kinds, [ErrorKind::UndeclaredType; 3]);
        tx.submit(ItemChangeRequest::creation(item("a", 1)))
    });
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["a"]);
}

pub fn no_type_at_all_is_an_invalid_argument(open: Open) {
    let w = open();
    let handle = w.perform_changes([], |_| Ok(()));
    assert_eq!(handle.wait().unwrap_err().kind(), ErrorKind::InvalidArgument);
}

// Promise: concurrency#C20
pub fn type_may_be_declared_twice(open: Open) {
    let w = open();
    w.perform([Item::TABLE, Item::TABLE], |tx| {
        tx.submit(ItemChangeRequest::creation(item("a", 1)))
    });
    assert!(w.get::<Item>("a").unwrap().is_some());
}

pub fn several_types_commit_together(open: Open) {
    let w = open();
    w.perform([Item::TABLE, Other::TABLE], |tx| {
        tx.submit(ItemChangeRequest::creation(item("a", 1)))?;
        tx.submit(OtherChangeRequest::creation(other(1)))
    });
    let failed = w.perform_changes([Other::TABLE, Item::TABLE], |tx| {
        tx.submit(ItemChangeRequest::creation(item("b", 1)))?;
        tx.submit(OtherChangeRequest::creation(other(1)))
    });
    assert_eq!(failed.wait().unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["a"]);
    assert_eq!(w.fetch::<Other>().all().unwrap().len(), 1);
}

pub fn only_the_transaction_sees_its_uncommitted_writes(open: Open) {
    let w = open();
    let (sender, received) = mpsc::channel();
    let (go, goes) = mpsc::channel();
    let inside = (*w).clone();
    let handle = w.perform_changes([Item::TABLE], move |tx| {
        tx.submit(ItemChangeRequest::creation(item("a", 1)))?;
        assert_eq!(tx.fetch::<Item>().all()?.len(), 1);
        assert_eq!(tx.fetch::<Item>().filter(Item::RANK.eq(1)).all()?.len(), 1);
        assert!(tx.get::<Item>("a")?.is_some());
        // On the handler's thread the workspace shows the transaction.
        assert_eq!(inside.fetch::<Item>().all()?.len(), 1);
        assert!(inside.get::<Item>("a")?.is_some());
        sender.send(()).unwrap();
        next(&goes)
    });
    next(&received);
    assert!(w.fetch::<Item>().all().unwrap().is_empty());
    assert!(w.get::<Item>("a").unwrap().is_none());
    go.send(Ok(())).unwrap();
    handle.wait().unwrap();
    assert!(w.get::<Item>("a").unwrap().is_some());
}

pub fn workspace_on_the_handlers_thread_refuses_undeclared_types(open: Open) {
    let w = open();
    let inside = (*w).clone();
    w.perform([Item::TABLE], move |_| {
        let kind = inside.fetch::<Other>().all().unwrap_err().kind();
        assert_eq!(kind, ErrorKind::UndeclaredType);
        Ok(())
    });
}

pub fn transaction_sees_its_own_updates_and_deletions_in_indexes(open: Open) {
    let w = open();
    let objects = w.create::<Item>([item("a", 1), item("b", 1), item("c", 2)]);
    w.perform([Item::TABLE], move |tx| {
        let mut change = ItemChangeRequest::change(tx, &objects[0])?.unwrap();
        change.rank = 2;
        tx.submit(change)?;
        tx.submit(ItemChangeRequest::deletion(tx, &objects[2])?.unwrap())?;
        let found = tx.fetch::<Item>().filter(Item::RANK.eq(2)).all()?;
        assert_eq!(ids(&found), ["a"]);
        assert_eq!(ids(&tx.fetch::<Item>().filter(Item::RANK.lt(2)).all()?), ["b"]);
        Ok(())
    });
}

pub fn empty_transaction_succeeds(open: Open) {
    let w = open();
    assert_eq!(w.perform([Item::TABLE], |_| Ok(5)), 5);
    assert!(w.fetch::<Item>().all().unwrap().is_empty());
}

// Promise: concurrency#C19, concurrency#C28, compatibility#P3
pub fn overlapping_types_run_in_the_order_of_calls(open: Open) {
    let w = open();
    let order = Arc::new(Mutex::new(Vec::new()));
    let (a, b) = (Item::TABLE, Other::TABLE);
    let sets = [
        vec![a.clone(), b.clone()],
        vec![a.clone()],
        vec![b.clone()],
        vec![b.clone(), a.clone()],
        vec![a.clone()],
        vec![a, b],
    ];
    let mut handles = Vec::new();
    for round in 0..50 {
        for (position, set) in sets.iter().enumerate() {
            let order = Arc::clone(&order);
            handles.push(w.perform_changes(set.clone(), move |_| {
                order.lock().unwrap().push((round, position));
                Ok(())
            }));
        }
    }
    for handle in handles {
        handle.wait().unwrap();
    }
    let order = order.lock().unwrap();
    for table in [[0, 1, 3, 4, 5].as_slice(), &[0, 2, 3, 5]] {
        let seen: Vec<_> = order.iter().filter(|(_, position)| table.contains(position)).collect();
        assert!(seen.is_sorted(), "{seen:?}");
    }
    assert_eq!(order.len(), 300);
}

// Promise: concurrency#C19, compatibility#P21
pub fn disjoint_handlers_can_meet_before_their_first_submit(open: Open) {
    let w = open();
    let (left_in, left) = mpsc::channel();
    let (right_in, right) = mpsc::channel();
    let first = w.perform_changes([Item::TABLE], move |tx| {
        left_in.send(()).unwrap();
        next(&right);
        tx.submit(ItemChangeRequest::creation(item("a", 1)))
    });
    let second = w.perform_changes([Other::TABLE], move |tx| {
        right_in.send(()).unwrap();
        next(&left);
        tx.submit(OtherChangeRequest::creation(other(1)))
    });
    first.wait().unwrap();
    second.wait().unwrap();
    assert_eq!(w.fetch::<Item>().all().unwrap().len(), 1);
    assert_eq!(w.fetch::<Other>().all().unwrap().len(), 1);
}

// Promise: concurrency#C20
pub fn many_threads_with_overlapping_types_do_not_deadlock(open: Open) {
    let w = open();
    w.create::<Item>([item("counter", 0)]);
    let sets = [
        vec![Item::TABLE, Other::TABLE],
        vec![Other::TABLE, Item::TABLE, Keyed::TABLE],
        vec![Keyed::TABLE, Item::TABLE],
        vec![Item::TABLE],
    ];
    std::thread::scope(|scope| {
        for set in &sets {
            scope.spawn(|| {
                for _ in 0..25 {
                    w.perform(set.clone(), |tx| {
                        let counter = tx.get::<Item>("counter")?.unwrap();
                        let mut change = ItemChangeRequest::change(tx, &counter)?.unwrap();
                        change.rank += 1;
                        tx.submit(change)
                    });
                }
            });
        }
    });
    assert_eq!(w.get::<Item>("counter").unwrap().unwrap().rank(), 100);
}

// Promise: concurrency#C25, concurrency#C26
pub fn performing_inside_a_handler_is_queued(open: Open) {
    let w = open();
    let inside = (*w).clone();
    let inner = w.perform([Item::TABLE], move |tx| {
        tx.submit(ItemChangeRequest::creation(item("a", 1)))?;
        Ok(inside.perform_changes([Item::TABLE], |tx| {
            let seen = tx.fetch::<Item>().all()?.len();
            tx.submit(ItemChangeRequest::creation(item("b", 2)))?;
            Ok(seen)
        }))
    });
    assert_eq!(inner.wait().unwrap(), 1);
    assert_eq!(w.fetch::<Item>().all().unwrap().len(), 2);
}

// Promise: concurrency#C24
pub fn wait_inside_a_handler_is_refused(open: Open) {
    let w = open();
    let inside = (*w).clone();
    let kind = w.perform([Item::TABLE], move |_| {
        let handle = inside.perform_changes([Item::TABLE], |_| Ok(()));
        Ok(handle.wait().unwrap_err().kind())
    });
    assert_eq!(kind, ErrorKind::WouldDeadlock);
    w.settle::<Item>();
}

// Promise: concurrency#C24
pub fn await_inside_a_handler_is_refused(open: Open) {
    let w = open();
    let inside = (*w).clone();
    let kind = w.perform([Item::TABLE], move |_| {
        let handle = inside.perform_changes([Item::TABLE], |_| Ok(()));
        Ok(futures::executor::block_on(handle).unwrap_err().kind())
    });
    assert_eq!(kind, ErrorKind::WouldDeadlock);
}

// Promise: compatibility#P18
pub fn handle_can_be_awaited(open: Open) {
    let w = open();
    let handle = w.perform_changes([Item::TABLE], |tx| {
        tx.submit(ItemChangeRequest::creation(item("a", 1)))?;
        Ok("value")
    });
    assert_eq!(futures::executor::block_on(handle).unwrap(), "value");
    assert!(w.get::<Item>("a").unwrap().is_some());
}

// Promise: concurrency#C73, compatibility#P18
pub fn completion_is_called_once_with_the_outcome(open: Open) {
    let w = open();
    let (send, outcomes) = mpsc::channel();
    let failing = send.clone();
    w.perform_changes([Item::TABLE], |_| Ok(1))
        .on_completion(move |outcome| send.send(outcome).unwrap());
    w.perform_changes([Item::TABLE], |_| Err::<i32, _>(dflat::Error::user(Mine(1))))
        .on_completion(move |outcome| failing.send(outcome).unwrap());
    assert_eq!(next(&outcomes).unwrap(), 1);
    assert_eq!(next(&outcomes).unwrap_err().kind(), ErrorKind::User);
    w.settle::<Item>();
    assert!(drained(&outcomes).is_empty());
}

pub fn completion_given_late_is_called_at_once(open: Open) {
    let w = open();
    let handle = w.perform_changes([Item::TABLE], |_| Ok(1));
    w.settle::<Item>();
    let (send, outcomes) = mpsc::channel();
    handle.on_completion(move |outcome| send.send(outcome).unwrap());
    assert_eq!(next(&outcomes).unwrap(), 1);
}

// Promise: concurrency#C70
pub fn completion_that_panics_fails_no_transaction(open: Open) {
    let w = open();
    let (go, goes) = mpsc::channel::<()>();
    w.perform_changes([Item::TABLE], move |_| {
        next(&goes);
        Ok(())
    })
    .on_completion(|_| panic!("on purpose"));
    go.send(()).unwrap();
    w.create::<Item>([item("a", 1)]);
    assert!(w.get::<Item>("a").unwrap().is_some());
}

// Promise: concurrency#C75
pub fn detached_and_dropped_handles_do_not_cancel(open: Open) {
    let w = open();
    let create = |id: &str| {
        let data = item(id, 1);
        w.perform_changes([Item::TABLE], move |tx| tx.submit(ItemChangeRequest::creation(data)))
    };
    create("a").detach();
    drop(create("b"));
    w.settle::<Item>();
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["a", "b"]);
}

pub fn many_queued_transactions_all_commit(open: Open) {
    let w = open();
    let handles: Vec<_> = (0..500)
        .map(|n| {
            w.perform_changes([Item::TABLE], move |tx| {
                tx.submit(ItemChangeRequest::creation(item(&n.to_string(), n)))
            })
        })
        .collect();
    for handle in handles {
        handle.wait().unwrap();
    }
    let all = w.fetch::<Item>().all().unwrap();
    assert!(all.iter().map(Item::rank).eq(0..500));
}

// Promise: concurrency#C22, compatibility#P21
pub fn one_slow_handler_does_not_hold_up_another_type(open: Open) {
    let w = open();
    let (go, goes) = mpsc::channel::<()>();
    let slow = w.perform_changes([Item::TABLE], move |_| {
        goes.recv_timeout(Duration::from_secs(10)).unwrap();
        Ok(())
    });
    w.perform([Other::TABLE], |tx| tx.submit(OtherChangeRequest::creation(other(1))));
    go.send(()).unwrap();
    slow.wait().unwrap();
}

// Promise: concurrency#C37, concurrency#C43
pub fn failed_transactions_in_a_queue_fail_no_other(open: Open) {
    let w = open();
    let (go, goes) = mpsc::channel::<()>();
    let first = w.perform_changes([Item::TABLE], move |_| {
        next(&goes);
        Ok(())
    });
    let handles: Vec<_> = (0..60)
        .map(|n| {
            w.perform_changes([Item::TABLE], move |tx| {
                let seen = tx.fetch::<Item>().all()?.len();
                tx.submit(ItemChangeRequest::creation(item(&n.to_string(), n)))?;
                match n % 6 {
                    1 => Err(dflat::Error::user(Mine(1))),
                    2 => panic!("on purpose"),
                    3 => {
                        tx.abort();
                        Ok(seen)
                    }
                    4 => tx
                        .submit(ItemChangeRequest::creation(item("0", 0)))
                        .map(|_| seen),
                    _ => Ok(seen),
                }
            })
        })
        .collect();
    go.send(()).unwrap();
    first.wait().unwrap();
    let mut committed = 0;
    for (n, handle) in handles.into_iter().enumerate() {
        let kind = handle.wait().map_err(|error| error.kind());
        let expected = match n % 6 {
            1 => Err(ErrorKind::User),
            2 => Err(ErrorKind::Panicked),
            3 => Err(ErrorKind::Aborted),
            4 => Err(ErrorKind::AlreadyExists),
            _ => Ok(committed),
        };
        assert_eq!(kind, expected, "{n}");
        committed += usize::from(expected.is_ok());
    }
    let ranks: Vec<i32> = (0..60).filter(|n| matches!(n % 6, 0 | 5)).collect();
    let all = w.fetch::<Item>().all().unwrap();
    assert!(all.iter().map(Item::rank).eq(ranks.iter().copied()));
    let found = w.fetch::<Item>().filter(Item::RANK.ge(0)).all().unwrap();
    assert_eq!(found.len(), ranks.len());
}

pub fn acknowledged_changes_are_seen_by_every_reader_at_once(open: Open) {
    let w = open();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let w = &w;
            scope.spawn(move || {
                for n in 0..20 {
                    let id = format!("{thread}-{n}");
                    w.create::<Item>([item(&id, n)]);
                    assert!(w.get::<Item>(&id).unwrap().is_some());
                    assert!(w.snapshot().unwrap().get::<Item>(&id).unwrap().is_some());
                }
            });
        }
    });
    assert_eq!(w.fetch::<Item>().all().unwrap().len(), 80);
}

pub fn handlers_may_hold_a_quarter_of_a_megabyte(open: Open) {
    let w = open();
    let called = dflat::Workspace::clone(&w);
    // The handler is moved several times on the caller's thread, which has a large stack, and once
    // on the thread that runs it.
    let caller = std::thread::Builder::new().stack_size(64 << 20);
    let thread = caller.spawn(move || {
        let much = [7_u8; 1 << 18];
        let once = called.perform_changes([Item::TABLE], move |_| Ok(much.last().copied()));
        let again =
            called.perform_changes_retrying([Item::TABLE], move |_| Ok(much.first().copied()));
        (once.wait().unwrap(), again.wait().unwrap())
    });
    assert_eq!(thread.unwrap().join().unwrap(), (Some(7), Some(7)));
}
