//! Laws of copying a table into another.

use std::cell::Cell;
use std::num::NonZeroUsize;

use dflat::{Error, ErrorKind, Result};

use crate::conformance::samples::item;
use crate::fixture::{Fixture, Open};
use crate::schema::{Item, ItemData, Other, OtherData};

/// Items `from..to`, named by their numbers.
fn items(w: &Fixture, from: i32, to: i32) {
    w.create::<Item>((from..to).map(|n| ItemData {
        code: Some(format!("c{n}")),
        ..item(&n.to_string(), n)
    }));
}

/// An item as an object whose key is the item's number.
fn numbered(item: &Item) -> Result<OtherData> {
    let note = Some(format!("from {}", item.id()));
    Ok(OtherData { id: item.rank(), note })
}

fn ids(w: &Fixture) -> Vec<i32> {
    let others = w.fetch::<Other>().all().unwrap();
    others.iter().map(Other::id).collect()
}

fn size(objects: usize) -> NonZeroUsize {
    NonZeroUsize::new(objects).unwrap()
}

pub fn table_copy_has_every_object(open: Open) {
    let w = open();
    let nothing = w.copy_table::<Item, Other>(numbered).run().unwrap();
    assert_eq!((nothing.copied, nothing.present), (0, 0));
    items(&w, 0, 25);
    let received = Cell::new(Vec::new());
    let copied = w
        .copy_table::<Item, Other>(numbered)
        .batch_size(size(10))
        .on_progress(|progress| {
            let mut before = received.take();
            before.push(progress.copied);
            received.set(before);
        })
        .run()
        .unwrap();
    assert_eq!((copied.copied, copied.present), (25, 0));
    assert_eq!(received.take(), [10, 20, 25]);
    assert_eq!(ids(&w), (0..25).collect::<Vec<_>>());
    assert_eq!(w.get::<Other>(7).unwrap().unwrap().note(), Some("from 7"));
    assert_eq!(w.fetch::<Item>().count().unwrap(), 25);
}

pub fn table_copy_skips_present_keys(open: Open) {
    let w = open();
    items(&w, 0, 20);
    let newer = OtherData { id: 3, note: Some("newer".into()) };
    w.create::<Other>([newer]);
    for (copied, present) in [(19, 1), (0, 20)] {
        let done = w.copy_table::<Item, Other>(numbered).batch_size(size(7)).run().unwrap();
        assert_eq!((done.copied, done.present), (copied, present));
    }
    assert_eq!(w.get::<Other>(3).unwrap().unwrap().note(), Some("newer"));
    items(&w, 20, 22);
    let done = w.copy_table::<Item, Other>(numbered).run().unwrap();
    assert_eq!((done.copied, done.present), (2, 20));
}

pub fn failed_table_copy_resumes_where_it_ended(open: Open) {
    let w = open();
    items(&w, 0, 20);
    let failing = |item: &Item| match item.rank() {
        13 => Err(Error::user(std::fmt::Error)),
        _ => numbered(item),
    };
    let error = w.copy_table::<Item, Other>(failing).batch_size(size(5)).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User);
    assert_eq!(ids(&w), (0..10).collect::<Vec<_>>());
    let done = w.copy_table::<Item, Other>(numbered).batch_size(size(5)).run().unwrap();
    assert_eq!((done.copied, done.present), (10, 10));
    assert_eq!(ids(&w), (0..20).collect::<Vec<_>>());
}

pub fn table_copy_takes_turns_with_transactions(open: Open) {
    let w = open();
    items(&w, 0, 10);
    let copied = w
        .copy_table::<Item, Other>(numbered)
        .batch_size(size(4))
        .on_progress(|progress| match progress.copied {
            4 => items(&w, 10, 12),
            8 => w.delete(&w.get::<Item>("9").unwrap().unwrap()),
            _ => {}
        })
        .run()
        .unwrap();
    assert_eq!(copied.copied, 11);
    assert_eq!(ids(&w), (0..9).chain(10..12).collect::<Vec<_>>());
}

pub fn table_copy_does_not_overwrite_a_unique_value(open: Open) {
    let w = open();
    let other = |id| OtherData { id, note: None };
    w.create::<Other>([1, 2, 3].map(other));
    w.create::<Item>([ItemData { code: Some("code 2".into()), ..item("x", 0) }]);
    let coded = |other: &Other| {
        let code = Some(format!("code {}", other.id()));
        Ok(ItemData { code, ..item(&other.id().to_string(), other.id()) })
    };
    let error = w.copy_table::<Other, Item>(coded).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(w.fetch::<Item>().count().unwrap(), 1);
}

pub fn table_copy_inside_a_handler_is_refused(open: Open) {
    let w = open();
    let inside = dflat::Workspace::clone(&w);
    let kind = w.perform([Item::TABLE], move |_| {
        let copy = inside.copy_table::<Item, Other>(numbered).run();
        Ok(copy.map_err(|error| error.kind()))
    });
    assert_eq!(kind, Err(ErrorKind::WouldDeadlock));
}
