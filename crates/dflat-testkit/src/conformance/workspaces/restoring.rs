//! Laws of restoring an object as it was read: an undo loses nothing of what newer code wrote.

use dflat::{ChangeRequest, ErrorKind, Object, UpdatedObject};

use super::evolution::{newest, stored};
use crate::conformance::samples::{ids, item};
use crate::fixture::{Fixture, Open};
use crate::note::v1::diary as v1;
use crate::note::v3::diary as v3;
use crate::schema::{Item, ItemChangeRequest};

fn restore<T: Object>(w: &Fixture, object: &T) -> UpdatedObject<T> {
    let object = object.clone();
    w.perform([T::TABLE], move |tx| tx.submit(ChangeRequest::restoration(&object)))
}

fn delete<T: Object>(w: &Fixture, object: &T) {
    let object = object.clone();
    w.perform([T::TABLE], move |tx| {
        tx.submit(ChangeRequest::deletion(tx, &object)?.unwrap()).map(drop)
    });
}

// Promise: compatibility#P15
pub fn object_restored_by_older_code_keeps_what_newer_code_wrote(open: Open) {
    let w = open();
    w.create::<v3::Note>([newest("a"), newest("b")]);
    let seen = w.get::<v1::Note>("a").unwrap().unwrap();
    // An undo of a deletion.
    delete(&w, &seen);
    assert!(matches!(restore(&w, &seen), UpdatedObject::Inserted(_)));
    assert_eq!(stored(&w, "a"), newest("a"));
    // An undo of a change by newer code, and of one by older code.
    let seen = w.get::<v1::Note>("a").unwrap().unwrap();
    let mut other = newest("a");
    (other.stars, other.rank, other.secret) = (1, 9, None);
    let data = other.clone();
    w.perform([v3::Note::TABLE], move |tx| tx.submit(ChangeRequest::<v3::Note>::upsert(data)));
    assert_eq!(stored(&w, "a"), other);
    assert!(matches!(restore(&w, &seen), UpdatedObject::Updated(_)));
    assert_eq!(stored(&w, "a"), newest("a"));
    // Stored already: nothing is written.
    assert!(matches!(restore(&w, &seen), UpdatedObject::Identity(_)));
    // The indexes of newer code find the object by its restored values.
    let found = w.fetch::<v3::Note>().filter(v3::Note::STARS.eq(5)).all().unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(w.fetch::<v3::Note>().filter(v3::Note::STARS.eq(1)).count().unwrap(), 0);
}

// Promise: compatibility#P15
pub fn data_of_an_object_lacks_what_a_restored_object_keeps(open: Open) {
    let w = open();
    w.create::<v3::Note>([newest("a")]);
    let seen = w.get::<v1::Note>("a").unwrap().unwrap();
    delete(&w, &seen);
    let data = seen.to_data();
    w.perform([v1::Note::TABLE], move |tx| tx.submit(ChangeRequest::<v1::Note>::creation(data)));
    assert_eq!(stored(&w, "a").stars, v3::NoteData::default().stars);
    restore(&w, &seen);
    assert_eq!(stored(&w, "a"), newest("a"));
}

pub fn restored_object_has_its_index_entries_and_its_deliveries(open: Open) {
    let w = open();
    let seen = w.create::<Item>([item("a", 1), item("b", 2)]).remove(0);
    let ranked = || w.fetch::<Item>().filter(Item::RANK.eq(1)).all().unwrap();
    let live = w.observe(w.fetch::<Item>().filter(Item::RANK.eq(1))).unwrap().watch().unwrap();
    w.perform([Item::TABLE], |tx| tx.update_where(Item::ID.eq("a"), |item| item.rank = 2));
    assert!(ranked().is_empty());
    restore(&w, &seen);
    assert_eq!(ids(&ranked()), ["a"]);
    (*w).settle().unwrap();
    assert_eq!(ids(&live.latest().unwrap().unwrap()), ["a"]);
    delete(&w, &seen);
    assert!(ranked().is_empty());
    restore(&w, &seen);
    assert_eq!(ids(&ranked()), ["a"]);
    assert_eq!(w.get::<Item>("a").unwrap().unwrap().to_data(), seen.to_data());
}

pub fn restoration_can_be_optimistic_and_meets_conflicts(open: Open) {
    let w = open();
    let mut first = item("a", 1);
    first.code = Some("unique".into());
    let seen = w.create::<Item>([first]).remove(0);
    let changed = w.perform([Item::TABLE], |tx| {
        let object = tx.get::<Item>("a")?.unwrap();
        let mut request = ItemChangeRequest::change(tx, &object)?.unwrap();
        request.code = None;
        Ok(tx.submit(request)?.into_object().unwrap())
    });
    w.perform([Item::TABLE], {
        let (seen, changed) = (seen.clone(), changed.clone());
        move |tx| {
            let request = || ItemChangeRequest::restoration(&seen);
            let error = tx.submit(request().if_unchanged(&seen)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfDate);
            tx.submit(request().if_unchanged(&changed))
        }
    });
    assert_eq!(w.get::<Item>("a").unwrap().unwrap().code(), Some("unique"));
    // Another object takes the unique value.
    w.perform([Item::TABLE], |tx| {
        tx.update_where(Item::ID.eq("a"), |item| item.code = None)?;
        let mut other = item("b", 2);
        other.code = Some("unique".into());
        tx.submit(ItemChangeRequest::creation(other))
    });
    w.perform([Item::TABLE], move |tx| {
        let error = tx.submit(ItemChangeRequest::restoration(&seen)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert!(error.to_string().contains("unique"), "{error}");
        tx.submit(ItemChangeRequest::creation(item("c", 3)))
    });
    assert_eq!(ids(&w.fetch::<Item>().all().unwrap()), ["a", "b", "c"]);
}

/// Bytes that older code takes for a note, with a value at the place of a field that only newer
/// code knows.
pub fn bytes_that_newer_code_could_not_read_are_not_restored(open: Open) {
    let w = open();
    w.create::<v3::Note>([newest("a")]);
    let payload = w.get::<v3::Note>("a").unwrap().unwrap().to_bytes();
    let mut refused = 0;
    for position in 0..payload.len() {
        let mut bytes = payload.clone();
        bytes[position] ^= 0xff;
        let Ok(object) = v1::Note::from_bytes(&bytes) else { continue };
        let has_key = !object.id().is_empty();
        let outcome = w.perform([v1::Note::TABLE], move |tx| {
            Ok(tx.submit(ChangeRequest::restoration(&object)).map(drop))
        });
        if let Err(error) = outcome {
            if has_key {
                assert_eq!(error.kind(), ErrorKind::NewerSchema);
                refused += 1;
            } else {
                assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            }
        }
        // Newer code reads whatever is stored.
        w.fetch::<v3::Note>().all().unwrap();
    }
    assert!(refused > 0);
}
