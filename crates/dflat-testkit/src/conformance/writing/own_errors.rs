//! Laws of handlers that return errors of the caller's own type.

use std::num::ParseIntError;
use std::sync::mpsc;

use dflat::{Error, ErrorKind, Performer, Result, TransactionContext};

use crate::conformance::samples::{ids, item};
use crate::fixture::{Open, next};
use crate::schema::{Item, ItemChangeRequest};

/// An error that is no `std::error::Error`.
#[derive(Debug, PartialEq)]
enum OwnError {
    Number(ParseIntError),
    Library(ErrorKind),
}

impl From<ParseIntError> for OwnError {
    fn from(error: ParseIntError) -> Self {
        Self::Number(error)
    }
}

impl From<Error> for OwnError {
    fn from(error: Error) -> Self {
        Self::Library(error.kind())
    }
}

fn insert(tx: &TransactionContext, id: &str, rank: i32) -> Result<()> {
    tx.submit(ItemChangeRequest::creation(item(id, rank))).map(drop)
}

/// Inserts an item with a rank that is read from text.
fn parse(tx: &TransactionContext, id: &str, rank: &str) -> Result<i32, OwnError> {
    insert(tx, "before the error", 0)?;
    let rank = rank.parse()?;
    insert(tx, id, rank)?;
    Ok(rank)
}

/// The outcomes of all forms of performing changes with the same handler.
fn each_form(
    performer: Performer<'_, OwnError>,
    handler: fn(&TransactionContext) -> Result<i32, OwnError>,
) -> Vec<Result<i32, OwnError>> {
    [performer, performer.write_first()]
        .into_iter()
        .flat_map(|performer| {
            [
                performer.perform_changes([Item::TABLE], handler).wait(),
                performer.perform_changes_retrying([Item::TABLE], handler).wait(),
                performer.perform_changes_blocking([Item::TABLE], handler),
                performer.perform_changes_blocking_retrying([Item::TABLE], handler),
            ]
        })
        .collect()
}

fn not_a_number() -> OwnError {
    OwnError::Number("many".parse::<i32>().unwrap_err())
}

// Promise: concurrency#C79
pub fn handlers_own_error_comes_back_from_each_form(open: Open) {
    let w = open();
    let performer = w.with_error::<OwnError>();
    for outcome in each_form(performer, |tx| parse(tx, "a", "many")) {
        assert_eq!(outcome, Err(not_a_number()));
    }
    assert_eq!(w.fetch::<Item>().count().unwrap(), 0);
    let first = performer.perform_changes([Item::TABLE], |tx| parse(tx, "a", "7"));
    assert_eq!(first.wait(), Ok(7));
    // The library's own errors take the same way.
    for outcome in each_form(performer, |tx| parse(tx, "b", "8")) {
        assert_eq!(outcome, Err(OwnError::Library(ErrorKind::AlreadyExists)));
    }
    assert_eq!(w.fetch::<Item>().count().unwrap(), 2);
}

// Promise: concurrency#C80
pub fn outcome_of_a_lost_transaction_is_the_librarys_error_converted(open: Open) {
    let w = open();
    let performer = w.with_error::<OwnError>();
    let aborted = each_form(performer, |tx| {
        tx.abort();
        parse(tx, "a", "many")
    });
    let panicked = each_form(performer, |_| panic!("on purpose"));
    for (outcomes, kind) in [(aborted, ErrorKind::Aborted), (panicked, ErrorKind::Panicked)] {
        for outcome in outcomes {
            assert_eq!(outcome, Err(OwnError::Library(kind)));
        }
    }
    let no_types = performer.perform_changes([], |_| Ok(()));
    let expected = Err(OwnError::Library(ErrorKind::InvalidArgument));
    assert_eq!(no_types.wait(), expected);
    let inner = performer.perform_changes_blocking([Item::TABLE], |_| {
        let inner = performer.perform_changes([Item::TABLE], |_| Ok(()));
        Ok(inner.wait())
    });
    assert_eq!(inner, Ok(Err(OwnError::Library(ErrorKind::WouldDeadlock))));
    w.shutdown().unwrap();
    for outcome in each_form(performer, |tx| parse(tx, "a", "7")) {
        assert_eq!(outcome, Err(OwnError::Library(ErrorKind::ShutDown)));
    }
}

// Promise: concurrency#C12
pub fn handler_with_its_own_error_is_undone_and_not_repeated(open: Open) {
    let w = open();
    let mut runs = 0;
    let performer = w.with_error::<OwnError>();
    let outcome = performer.perform_changes_blocking_retrying([Item::TABLE], |tx| {
        runs += 1;
        parse(tx, "a", "many")
    });
    assert_eq!((outcome, runs), (Err(not_a_number()), 1));
    assert_eq!(w.fetch::<Item>().count().unwrap(), 0);
}

pub fn handle_with_an_own_error_can_be_awaited_and_completed(open: Open) {
    let w = open();
    let performer = w.with_error::<OwnError>();
    let perform = || performer.perform_changes([Item::TABLE], |tx| parse(tx, "a", "many"));
    assert_eq!(futures::executor::block_on(perform()), Err(not_a_number()));
    let (send, outcomes) = mpsc::channel();
    perform().on_completion(move |outcome| send.send(outcome).unwrap());
    assert_eq!(next(&outcomes), Err(not_a_number()));
}

pub fn savepoint_with_an_own_error_is_undone_and_the_transaction_goes_on(open: Open) {
    let w = open();
    let performer = w.with_error::<OwnError>();
    let done = performer.perform_changes([Item::TABLE], |tx| {
        insert(tx, "kept", 1)?;
        let undone = tx.nested_with_error(|tx| parse(tx, "never", "many"));
        let kept = tx.nested_with_error(|tx| parse(tx, "parsed", "9"))?;
        let conflict = tx.nested_with_error(|tx| -> Result<(), OwnError> {
            insert(tx, "also never", 1)?;
            Ok(insert(tx, "kept", 2)?)
        });
        Ok((undone, kept, conflict))
    });
    let (undone, kept, conflict) = done.wait().unwrap();
    assert_eq!((undone, kept), (Err(not_a_number()), 9));
    assert_eq!(conflict, Err(OwnError::Library(ErrorKind::AlreadyExists)));
    let items = w.fetch::<Item>().all().unwrap();
    assert_eq!(ids(&items), ["kept", "before the error", "parsed"]);
}

#[derive(Debug)]
struct Panicking;

impl From<Error> for Panicking {
    fn from(_: Error) -> Self {
        panic!("on purpose")
    }
}

pub fn conversion_that_panics_harms_no_other_transaction(open: Open) {
    let w = open();
    let (proceed, wait) = mpsc::channel();
    let aborted = w.with_error::<Panicking>().perform_changes([Item::TABLE], move |tx| {
        next(&wait);
        tx.abort();
        Ok(())
    });
    aborted.on_completion(|_| ());
    proceed.send(()).unwrap();
    let aborted = w.with_error::<Panicking>().perform_changes([Item::TABLE], |tx| {
        tx.abort();
        Ok(())
    });
    let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| aborted.wait()));
    assert!(waited.is_err());
    let later = w.perform_changes([Item::TABLE], |tx| insert(tx, "a", 1));
    later.wait().unwrap();
}
