//! Laws of code of several versions that share a table: older code loses nothing that newer code
//! wrote.

use dflat::{ChangeRequest, ErrorKind, Object, Result, UpdatedObject};

use crate::fixture::{Fixture, Open};
use crate::note::v1::diary as v1;
use crate::note::v2::diary as v2;
use crate::note::v3::diary as v3;
use crate::random::Random;
use crate::shelf::v1::library as plain;
use crate::shelf::v2::library as indexed;

fn part(id: i32) -> v3::Part {
    v3::Part {
        id,
        text: Some(format!("part {id}")),
        weight: f64::from(id) / 3.0,
        labels: vec![format!("label {id}")],
        inner: (id % 2 == 0).then(|| {
            Box::new(v3::Part {
                id: -id,
                weight: 1.5,
                ..v3::Part::default()
            })
        }),
    }
}

fn place(x: i32, mood: v3::Mood) -> v3::Place {
    v3::Place { x, mood, y: 7 }
}

fn photo(size: u64) -> v3::Attachment {
    v3::Attachment::Photo(v3::Photo {
        url: Some(format!("photo {size}")),
        size,
        r#where: Some(place(1, v3::Mood::Wild)),
    })
}

/// A note with newer values in every kind of field.
pub(super) fn newest(id: &str) -> v3::NoteData {
    v3::NoteData {
        id: id.into(),
        rank: 1,
        mood: v3::Mood::Wild,
        place: Some(place(1, v3::Mood::Sad)),
        part: Some(part(1)),
        parts: vec![part(2), part(3), part(4)],
        moods: vec![v3::Mood::Glad, v3::Mood::Sad, v3::Mood::Wild],
        places: vec![place(2, v3::Mood::Calm), place(3, v3::Mood::Wild)],
        attachment: Some(v3::Attachment::Words("kept".into())),
        attachments: vec![
            Some(photo(5)),
            Some(v3::Attachment::Sound(v3::Sound { seconds: 2.5 })),
            None,
            Some(photo(6)),
        ],
        tags: vec!["a".into(), "b".into()],
        stars: 5,
        more: vec![part(8)],
        secret: Some(place(9, v3::Mood::Wild)),
        next: v3::Mood::Sad,
    }
}

pub(super) fn stored(w: &Fixture, id: &str) -> v3::NoteData {
    w.get::<v3::Note>(id).unwrap().unwrap().to_data()
}

/// Older code changes the note with this id.
fn change_by_v1(
    w: &Fixture,
    id: &'static str,
    change: impl FnOnce(&mut v1::NoteData) + Send + 'static,
) -> Result<UpdatedObject<v1::Note>> {
    let done = w.perform_changes([v1::Note::TABLE], move |tx| {
        let object = tx.get::<v1::Note>(id)?.unwrap();
        let mut request = ChangeRequest::change(tx, &object)?.unwrap();
        change(&mut request);
        tx.submit(request)
    });
    done.wait()
}

// Promise: compatibility#P15, storage-format#S22
pub fn update_by_older_code_keeps_fields_of_newer_code(open: Open) {
    let w = open();
    w.create::<v3::Note>([newest("a")]);
    change_by_v1(&w, "a", |note| {
        note.rank = 2;
        note.old = 11;
        note.part.as_mut().unwrap().text = Some("changed".into());
        note.place.as_mut().unwrap().x = 100;
    })
    .unwrap();
    let mut wanted = newest("a");
    wanted.rank = 2;
    wanted.part.as_mut().unwrap().text = Some("changed".into());
    wanted.place.as_mut().unwrap().x = 100;
    assert_eq!(stored(&w, "a"), wanted);
    assert_eq!(w.get::<v1::Note>("a").unwrap().unwrap().old(), 11);
    // The next version still has the fields that the latest version wrote.
    w.perform([v2::Note::TABLE], |tx| {
        let object = tx.get::<v2::Note>("a")?.unwrap();
        let mut request = ChangeRequest::change(tx, &object)?.unwrap();
        request.stars = 1;
        request.part.as_mut().unwrap().weight = 0.25;
        tx.submit(request)
    });
    wanted.stars = 1;
    wanted.part.as_mut().unwrap().weight = 0.25;
    assert_eq!(stored(&w, "a"), wanted);
}

