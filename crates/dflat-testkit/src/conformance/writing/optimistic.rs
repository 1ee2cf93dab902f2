//! Laws of optimistic requests, which are refused if the object was changed since it was read.

use std::sync::{Arc, Mutex};

use dflat::{ErrorKind, UpdatedObject};

use crate::conformance::samples::{ids, item};
use crate::fixture::Open;
use crate::schema::{Item, ItemChangeRequest};

// Promise: concurrency#C60
pub fn change_of_an_unchanged_object_is_carried_out(open: Open) {
    let w = open();
    let seen = w.create::<Item>([item("a", 1)]).remove(0);
    let fetched = w.get::<Item>("a").unwrap().unwrap();
    for seen in [seen, fetched] {
        w.perform([Item::TABLE], move |tx| {
            let mut change = ItemChangeRequest::change(tx, &seen)?.unwrap();
            change.rank = 2;
            tx.submit(change.if_unchanged(&seen))?;
            // This restores the values, so that the next request finds the values that it has seen.
            let mut change = ItemChangeRequest::change(tx, &seen)?.unwrap();
            change.rank = 1;
            tx.submit(change)
        });
    }
}

// Promise: concurrency#C4, concurrency#C47, concurrency#C61, concurrency#C62
pub fn change_of_a_changed_object_is_out_of_date_and_the_transaction_goes_on(open: Open) {
    let w = open();
    let seen = w.create::<Item>([item("a", 1)]).remove(0);
    w.change(&seen, |data| data.size = 9);
    let error = w.perform([Item::TABLE], move |tx| {
        let mut change = ItemChangeRequest::change(tx, &seen)?.unwrap();
        change.rank = 2;
        let error = tx.submit(change.if_unchanged(&seen)).unwrap_err();
        tx.submit(ItemChangeRequest::creation(item("b", 1)))?;
        Ok(error)
    });
    assert_eq!(error.kind(), ErrorKind::OutOfDate);
    let message = error.to_string();
    assert!(message.contains("Item") && message.contains("id = \"a\""), "{message}");
    let all = w.fetch::<Item>().all().unwrap();
    assert_eq!((ids(&all), all[0].rank()), (vec!["a", "b"], 1));
}

// Promise: concurrency#C63
pub fn own_changes_count_as_changes(open: Open) {
    let w = open();
    let seen = w.create::<Item>([item("a", 1)]).remove(0);
    let kinds = w.perform([Item::TABLE], move |tx| {
        let mut first = ItemChangeRequest::change(tx, &seen)?.unwrap();
        let mut second = ItemChangeRequest::change(tx, &seen)?.unwrap();
        (first.rank, second.rank) = (2, 3);
        let updated = tx.submit(first.if_unchanged(&seen))?;
        let refused = tx.submit(second.if_unchanged(&seen)).unwrap_err();
        // An object that the transaction itself wrote counts as unchanged.
        let latest = updated.object().unwrap();
        let third = ItemChangeRequest::change(tx, latest)?.unwrap();
        let identity = tx.submit(third.if_unchanged(latest))?;
        Ok((refused.kind(), matches!(identity, UpdatedObject::Identity(_))))
    });
    assert_eq!(kinds, (ErrorKind::OutOfDate, true));
}

// Promise: concurrency#C61
pub fn deleted_object_is_out_of_date_even_if_its_key_is_there_again(open: Open) {
    let w = open();
    let seen = w.create::<Item>([item("a", 1)]).remove(0);
    w.delete(&seen);
    w.create::<Item>([item("a", 1)]);
    let kind = w.perform([Item::TABLE], move |tx| {
        let upsert = ItemChangeRequest::upsert(item("a", 2)).if_unchanged(&seen);
        Ok(tx.submit(upsert).unwrap_err().kind())
    });
    assert_eq!(kind, ErrorKind::OutOfDate);
    assert_eq!(w.get::<Item>("a").unwrap().unwrap().rank(), 1);
}

// Promise: concurrency#C60
pub fn deletion_can_be_optimistic(open: Open) {
    let w = open();
    let old = w.create::<Item>([item("a", 1)]).remove(0);
    let new = w.change(&old, |data| data.rank = 2);
    w.perform([Item::TABLE], move |tx| {
        let refused = ItemChangeRequest::deletion(tx, &old)?.unwrap().if_unchanged(&old);
        assert_eq!(tx.submit(refused).unwrap_err().kind(), ErrorKind::OutOfDate);
        tx.submit(ItemChangeRequest::deletion(tx, &new)?.unwrap().if_unchanged(&new))
    });
    assert!(w.fetch::<Item>().all().unwrap().is_empty());
}

// Promise: concurrency#C47, concurrency#C65
pub fn request_of_another_transaction_is_refused(open: Open) {
    let w = open();
    let object = w.create::<Item>([item("a", 1)]).remove(0);
    let kept = Arc::new(Mutex::new(Vec::new()));
    let (keep, of) = (Arc::clone(&kept), object.clone());
    w.perform([Item::TABLE], move |tx| {
        let mut change = ItemChangeRequest::change(tx, &of)?.unwrap();
        change.rank = 5;
        let deletion = ItemChangeRequest::deletion(tx, &of)?.unwrap();
        keep.lock().unwrap().extend([change, deletion]);
        Ok(())
    });
    w.change(&object, |data| data.rank = 7);
    w.perform([Item::TABLE], move |tx| {
        for request in kept.lock().unwrap().drain(..) {
            let error = tx.submit(request).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains("another transaction"), "{error}");
        }
        tx.submit(ItemChangeRequest::creation(item("b", 1)))
    });
    for rank in [7, 1] {
        let found = w.fetch::<Item>().filter(Item::RANK.eq(rank)).all().unwrap();
        assert_eq!(found.len(), 1, "{rank}");
    }
}
