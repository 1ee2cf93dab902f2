//! Laws of the dictionary inside transactions.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

use dflat::{Dictionary, ErrorKind};

use super::dictionary::{store_behind, stored_numbers};
use crate::conformance::samples::item;
use crate::fixture::{Open, next};
use crate::schema::{Item, ItemChangeRequest};

// Promise: compatibility#P59
pub fn a_transaction_changes_values_with_objects(open: Open) {
    let w = open();
    let d = w.dictionary();
    d.set("n", 1_i64).unwrap();
    let outside = d.clone();
    w.perform([Item::TABLE, Dictionary::TABLE], move |tx| {
        let inside = tx.dictionary();
        assert_eq!(inside.get("n")?, Some(1_i64));
        inside.set("n", 2_i64)?;
        inside.namespace("ui").set("m", 3_i64)?;
        assert_eq!(inside.update("n", |n: Option<i64>| n.map(|n| n + 5))?, Some(7));
        assert_eq!(inside.get("n")?, Some(7_i64));
        // Outside of the transaction, the value is unchanged.
        assert_eq!(outside.get("n")?, Some(1_i64));
        assert_eq!(outside.namespace("ui").get::<i64>("m")?, None);
        let refused = outside.set("n", 5_i64).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::WouldDeadlock);
        outside.set("other", 4_i64)?;
        tx.submit(ItemChangeRequest::creation(item("a", 1)))
    });
    assert_eq!(d.get("n").unwrap(), Some(7_i64));
    assert_eq!(d.namespace("ui").get("m").unwrap(), Some(3_i64));
    let numbers = [("n".to_owned(), 7), ("other".to_owned(), 4)];
    assert_eq!(stored_numbers(&w), BTreeMap::from(numbers));
}

pub fn a_transaction_that_fails_changes_no_value(open: Open) {
    let w = open();
    let d = w.dictionary();
    d.set("n", 1_i64).unwrap();
    d.set("gone", 1_i64).unwrap();
    for way in 0..3 {
        let outcome = w.perform_changes([Dictionary::TABLE], move |tx| {
            let inside = tx.dictionary();
            inside.set("n", 2_i64)?;
            inside.remove("gone")?;
            inside.set("new", 3_i64)?;
            match way {
                0 => Err(dflat::Error::user(std::fmt::Error)),
                1 => {
                    tx.abort();
                    Ok(())
                }
                _ => panic!("as the test wants"),
            }
        });
        outcome.wait().unwrap_err();
        assert_eq!(d.get("n").unwrap(), Some(1_i64));
        assert_eq!(d.get("gone").unwrap(), Some(1_i64));
        assert_eq!(d.get::<i64>("new").unwrap(), None);
        let numbers = [("n".to_owned(), 1), ("gone".to_owned(), 1)];
        assert_eq!(stored_numbers(&w), BTreeMap::from(numbers));
        // The keys were released, so this does not wait.
        d.set("new", way).unwrap();
        d.remove("new").unwrap();
    }
}

pub fn undone_savepoint_changes_no_dictionary_value(open: Open) {
    let w = open();
    let d = w.dictionary();
    let outside = d.clone();
    w.perform([Dictionary::TABLE], move |tx| {
        tx.dictionary().set("kept", 1_i64)?;
        // This value is not written yet, and the undone savepoint is the first to write its key.
        outside.set("direct", 5_i64)?;
        let undone: dflat::Result<()> = tx.nested(|tx| {
            tx.dictionary().set("kept", 2_i64)?;
            tx.dictionary().set("direct", 6_i64)?;
            tx.dictionary().set("new", 2_i64)?;
            Err(dflat::Error::user(std::fmt::Error))
        });
        assert_eq!(undone.unwrap_err().kind(), ErrorKind::User);
        assert_eq!(tx.dictionary().get("kept")?, Some(1_i64));
        assert_eq!(tx.dictionary().get("direct")?, Some(5_i64));
        Ok(())
    });
    let numbers = [("kept".to_owned(), 1), ("direct".to_owned(), 5)];
    assert_eq!(stored_numbers(&w), BTreeMap::from(numbers));
    assert_eq!(d.get("direct").unwrap(), Some(5_i64));
    assert_eq!(d.get::<i64>("new").unwrap(), None);
}

pub fn panic_in_a_savepoint_loses_no_direct_dictionary_change(open: Open) {
    let w = open();
    let d = w.dictionary();
    let outside = d.clone();
    w.perform([Dictionary::TABLE], move |tx| {
        outside.set("direct", 5_i64)?;
        let caught = catch_unwind(AssertUnwindSafe(|| {
            tx.nested(|tx| -> dflat::Result<()> {
                tx.dictionary().set("direct", 6_i64)?;
                panic!("as the test wants")
            })
        }));
        assert!(caught.is_err());
        assert_eq!(tx.dictionary().get("direct")?, Some(5_i64));
        Ok(())
    });
    assert_eq!(d.get("direct").unwrap(), Some(5_i64));
    assert_eq!(stored_numbers(&w), BTreeMap::from([("direct".to_owned(), 5)]));
}