pub fn update_without_changes_by_older_code_writes_nothing(open: Open) {
    let w = open();
    w.create::<v3::Note>([newest("a")]);
    let outcome = change_by_v1(&w, "a", |_| {}).unwrap();
    assert!(matches!(outcome, UpdatedObject::Identity(_)));
    assert_eq!(stored(&w, "a"), newest("a"));
}

pub fn older_code_replaces_unknown_values_that_it_writes(open: Open) {
    let w = open();
    w.create::<v3::Note>([newest("a")]);
    change_by_v1(&w, "a", |note| {
        // The older code reads an unknown value as the default, or as missing.
        assert_eq!(note.mood, v1::Mood::Glad);
        assert_eq!(note.place.unwrap().mood, v1::Mood::Calm);
        assert!(note.attachment.is_none());
        note.mood = v1::Mood::Calm;
        note.place.as_mut().unwrap().mood = v1::Mood::Glad;
        note.part = None;
        note.attachment = Some(v1::Attachment::Photo(v1::Photo {
            url: Some("new".into()),
        }));
    })
    .unwrap();
    let mut wanted = newest("a");
    wanted.mood = v3::Mood::Calm;
    wanted.place.as_mut().unwrap().mood = v3::Mood::Glad;
    wanted.part = None;
    wanted.attachment = Some(v3::Attachment::Photo(v3::Photo {
        url: Some("new".into()),
        ..v3::Photo::default()
    }));
    assert_eq!(stored(&w, "a"), wanted);
}

pub fn members_of_vectors_keep_their_unknown_fields(open: Open) {
    let w = open();
    w.create::<v3::Note>([newest("a")]);
    let mut wanted = newest("a");
    let mut law = |change: fn(&mut v1::NoteData), also: fn(&mut v3::NoteData)| {
        change_by_v1(&w, "a", change).unwrap();
        also(&mut wanted);
        assert_eq!(stored(&w, "a"), wanted);
    };
    law(
        |note| note.parts[1].text = Some("new text".into()),
        |note| note.parts[1].text = Some("new text".into()),
    );
    law(
        |note| note.parts.push(v1::Part { id: 9, text: None }),
        |note| {
            let added = v3::Part {
                id: 9,
                ..v3::Part::default()
            };
            note.parts.push(added);
        },
    );
    law(|note| drop(note.parts.remove(0)), |note| drop(note.parts.remove(0)));
    law(|note| note.places[1].x = -1, |note| note.places[1].x = -1);
    law(|note| note.moods[0] = v1::Mood::Calm, |note| note.moods[0] = v3::Mood::Calm);
    law(|note| drop(note.attachments.remove(2)), |note| drop(note.attachments.remove(2)));
    law(
        |note| match note.attachments.last_mut().unwrap() {
            Some(v1::Attachment::Photo(photo)) => photo.url = None,
            other => panic!("{other:?}"),
        },
        |note| match note.attachments.last_mut().unwrap() {
            Some(v3::Attachment::Photo(photo)) => photo.url = None,
            other => panic!("{other:?}"),
        },
    );
    law(|note| note.parts.clear(), |note| note.parts.clear());
}

// Promise: compatibility#P15, concurrency#C47
pub fn ambiguous_members_are_refused_and_the_transaction_goes_on(open: Open) {
    let w = open();
    w.create::<v3::Note>([newest("a")]);
    w.perform([v1::Note::TABLE], |tx| {
        let object = tx.get::<v1::Note>("a")?.unwrap();
        let mut request = ChangeRequest::change(tx, &object)?.unwrap();
        // It is ambiguous which of the two equal members was changed.
        request.parts.remove(1);
        request.parts[0].id = 77;
        let error = tx.submit(request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NewerSchema);
        let message = error.to_string();
        assert!(message.contains("id = \"a\"") || message.contains("id = a"), "{message}");
        let mut request = ChangeRequest::change(tx, &object)?.unwrap();
        request.parts.remove(1);
        tx.submit(request)?;
        let mut request = ChangeRequest::change(tx, &object)?.unwrap();
        request.parts[0].id = 77;
        tx.submit(request)
    });
    let mut wanted = newest("a");
    wanted.parts.remove(1);
    wanted.parts[0].id = 77;
    assert_eq!(stored(&w, "a"), wanted);
}

