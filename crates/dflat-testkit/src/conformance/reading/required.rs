//! Laws of objects that lack required values, because another program has written them.

use dflat::{ErrorKind, Object};

use crate::fixture::{Fixture, Open};
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
