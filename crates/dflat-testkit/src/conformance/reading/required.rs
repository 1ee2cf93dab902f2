//! Laws of objects that lack required values, because another program has written them.

use std::sync::mpsc;

use dflat::{ChangeRequest, ErrorKind, Object, UpdatedObject};

use crate::fixture::{Fixture, Open, next};
use crate::letter::v1::mail as v1;
use crate::letter::v2::mail as v2;

/// A workspace with one letter that lacks everything, and one that is complete.
fn letters(open: Open) -> Fixture {
    let w = open();
    let empty = v1::LetterData {
        id: 1,
        ..v1::LetterData::default()
    };
    w.create::<v1::Letter>([empty]);
    w.create::<v2::Letter>([complete(2)]);
    w
}

fn complete(id: i32) -> v2::LetterData {
    let sender = v2::Person::new("Ada");
    v2::LetterData {
        id,
        ..v2::LetterData::new("a title", sender, ["a page".to_owned()])
    }
}

// Promise: compatibility#P65
pub fn object_without_required_values_is_read_on_request_only(open: Open) {
    let w = letters(open);
    let refused = w.fetch::<v2::Letter>().all().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corrupt);
    let refused = w.get::<v2::Letter>(1).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corrupt);
    let letters = w.fetch::<v2::Letter>().unchecked().all().unwrap();
    assert_eq!(letters.len(), 2);
    assert_eq!((letters[0].title(), letters[0].sender().name()), ("", ""));
    assert!(letters[0].pages().is_empty());
    assert_eq!(letters[0].to_data().sender, v2::Person::new(""));
    assert_eq!(letters[1].to_data(), complete(2));
    let sorted = w.fetch::<v2::Letter>().unchecked();
    let sorted = sorted.order_by(v2::Letter::ID.descending()).limit(2).all();
    assert_eq!(sorted.unwrap()[1].title(), "");
    let one = w.fetch::<v2::Letter>().filter(v2::Letter::ID.eq(1));
    assert_eq!(one.unchecked().first().unwrap().unwrap().id(), 1);
}

/// The ids of the letters with a title, as an index finds them and as all rows have them.
fn with_title(w: &Fixture, title: &str) -> [Vec<i32>; 2] {
    let ids = |letters: dflat::FetchedResult<v2::Letter>| letters.iter().map(|l| l.id()).collect();
    let found = w.fetch::<v2::Letter>().filter(v2::Letter::TITLE.eq(title));
    let scanned = w.fetch::<v2::Letter>().all().unwrap();
    let scanned = scanned.iter().filter(|letter| letter.title() == title);
    [ids(found.all().unwrap()), scanned.map(|l| l.id()).collect()]
}

// Issue 27, line 10: such an object could be neither replaced nor deleted.
// Promise: compatibility#P65
pub fn upsert_completes_an_object_without_required_values(open: Open) {
    for (title, pages) in [("new", vec!["a page".to_owned()]), ("", Vec::new())] {
        let w = letters(open);
        let data = v2::LetterData {
            title: title.to_owned(),
            pages,
            ..complete(1)
        };
        let expected = data.clone();
        let done = w.perform([v2::Letter::TABLE], |tx| {
            tx.submit(ChangeRequest::<v2::Letter>::upsert(data))
        });
        assert!(matches!(done, UpdatedObject::Updated(_)), "{done:?}");
        let stored = w.get::<v2::Letter>(1).unwrap().unwrap();
        assert_eq!(stored.to_data(), expected);
        assert_eq!(with_title(&w, title), [[1], [1]]);
        assert_eq!(with_title(&w, "a title"), [[2], [2]]);
        let missing = v2::Letter::TITLE.is_null();
        assert_eq!(w.fetch::<v2::Letter>().filter(missing).count().unwrap(), 0);
    }
}

/// An object that lacks nothing but a vector differs from one with an empty vector.
pub fn change_completes_an_object_that_was_read_without_required_values(open: Open) {
    let w = letters(open);
    let mostly = v1::LetterData {
        id: 3,
        title: Some("no pages".to_owned()),
        sender: Some(v1::Person {
            name: Some("Ada".to_owned()),
        }),
        ..v1::LetterData::default()
    };
    w.create::<v1::Letter>([mostly]);
    assert_eq!(w.get::<v2::Letter>(3).unwrap_err().kind(), ErrorKind::Corrupt);
    w.perform([v2::Letter::TABLE], |tx| {
        for letter in tx.fetch::<v2::Letter>().unchecked().all()?.iter() {
            let change = ChangeRequest::change(tx, letter)?.unwrap();
            tx.submit(change)?;
        }
        Ok(())
    });
    let all = w.fetch::<v2::Letter>().all().unwrap();
    assert_eq!(all.len(), 3);
    assert_eq!(all[0].sender().name(), "");
    assert_eq!(all[1].to_data(), complete(2));
    assert!(all[2].pages().is_empty());
    assert_eq!(with_title(&w, "no pages"), [[3], [3]]);
    assert_eq!(with_title(&w, ""), [[1], [1]]);
}

