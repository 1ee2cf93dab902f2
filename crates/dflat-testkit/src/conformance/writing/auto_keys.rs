//! Laws of keys that the library assigns.

use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};
use std::thread;

use dflat::{ErrorKind, Result, TransactionContext, UpdatedObject};
use uuid::{Uuid, Version};

use crate::diary::{
    Entry, EntryChangeRequest, EntryData, Event, EventChangeRequest, EventData, Id,
};
use crate::fixture::{Fixture, Open};

/// The largest key that is assigned.
const LARGEST: u64 = i64::MAX as u64;

fn entry(id: u64, slug: &str) -> EntryData {
    EntryData {
        id,
        slug: Some(slug.into()),
        author: Some(Id { high: 1, low: 2 }),
        ..EntryData::default()
    }
}

fn insert(tx: &TransactionContext, id: u64, slug: &str) -> Result<u64> {
    let inserted = tx.submit(EntryChangeRequest::creation(entry(id, slug)))?;
    let UpdatedObject::Inserted(object) = inserted else {
        panic!("{inserted:?}");
    };
    // The other values are those of the request.
    assert_eq!(object.slug(), Some(slug));
    assert_eq!(object.author(), Some(Id { high: 1, low: 2 }));
    Ok(object.id())
}

fn ids(w: &Fixture) -> Vec<u64> {
    let all = w.fetch::<Entry>().all().unwrap();
    all.iter().map(Entry::id).collect()
}

pub fn new_objects_get_the_key_after_the_largest(open: Open) {
    let w = open();
    let assigned = w.perform([Entry::TABLE], |tx| {
        Ok([insert(tx, 0, "a")?, insert(tx, 0, "b")?])
    });
    assert_eq!(assigned, [1, 2]);
    assert_eq!(w.perform([Entry::TABLE], |tx| insert(tx, 0, "c")), 3);
    assert_eq!(ids(&w), [1, 2, 3]);
    let found = w.get::<Entry>(3).unwrap().unwrap();
    assert_eq!(found.slug(), Some("c"));
}

pub fn a_key_of_the_caller_is_kept_and_counts(open: Open) {
    let w = open();
    w.perform([Entry::TABLE], |tx| {
        assert_eq!(insert(tx, 70, "a")?, 70);
        assert_eq!(insert(tx, 5, "b")?, 5);
        assert_eq!(insert(tx, 0, "c")?, 71);
        let taken = insert(tx, 70, "d").unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
        Ok(())
    });
    assert_eq!(ids(&w), [70, 5, 71]);
}

pub fn the_largest_key_of_the_table_may_be_given_again(open: Open) {
    let w = open();
    w.create::<Entry>([entry(0, "a"), entry(0, "b"), entry(0, "c")]);
    let middle = w.get::<Entry>(2).unwrap().unwrap();
    w.delete(&middle);
    assert_eq!(w.perform([Entry::TABLE], |tx| insert(tx, 0, "d")), 4);
    let last = w.get::<Entry>(4).unwrap().unwrap();
    w.delete(&last);
    assert_eq!(w.perform([Entry::TABLE], |tx| insert(tx, 0, "e")), 4);
}

pub fn an_update_keeps_its_key_and_an_upsert_without_a_key_inserts(open: Open) {
    let w = open();
    let [object] = <[Entry; 1]>::try_from(w.create::<Entry>([entry(0, "a")])).unwrap();
    let changed = w.change(&object, |data| data.slug = Some("changed".into()));
    assert_eq!((changed.id(), changed.slug()), (1, Some("changed")));
    w.perform([Entry::TABLE], |tx| {
        let upserted = tx.submit(EntryChangeRequest::upsert(entry(0, "b")))?;
        assert!(matches!(&upserted, UpdatedObject::Inserted(object) if object.id() == 2));
        let upserted = tx.submit(EntryChangeRequest::upsert(entry(2, "c")))?;
        assert!(matches!(&upserted, UpdatedObject::Updated(object) if object.id() == 2));
        Ok(())
    });
    assert_eq!(ids(&w), [1, 2]);
}

