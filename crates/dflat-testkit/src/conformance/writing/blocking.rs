//! Laws of transactions that run on the thread of their caller.

use std::sync::mpsc;
use std::thread;

use dflat::{ErrorKind, FetchedResult, Result, TransactionContext, Update};

use crate::conformance::samples::{ids, item, other};
use crate::fixture::{Open, drained, next};
use crate::schema::{Item, ItemChangeRequest, Other, OtherChangeRequest};

fn insert(tx: &TransactionContext, id: &str) -> Result<()> {
    tx.submit(ItemChangeRequest::creation(item(id, 1))).map(drop)
}

// Promise: concurrency#C31
pub fn blocking_handler_borrows_and_runs_on_its_callers_thread(open: Open) {
    let w = open();
    let names = ["a", "b"].map(String::from);
    let mut seen = Vec::new();
    let thread = w
        .perform_changes_blocking([Item::TABLE], |tx| {
            for name in &names {
                insert(tx, name)?;
                seen.push(name.as_str());
            }
            Ok(thread::current().id())
        })
        .unwrap();
    assert_eq!((seen, thread), (vec!["a", "b"], thread::current().id()));
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["a", "b"]);
}

// Promise: concurrency#C31, concurrency#C34
pub fn blocking_transaction_ends_after_its_callbacks(open: Open) {
    let w = open();
    let (sender, received) = mpsc::channel();
    let _subscription = w
        .subscribe(w.fetch::<Item>(), move |result: Result<Update<FetchedResult<Item>>>| {
            sender.send(result.unwrap().len()).unwrap();
        })
        .unwrap();
    assert_eq!(next(&received), 0);
    for count in 1..5 {
        w.perform_changes_blocking([Item::TABLE], |tx| insert(tx, &count.to_string())).unwrap();
        assert_eq!(drained(&received), [count]);
    }
}

// Promise: concurrency#C32
pub fn blocking_transaction_fails_like_any_other(open: Open) {
    let w = open();
    let fail = |handler: fn(&TransactionContext) -> Result<()>| {
        let outcome = w.perform_changes_blocking([Item::TABLE], |tx| {
            insert(tx, "never")?;
            handler(tx)
        });
        outcome.unwrap_err().kind()
    };
    let conflict = |tx: &TransactionContext| insert(tx, "never");
    assert_eq!(fail(conflict), ErrorKind::AlreadyExists);
    assert_eq!(fail(|_| panic!("on purpose")), ErrorKind::Panicked);
    let abort = |tx: &TransactionContext| {
        tx.abort();
        Ok(())
    };
    assert_eq!(fail(abort), ErrorKind::Aborted);
    let nothing = w.perform_changes_blocking([], |_| Ok(()));
    assert_eq!(nothing.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(w.fetch::<Item>().all().unwrap().is_empty());
    w.perform_changes_blocking([Item::TABLE], |tx| insert(tx, "a")).unwrap();
}

// Promise: concurrency#C31, compatibility#P3
pub fn blocking_transactions_take_their_turn_with_the_others(open: Open) {
    let w = open();
    let (go, goes) = mpsc::channel::<()>();
    let first = w.perform_changes([Item::TABLE, Other::TABLE], move |tx| {
        let _ = goes.recv();
        insert(tx, "0")
    });
    thread::scope(|scope| {
        let blocking = scope.spawn(|| {
            w.perform_changes_blocking([Other::TABLE, Item::TABLE], |tx| {
                assert_eq!(ids(&tx.fetch::<Item>().all()?), ["0"]);
                insert(tx, "1")
            })
        });
        go.send(()).unwrap();
        blocking.join().unwrap().unwrap();
    });
    first.wait().unwrap();
    // A lost update or a lost turn would change this count.
    thread::scope(|scope| {
        for n in 0..6 {
            let w = &w;
            scope.spawn(move || {
                for round in 0..20 {
                    let add = move |tx: &TransactionContext| {
                        let zero = tx.get::<Item>("0")?.unwrap();
                        let mut change = ItemChangeRequest::change(tx, &zero)?.unwrap();
                        change.rank += 1;
                        tx.submit(change).map(drop)
                    };
                    let tables = [Item::TABLE, Other::TABLE];
                    let tables = tables.into_iter().take(1 + (n + round) % 2);
                    if n % 2 == 0 {
                        w.perform_changes_blocking(tables, add).unwrap();
                    } else {
                        w.perform_changes(tables, add).wait().unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(w.get::<Item>("0").unwrap().unwrap().rank(), 121);
}

// Promise: concurrency#C32
pub fn blocking_transactions_of_disjoint_types_can_meet(open: Open) {
    let w = open();
    let ((left_in, left), (right_in, right)) = (mpsc::channel(), mpsc::channel());
    let first = (*w).clone();
    thread::scope(|scope| {
        scope.spawn(move || {
            let meet = |tx: &TransactionContext| {
                left_in.send(()).unwrap();
                next(&right);
                insert(tx, "a")
            };
            first.perform_changes_blocking([Item::TABLE], meet).unwrap();
        });
        let meet = |tx: &TransactionContext| {
            right_in.send(()).unwrap();
            next(&left);
            tx.submit(OtherChangeRequest::creation(other(1)))
        };
        w.perform_changes_blocking([Other::TABLE], meet).unwrap();
    });
    assert_eq!(w.fetch::<Item>().all().unwrap().len(), 1);
    assert_eq!(w.fetch::<Other>().all().unwrap().len(), 1);
}

// Promise: concurrency#C35
pub fn blocking_call_inside_a_handler_or_callback_is_refused(open: Open) {
    let w = open();
    let inside = (*w).clone();
    let block = move || {
        let outcome = inside.perform_changes_blocking([Other::TABLE], |_| Ok(()));
        outcome.unwrap_err().kind()
    };
    let again = block.clone();
    let kind = w.perform([Item::TABLE], move |_| Ok(block()));
    assert_eq!(kind, ErrorKind::WouldDeadlock);
    let (sender, received) = mpsc::channel();
    let subscription = w
        .subscribe(w.fetch::<Item>(), move |_| sender.send(again()).unwrap())
        .unwrap();
    assert_eq!(next(&received), ErrorKind::WouldDeadlock);
    subscription.cancel();
    let outer = w.perform_changes_blocking([Item::TABLE], |_| {
        w.perform_changes_blocking([Other::TABLE], |_| Ok(()))
    });
    assert_eq!(outer.unwrap_err().kind(), ErrorKind::WouldDeadlock);
}

// Promise: concurrency#C32
pub fn blocking_transaction_finishes_before_shutdown_and_is_refused_after_it(open: Open) {
    let w = open();
    let (go, goes) = mpsc::channel::<()>();
    let first = w.perform_changes([Item::TABLE], move |_| {
        let _ = goes.recv();
        Ok(())
    });
    let (sender, received) = mpsc::channel();
    thread::scope(|scope| {
        let blocking = scope.spawn(|| {
            sender.send(()).unwrap();
            w.perform_changes_blocking([Item::TABLE], |tx| insert(tx, "a"))
        });
        next(&received);
        go.send(()).unwrap();
        first.wait().unwrap();
        w.shutdown().unwrap();
        // The transaction either was queued in time and ran, or it fails with `ShutDown`; it does
        // not hang.
        if let Err(error) = blocking.join().unwrap() {
            assert_eq!(error.kind(), ErrorKind::ShutDown);
        }
    });
    let late = w.perform_changes_blocking([Item::TABLE], |_| Ok(()));
    assert_eq!(late.unwrap_err().kind(), ErrorKind::ShutDown);
}