pub fn object_without_required_values_is_deleted(open: Open) {
    let w = letters(open);
    let read = w.fetch::<v2::Letter>().unchecked().all().unwrap();
    w.delete(&read[0]);
    assert_eq!(w.fetch::<v2::Letter>().all().unwrap().len(), 1);
    assert_eq!(with_title(&w, ""), [[0; 0]; 2]);
    w.create::<v2::Letter>([complete(1)]);
    assert_eq!(with_title(&w, "a title"), [[2, 1], [2, 1]]);
    let missing = v2::Letter::TITLE.is_null();
    assert_eq!(w.fetch::<v2::Letter>().filter(missing).count().unwrap(), 0);
}

/// An undo stores what was there before, and that object lacked values.
pub fn restored_object_without_required_values_is_as_it_was(open: Open) {
    let w = letters(open);
    let seen = w.fetch::<v2::Letter>().unchecked().all().unwrap();
    let before = w.fetch::<v1::Letter>().all().unwrap()[0].to_data();
    for replaces in [false, true] {
        w.perform([v2::Letter::TABLE], move |tx| match replaces {
            true => tx.submit(ChangeRequest::<v2::Letter>::upsert(complete(1))).map(drop),
            false => tx.delete_where(v2::Letter::ID.eq(1)).map(drop),
        });
        let request = ChangeRequest::restoration(&seen[0]);
        w.perform([v2::Letter::TABLE], move |tx| tx.submit(request));
        let refused = w.get::<v2::Letter>(1).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Corrupt);
        let missing = w.fetch::<v2::Letter>().unchecked();
        let missing = missing.filter(v2::Letter::TITLE.is_null()).all().unwrap();
        assert_eq!(missing.iter().map(|l| l.id()).collect::<Vec<_>>(), [1]);
        let stored = w.get::<v1::Letter>(1).unwrap().unwrap();
        assert_eq!(stored.to_data(), before);
    }
}

pub fn object_without_required_values_is_deleted_by_a_condition(open: Open) {
    let w = letters(open);
    let refused = w.perform_changes([v2::Letter::TABLE], |tx| {
        tx.update_where(v2::Letter::ID.eq(1), |letter| letter.title = "b".into())
    });
    assert_eq!(refused.wait().unwrap_err().kind(), ErrorKind::Corrupt);
    // Undone changes leave the object as it was.
    let undone = w.perform_changes([v2::Letter::TABLE], |tx| {
        let failed = tx.nested(|tx| {
            assert_eq!(tx.delete_where(v2::Letter::ID.le(2))?, 2);
            tx.submit(ChangeRequest::<v2::Letter>::creation(complete(1)))?;
            Err::<(), _>(dflat::Error::user(std::io::Error::other("no")))
        });
        assert!(failed.is_err());
        Ok(tx.fetch::<v2::Letter>().unchecked().all()?.len())
    });
    assert_eq!(undone.wait().unwrap(), 2);
    let refused = w.get::<v2::Letter>(1).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corrupt);
    let deleted = w.perform([v2::Letter::TABLE], |tx| {
        tx.delete_where(v2::Letter::ID.eq(1))
    });
    assert_eq!(deleted, 1);
    assert_eq!(w.fetch::<v2::Letter>().all().unwrap().len(), 1);
}

pub fn live_query_goes_on_after_an_object_without_required_values(open: Open) {
    for deletes in [false, true] {
        let w = letters(open);
        let (sent, received) = mpsc::channel();
        let counted = sent.clone();
        let results = w.subscribe(w.fetch::<v2::Letter>(), move |update| {
            let ids = update.map(|u| u.iter().map(|l| l.id()).collect::<Vec<_>>());
            let _ = sent.send(ids.map_err(|error| error.kind()));
        });
        let results = results.unwrap();
        assert_eq!(next(&received), Err(ErrorKind::Corrupt));
        let limited = w.fetch::<v2::Letter>().limit(1);
        let first = w.subscribe(limited, move |update| {
            let ids = update.map(|u| u.iter().map(|l| l.id()).collect::<Vec<_>>());
            let _ = counted.send(ids.map_err(|error| error.kind()));
        });
        let first = first.unwrap();
        assert_eq!(next(&received), Err(ErrorKind::Corrupt));
        w.perform([v2::Letter::TABLE], move |tx| match deletes {
            true => tx.delete_where(v2::Letter::ID.eq(1)).map(drop),
            false => tx.submit(ChangeRequest::<v2::Letter>::upsert(complete(1))).map(drop),
        });
        let mut ends = [next(&received), next(&received)];
        ends.sort_by_key(|ids| ids.as_ref().map_or(0, Vec::len));
        match deletes {
            true => assert_eq!(ends, [Ok(vec![2]), Ok(vec![2])]),
            false => assert_eq!(ends, [Ok(vec![1]), Ok(vec![1, 2])]),
        }
        drop((results, first));
    }
}