pub fn upsert_by_older_code_keeps_fields_of_newer_code(open: Open) {
    let w = open();
    w.create::<v3::Note>([newest("a")]);
    let mut seen = w.get::<v1::Note>("a").unwrap().unwrap().to_data();
    seen.rank = 3;
    w.perform([v1::Note::TABLE], move |tx| tx.submit(ChangeRequest::<v1::Note>::upsert(seen)));
    let mut wanted = newest("a");
    wanted.rank = 3;
    assert_eq!(stored(&w, "a"), wanted);
}

pub fn older_code_never_replaces_the_newest_schema(open: Open) {
    let w = open();
    w.create::<v1::Note>([v1::NoteData {
        id: "first".into(),
        old: 4,
        ..v1::NoteData::default()
    }]);
    w.create::<v3::Note>([newest("a")]);
    w.create::<v2::Note>([v2::NoteData {
        id: "b".into(),
        ..v2::NoteData::default()
    }]);
    for rank in 4..7 {
        change_by_v1(&w, "a", move |note| note.rank = rank).unwrap();
        change_by_v1(&w, "b", move |note| note.rank = rank).unwrap();
    }
    let mut wanted = newest("a");
    wanted.rank = 6;
    assert_eq!(stored(&w, "a"), wanted);
    // A field that newer code no longer has is kept while only older code writes the object.
    assert_eq!(w.get::<v1::Note>("first").unwrap().unwrap().old(), 4);
}

pub fn older_code_finds_objects_of_newer_code_by_its_indexes(open: Open) {
    let w = open();
    w.create::<v3::Note>([newest("a")]);
    let found = w.fetch::<v1::Note>().filter(v1::Note::RANK.eq(1)).all().unwrap();
    assert_eq!(found.len(), 1);
    change_by_v1(&w, "a", |note| note.rank = 8).unwrap();
    let found = w.fetch::<v3::Note>().filter(v3::Note::RANK.eq(8)).all().unwrap();
    assert_eq!(found.len(), 1);
}

pub fn newer_code_finds_objects_of_older_code_by_its_indexes(open: Open) {
    let w = open();
    let ids = |predicate| -> Vec<String> {
        let found = w.fetch::<v3::Note>().filter(predicate).all().unwrap();
        found.iter().map(|note| note.id().to_owned()).collect()
    };
    w.create::<v1::Note>([v1::NoteData {
        id: "old".into(),
        ..v1::NoteData::default()
    }]);
    assert_eq!(ids(v3::Note::STARS.eq(3)), ["old"]);
    w.create::<v3::Note>([newest("new")]);
    assert_eq!(ids(v3::Note::STARS.eq(3)), ["old"]);
    // The older code does not know the index. Its writes must not make the index give wrong
    // answers.
    w.create::<v1::Note>([v1::NoteData {
        id: "older".into(),
        ..v1::NoteData::default()
    }]);
    change_by_v1(&w, "new", |note| note.rank = 9).unwrap();
    assert_eq!(ids(v3::Note::STARS.eq(3)), ["old", "older"]);
    assert_eq!(ids(v3::Note::STARS.eq(5)), ["new"]);
}

/// A random change by older code, applied to a version of the type.
macro_rules! change {
    ($version:ident, $note:expr, $random:expr) => {{
        let (note, random) = ($note, $random);
        for _ in 0..=random.below(3) {
            let number = i32::try_from(random.below(1000)).unwrap();
            match random.below(8) {
                0 => note.rank = number,
                1 => note.mood = $version::Mood::Calm,
                2 => note.place = None,
                3 => {
                    if let Some(place) = &mut note.place {
                        place.x = number;
                    }
                }
                4 => {
                    if let Some(part) = &mut note.part {
                        part.id = number;
                    }
                }
                5 => {
                    if let Some(part) = note.parts.last_mut() {
                        part.text = Some(number.to_string());
                    }
                }
                6 => note.moods.push($version::Mood::Glad),
                _ => {
                    if let Some(place) = note.places.first_mut() {
                        place.y = -1;
                    }
                }
            }
        }
    }};
}