/// The second transaction begins before the first is acknowledged; the direct change is older than
/// both.
pub fn transactions_in_a_row_build_on_one_another(open: Open) {
    for way in 0..3_i64 {
        let w = open();
        let d = w.dictionary();
        let (go, goes) = mpsc::channel::<()>();
        let types = [Dictionary::TABLE];
        let first = w.perform_changes(types.clone(), move |_| {
            next(&goes);
            Ok(())
        });
        let second = w.perform_changes(types.clone(), move |tx| match way {
            0 => tx.dictionary().set("k", 2_i64),
            1 => tx.dictionary().remove("k"),
            _ => tx.dictionary().get::<i64>("k").map(drop),
        });
        let expected = [Some(2), None, Some(1)][way as usize];
        let third = w.perform_changes(types.clone(), |tx| tx.dictionary().get::<i64>("k"));
        let fourth = w.perform_changes(types, |tx| {
            tx.dictionary().update("k", |n: Option<i64>| n.map(|n| n + 10))
        });
        // The write of this value is queued after all transactions.
        d.set("k", 1_i64).unwrap();
        go.send(()).unwrap();
        first.wait().unwrap();
        second.wait().unwrap();
        assert_eq!(third.wait().unwrap(), expected, "way {way}");
        let expected = expected.map(|n| n + 10);
        assert_eq!(fourth.wait().unwrap(), expected, "way {way}");
        assert_eq!(d.get("k").unwrap(), expected, "way {way}");
        assert_eq!(stored_numbers(&w).get("k").copied(), expected, "way {way}");
    }
}

pub fn every_way_to_perform_changes_has_the_dictionary(open: Open) {
    let w = open();
    let add = |tx: &dflat::TransactionContext| {
        tx.dictionary().update("n", |n: Option<i64>| Some(n.unwrap_or(0) + 1))
    };
    let types = [Dictionary::TABLE];
    assert_eq!(w.perform_changes(types.clone(), add).wait().unwrap(), Some(1));
    assert_eq!(w.perform_changes_retrying(types.clone(), add).wait().unwrap(), Some(2));
    assert_eq!(w.perform_changes_blocking(types.clone(), add).unwrap(), Some(3));
    assert_eq!(w.perform_changes_blocking_retrying(types.clone(), add).unwrap(), Some(4));
    let first = w.write_first();
    assert_eq!(first.perform_changes(types.clone(), add).wait().unwrap(), Some(5));
    assert_eq!(first.perform_changes_blocking(types.clone(), add).unwrap(), Some(6));
    let failed = w.perform_changes_blocking(types, |tx| {
        tx.dictionary().set("n", 9)?;
        tx.abort();
        Ok(())
    });
    failed.unwrap_err();
    assert_eq!(w.dictionary().get("n").unwrap(), Some(6_i64));
    w.dictionary().set("n", 7).unwrap();
    assert_eq!(stored_numbers(&w), BTreeMap::from([("n".to_owned(), 7)]));
}

pub fn a_direct_change_waits_for_the_transaction_that_uses_the_key(open: Open) {
    let w = open();
    let d = w.dictionary();
    let (used, is_used) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let handle = w.perform_changes([Dictionary::TABLE], move |tx| {
        tx.dictionary().set("n", 1_i64)?;
        used.send(()).unwrap();
        next(&goes);
        Ok(())
    });
    next(&is_used);
    let (set, is_set) = mpsc::channel();
    let setter = d.clone();
    thread::spawn(move || {
        let before = setter.get::<i64>("n").unwrap();
        setter.set("n", 2_i64).unwrap();
        set.send(before).unwrap();
    });
    // Other keys can be set meanwhile.
    d.set("m", 3_i64).unwrap();
    assert!(is_set.try_recv().is_err());
    go.send(()).unwrap();
    handle.wait().unwrap();
    next(&is_set);
    assert_eq!(d.get("n").unwrap(), Some(2_i64));
    let numbers = [("m".to_owned(), 3), ("n".to_owned(), 2)];
    assert_eq!(stored_numbers(&w), BTreeMap::from(numbers));
}

pub fn transaction_must_declare_the_dictionary(open: Open) {
    let w = open();
    let d = w.dictionary();
    w.perform([Item::TABLE], |tx| {
        let refused = tx.dictionary().set("n", 1_i64).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::UndeclaredType);
        assert!(tx.dictionary().get::<i64>("n").is_err());
        Ok(())
    });
    d.set("n", 2_i64).unwrap();
    // A value can be read inside any handler, also if it is not in memory.
    store_behind(&w, "cold", 4);
    w.perform([Item::TABLE], move |_| {
        assert_eq!(d.get("n")?, Some(2_i64));
        assert_eq!(d.get("cold")?, Some(4_i64));
        Ok(())
    });
}
