//! Laws of transactions whose handlers may run again, or that take write access first.

use std::sync::mpsc;
use std::thread;

use dflat::{Dictionary, ErrorKind, Result, TransactionContext};

use crate::conformance::samples::{ids, item, other};
use crate::fixture::{Open, next};
use crate::schema::{Item, ItemChangeRequest, Other, OtherChangeRequest};

fn insert(tx: &TransactionContext, id: &str) -> Result<()> {
    tx.submit(ItemChangeRequest::creation(item(id, 1))).map(drop)
}

// Promise: concurrency#C9
pub fn retrying_forms_run_a_handler_once_if_no_other_process_commits(open: Open) {
    let w = open();
    let names = ["a", "b"].map(String::from);
    let mut runs = 0;
    let blocking = w.perform_changes_blocking_retrying([Item::TABLE], |tx| {
        runs += 1;
        let before = tx.fetch::<Item>().count()?;
        names.iter().try_for_each(|name| insert(tx, name))?;
        Ok((before, thread::current().id()))
    });
    assert_eq!(blocking.unwrap(), (0, thread::current().id()));
    assert_eq!(runs, 1);
    let mut runs = 0;
    let handle = w.perform_changes_retrying([Item::TABLE], move |tx| {
        runs += 1;
        insert(tx, "c").map(|()| runs)
    });
    assert_eq!(handle.wait().unwrap(), 1);
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["a", "b", "c"]);
}

pub fn blocking_retrying_transaction_fails_like_any_other(open: Open) {
    let w = open();
    let fail = |handler: fn(&TransactionContext) -> Result<()>| {
        let mut runs = 0;
        let outcome = w.perform_changes_blocking_retrying([Item::TABLE], |tx| {
            runs += 1;
            insert(tx, "never")?;
            handler(tx)
        });
        (outcome.unwrap_err().kind(), runs)
    };
    assert_eq!(fail(|tx| insert(tx, "never")), (ErrorKind::AlreadyExists, 1));
    assert_eq!(fail(|_| panic!("on purpose")), (ErrorKind::Panicked, 1));
    let abort = |tx: &TransactionContext| {
        tx.abort();
        Ok(())
    };
    assert_eq!(fail(abort), (ErrorKind::Aborted, 1));
    let none = w.perform_changes_blocking_retrying([], |_| Ok(()));
    assert_eq!(none.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(w.fetch::<Item>().count().unwrap(), 0);
    w.shutdown().unwrap();
    let late = w.perform_changes_blocking_retrying([Item::TABLE], |_| Ok(()));
    assert_eq!(late.unwrap_err().kind(), ErrorKind::ShutDown);
}

// Promise: concurrency#C77
pub fn handlers_that_have_write_access_first_do_not_meet(open: Open) {
    let w = open();
    let (sender, received) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let started = sender.clone();
    let first = w.write_first().perform_changes([Item::TABLE], move |tx| {
        started.send("first starts").unwrap();
        next(&goes);
        started.send("first ends").unwrap();
        insert(tx, "a")
    });
    assert_eq!(next(&received), "first starts");
    let second = w.write_first().perform_changes([Other::TABLE], move |tx| {
        sender.send("second").unwrap();
        tx.submit(OtherChangeRequest::creation(other(1)))
    });
    // A handler without the option runs meanwhile, as long as it changes nothing.
    w.perform_changes_blocking([Dictionary::TABLE], |_| Ok(())).unwrap();
    go.send(()).unwrap();
    assert_eq!(next(&received), "first ends");
    assert_eq!(next(&received), "second");
    first.wait().unwrap();
    second.wait().unwrap();
}

pub fn transaction_with_write_access_first_fails_like_any_other(open: Open) {
    let w = open();
    let view = w.write_first();
    let fail = |handler: fn(&TransactionContext) -> Result<()>| {
        let outcome = view.perform_changes_blocking([Item::TABLE], |tx| {
            insert(tx, "never")?;
            handler(tx)
        });
        outcome.unwrap_err().kind()
    };
    assert_eq!(fail(|tx| insert(tx, "never")), ErrorKind::AlreadyExists);
    assert_eq!(fail(|_| panic!("on purpose")), ErrorKind::Panicked);
    assert_eq!(view.perform_changes([Item::TABLE], |_| Ok(7)).wait().unwrap(), 7);
    view.perform_changes([Item::TABLE], |tx| insert(tx, "a")).wait().unwrap();
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["a"]);
}
