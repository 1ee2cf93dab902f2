//! Laws of dates, times and UUIDs in queries.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dflat::{Milliseconds, Nanoseconds, Seconds};
use jiff::Timestamp;
use uuid::Uuid;

use crate::diary::{Entry, EntryData, Id, Tick, TickData};
use crate::fixture::{Fixture, Open};

fn timestamp(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// An entry for each time of creation, in the order of the times.
fn entries(w: &Fixture, times: &[&str]) {
    let entries = times.iter().map(|text| EntryData {
        slug: Some((*text).to_owned()),
        created: timestamp(text).into(),
        ..EntryData::default()
    });
    w.create::<Entry>(entries);
}

fn found(w: &Fixture, condition: dflat::Predicate<Entry>) -> Vec<u64> {
    let all = w.fetch::<Entry>().filter(condition).all().unwrap();
    all.iter().map(Entry::id).collect()
}

pub fn times_are_compared_and_ordered(open: Open) {
    let w = open();
    let times = [
        "1969-12-31T23:59:59.999Z",
        "2024-02-29T12:00:00.5Z",
        "2024-02-29T12:00:00.501Z",
        "9999-12-30T22:00:00Z",
    ];
    entries(&w, &times);
    for (id, text) in (1..).zip(times) {
        let time = timestamp(text);
        let entry = w.get::<Entry>(id).unwrap().unwrap();
        assert_eq!(entry.created().timestamp(), time);
        assert_eq!(entry.created(), Milliseconds::new(time.as_millisecond()));
        assert_eq!(found(&w, Entry::CREATED.eq(time)), [id]);
        assert_eq!(found(&w, Entry::CREATED.eq(entry.created())), [id]);
    }
    let middle = timestamp("2024-02-29T12:00:00.5Z");
    assert_eq!(found(&w, Entry::CREATED.gt(middle)), [3, 4]);
    assert_eq!(found(&w, Entry::CREATED.between(middle, timestamp(times[2]))), [2, 3]);
    assert_eq!(found(&w, Entry::CREATED.in_([timestamp(times[0]), middle])), [1, 2]);
    // A time between two units is rounded down, as when it is stored.
    assert_eq!(found(&w, Entry::CREATED.eq(timestamp("2024-02-29T12:00:00.500999Z"))), [2]);
    let system = UNIX_EPOCH + Duration::from_millis(1);
    assert_eq!(found(&w, Entry::CREATED.lt(system)), [1]);
    let newest = w.fetch::<Entry>().order_by(Entry::CREATED.descending()).first().unwrap();
    assert_eq!(newest.unwrap().id(), 4);
}

pub fn optional_times_may_be_missing(open: Open) {
    let w = open();
    let due = timestamp("2030-01-01T00:00:00Z");
    w.create::<Entry>([
        EntryData::default(),
        EntryData {
            due: Some(due.into()),
            ..EntryData::default()
        },
    ]);
    assert_eq!(found(&w, Entry::DUE.is_null()), [1]);
    assert_eq!(found(&w, Entry::DUE.ge(due)), [2]);
    assert_eq!(found(&w, Entry::DUE.eq(Some(due))), [2]);
    let system = UNIX_EPOCH + Duration::from_secs(due.as_second().cast_unsigned());
    assert_eq!(found(&w, Entry::DUE.eq(Some(system))), [2]);
    assert_eq!(found(&w, Entry::DUE.eq(None::<Timestamp>)), [1]);
    assert_eq!(found(&w, Entry::DUE.ne(None::<Timestamp>)), [2]);
    assert_eq!(found(&w, Entry::DUE.eq(None::<SystemTime>)), [1]);
    assert_eq!(found(&w, Entry::DUE.ne(None::<SystemTime>)), [2]);
    assert_eq!(found(&w, Entry::DUE.in_([None, Some(due)])), [1, 2]);
    assert_eq!(found(&w, Entry::DUE.lt(None::<Timestamp>)), [0_u64; 0]);
    let entry = w.get::<Entry>(2).unwrap().unwrap();
    assert_eq!(entry.due().map(Seconds::timestamp), Some(due));
}

pub fn a_time_is_a_primary_key(open: Open) {
    let w = open();
    let at = Nanoseconds::from(timestamp("2024-02-29T12:00:00.123456789Z"));
    w.create::<Tick>([TickData { at }, TickData { at: Nanoseconds::new(-1) }]);
    let tick = w.get::<Tick>(at).unwrap().unwrap();
    assert_eq!(tick.at().timestamp().to_string(), "2024-02-29T12:00:00.123456789Z");
    assert!(w.get::<Tick>(Nanoseconds::new(0)).unwrap().is_none());
}

pub fn uuids_are_compared_by_their_bytes(open: Open) {
    let w = open();
    let uuids = [
        "00000000-0000-0000-0000-000000000001",
        "00000000-0000-0001-0000-000000000000",
        "00000000-0000-0001-ffff-000000000000",
        "ffffffff-0000-7000-8000-000000000000",
    ];
    let uuids = uuids.map(|text| Uuid::parse_str(text).unwrap());
    w.create::<Entry>(uuids.iter().map(|uuid| EntryData {
        author: Some(Id::from(*uuid)),
        ..EntryData::default()
    }));
    w.create::<Entry>([EntryData::default()]);
    assert!(uuids.is_sorted());
    for (position, uuid) in uuids.iter().enumerate() {
        let id = 1 + position as u64;
        let entry = w.get::<Entry>(id).unwrap().unwrap();
        assert_eq!(entry.author().map(Uuid::from), Some(*uuid));
        let others = |holds: &dyn Fn(u64) -> bool| -> Vec<u64> {
            (1..=4).filter(|other| holds(*other)).collect()
        };
        let author = &Entry::AUTHOR;
        assert_eq!(found(&w, author.eq(*uuid)), [id]);
        assert_eq!(found(&w, author.eq(Id::from(*uuid))), [id]);
        // An entry without an author is not found.
        assert_eq!(found(&w, author.ne(*uuid)), others(&|other| other != id));
        assert_eq!(found(&w, author.lt(*uuid)), others(&|other| other < id));
        assert_eq!(found(&w, author.le(*uuid)), others(&|other| other <= id));
        assert_eq!(found(&w, author.gt(*uuid)), others(&|other| other > id));
        assert_eq!(found(&w, author.ge(*uuid)), others(&|other| other >= id));
        assert_eq!(found(&w, author.in_([*uuid, uuids[3]])), others(&|other| {
            other == id || other == 4
        }));
    }
    let author = &Entry::AUTHOR;
    assert_eq!(found(&w, author.in_::<Uuid>([])), [0_u64; 0]);
    assert_eq!(found(&w, author.not_in::<Uuid>([])), [1, 2, 3, 4]);
    assert_eq!(found(&w, author.not_in([uuids[0], uuids[3]])), [2, 3]);
    assert_eq!(found(&w, author.not_in([Some(uuids[0]), None])), [2, 3, 4]);
    assert_eq!(found(&w, author.in_([Some(uuids[0]), None])), [1, 5]);
    assert_eq!(found(&w, author.eq(Some(uuids[1]))), [2]);
    assert_eq!(found(&w, author.ne(Some(Id::from(uuids[1])))), [1, 3, 4]);
    for missing in [author.is_null(), author.eq(None::<Uuid>), author.eq(None::<Id>)] {
        assert_eq!(found(&w, missing), [5]);
    }
    for present in [author.is_not_null(), author.ne(None::<Uuid>)] {
        assert_eq!(found(&w, present), [1, 2, 3, 4]);
    }
    for unknown in [
        author.lt(None::<Uuid>), author.le(None::<Uuid>), author.gt(None::<Uuid>),
        author.ge(None::<Uuid>),
    ] {
        assert_eq!(found(&w, unknown), [0_u64; 0]);
    }
}