/// Older code makes random changes. Newer code that makes the same changes gets the same note.
pub fn random_changes_by_older_code_change_nothing_else(open: Open) {
    let w = open();
    w.create::<v3::Note>([newest("a")]);
    let mut wanted = newest("a");
    for seed in 0..100 {
        change!(v3, &mut wanted, &mut Random::new(seed));
        let change = move |note: &mut v1::NoteData| change!(v1, note, &mut Random::new(seed));
        change_by_v1(&w, "a", change).unwrap();
        assert_eq!(stored(&w, "a"), wanted, "seed {seed}");
        if seed % 10 == 9 {
            wanted = newest("a");
            let data = wanted.clone();
            w.perform([v3::Note::TABLE], move |tx| {
                tx.submit(ChangeRequest::<v3::Note>::upsert(data))
            });
        }
    }
}

fn ids_by_mood(w: &Fixture, mood: v2::Mood) -> Vec<String> {
    let found = w.fetch::<v2::Note>().filter(v2::Note::MOOD.eq(mood)).all().unwrap();
    found.iter().map(|note| note.id().to_owned()).collect()
}

// Promise: storage-format#S21
pub fn index_unknown_to_older_code_gives_right_answers(open: Open) {
    let w = open();
    w.create::<v2::Note>(["a", "b", "c"].map(|id| v2::NoteData {
        id: id.into(),
        mood: v2::Mood::Calm,
        ..v2::NoteData::default()
    }));
    assert_eq!(ids_by_mood(&w, v2::Mood::Calm), ["a", "b", "c"]);
    change_by_v1(&w, "a", |note| note.mood = v1::Mood::Glad).unwrap();
    assert_eq!(ids_by_mood(&w, v2::Mood::Calm), ["b", "c"]);
    assert_eq!(ids_by_mood(&w, v2::Mood::Glad), ["a"]);
    w.delete(&w.get::<v1::Note>("c").unwrap().unwrap());
    w.create::<v1::Note>([v1::NoteData {
        id: "d".into(),
        ..v1::NoteData::default()
    }]);
    assert_eq!(ids_by_mood(&w, v2::Mood::Calm), ["b"]);
    assert_eq!(ids_by_mood(&w, v2::Mood::Glad), ["a", "d"]);
}

// Promise: storage-format#S21
pub fn index_removed_by_newer_code_gives_right_answers(open: Open) {
    let w = open();
    w.create::<v1::Note>([v1::NoteData {
        id: "a".into(),
        rank: 1,
        ..v1::NoteData::default()
    }]);
    let ids = |rank| -> Vec<String> {
        let found = w.fetch::<v1::Note>().filter(v1::Note::RANK.eq(rank)).all().unwrap();
        found.iter().map(|note| note.id().to_owned()).collect()
    };
    assert_eq!(ids(1), ["a"]);
    let note = w.get::<v3::Note>("a").unwrap().unwrap();
    w.change(&note, |note| note.rank = 2);
    assert!(ids(1).is_empty());
    assert_eq!(ids(2), ["a"]);
    // Older code still works without the field.
    change_by_v1(&w, "a", |note| note.rank = 3).unwrap();
    assert_eq!((ids(2).len(), ids(3).len()), (0, 1));
    w.build_indexes([v1::Note::TABLE]).unwrap();
    w.indexes_ready().wait().unwrap();
    let query = w.fetch::<v1::Note>().filter(v1::Note::RANK.eq(3));
    assert_eq!(query.explain().unwrap().to_string(), "all rows, check rank == 3");
}

// Promise: storage-format#S21
pub fn programs_that_differ_in_indexes_alone_drop_and_build_them(open: Open) {
    let w = open();
    let plan = || {
        w.indexes_ready().wait().unwrap();
        let query = || w.fetch::<indexed::Book>().filter(indexed::Book::PAGES.eq(3));
        assert_eq!(query().count().unwrap(), 1);
        query().explain().unwrap().to_string()
    };
    w.create::<indexed::Book>([indexed::BookData {
        id: 1,
        pages: 3,
        ..indexed::BookData::default()
    }]);
    for id in [2, 4] {
        assert_eq!(plan(), "range of the index on pages");
        w.create::<plain::Book>([plain::BookData {
            id,
            ..plain::BookData::default()
        }]);
        assert_eq!(plan(), "all rows, check pages == 3");
        w.create::<indexed::Book>([indexed::BookData {
            id: id + 1,
            ..indexed::BookData::default()
        }]);
    }
    assert_eq!(plan(), "range of the index on pages");
}