pub fn no_key_is_left_after_the_largest(open: Open) {
    // Keys beyond the largest that is assigned are stored in another form.
    for largest in [LARGEST, LARGEST + 1, u64::MAX] {
        let w = open();
        w.perform([Entry::TABLE], move |tx| {
            insert(tx, LARGEST - 2, "near")?;
            assert_eq!(insert(tx, 0, "before")?, LARGEST - 1);
            insert(tx, largest, "largest")?;
            let error = insert(tx, 0, "beyond").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::KeysExhausted);
            let text = error.to_string();
            assert!(text.contains("Entry") && text.contains("id = "), "{text}");
            assert!(text.contains(&largest.to_string()), "{text}");
            // The transaction goes on, and so do keys of the caller.
            insert(tx, 7, "own").map(drop)
        });
        assert_eq!(ids(&w), [LARGEST - 2, LARGEST - 1, largest, 7]);
    }
    let w = open();
    w.create::<Entry>([entry(LARGEST - 1, "near")]);
    assert_eq!(w.perform([Entry::TABLE], |tx| insert(tx, 0, "last")), LARGEST);
}

pub fn keys_of_undone_insertions_are_free(open: Open) {
    let w = open();
    w.perform([Entry::TABLE], |tx| {
        insert(tx, 0, "a")?;
        let undone: Result<()> = tx.nested(|tx| {
            assert_eq!(insert(tx, 0, "b")?, 2);
            Err(dflat::Error::new(ErrorKind::User, "undo"))
        });
        assert!(undone.is_err());
        assert_eq!(insert(tx, 0, "c")?, 2);
        Ok(())
    });
    let aborted = w.perform_changes([Entry::TABLE], |tx| {
        assert_eq!(insert(tx, 0, "d")?, 3);
        tx.abort();
        Ok(())
    });
    assert_eq!(aborted.wait().unwrap_err().kind(), ErrorKind::Aborted);
    assert_eq!(w.perform([Entry::TABLE], |tx| insert(tx, 0, "e")), 3);
    assert_eq!(ids(&w), [1, 2, 3]);
}

pub fn refused_insertion_uses_no_key(open: Open) {
    let w = open();
    w.perform([Entry::TABLE], |tx| {
        insert(tx, 0, "a")?;
        let refused = insert(tx, 0, "a").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        assert!(refused.to_string().contains("slug"), "{refused}");
        assert_eq!(insert(tx, 0, "b")?, 2);
        Ok(())
    });
    assert_eq!(ids(&w), [1, 2]);
}

pub fn uuid_keys_are_of_version_7_and_increase(open: Open) {
    let w = open();
    let event = |id: &str| EventData {
        id: id.into(),
        entry: 9,
        ..EventData::default()
    };
    let created = w.create::<Event>((0..50).map(|_| event("")));
    let keys: Vec<&str> = created.iter().map(Event::id).collect();
    assert!(keys.is_sorted_by(|one, next| one < next), "{keys:?}");
    for key in &keys {
        let uuid = Uuid::parse_str(key).unwrap();
        assert_eq!(uuid.get_version(), Some(Version::SortRand));
        assert_eq!(uuid.to_string(), *key);
        let found = w.get::<Event>(key).unwrap().unwrap();
        assert_eq!((found.entry(), found.at().get()), (9, 5));
    }
    w.perform([Event::TABLE], move |tx| {
        let own = tx.submit(EventChangeRequest::creation(event("own")))?;
        assert_eq!(own.object().map(Event::id), Some("own"));
        let upserted = tx.submit(EventChangeRequest::upsert(event("")))?;
        assert!(matches!(&upserted, UpdatedObject::Inserted(event) if event.id().len() == 36));
        Ok(())
    });
}

pub fn threads_that_insert_at_once_get_different_keys(open: Open) {
    const THREADS: u64 = 4;
    const EACH: u64 = 25;
    let w = open();
    let barrier = Arc::new(Barrier::new(THREADS as usize));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (w, barrier) = (&w, Arc::clone(&barrier));
            scope.spawn(move || {
                barrier.wait();
                for index in 0..EACH {
                    w.perform([Entry::TABLE], move |tx| {
                        insert(tx, 0, &format!("{thread} {index}"))
                    });
                }
            });
        }
    });
    let all: BTreeSet<u64> = ids(&w).into_iter().collect();
    assert!(all.into_iter().eq(1..=THREADS * EACH));
}
