//! Laws of paths into structs, tables and unions.

use dflat::{FetchedResult, Predicate};

use crate::fixture::{Fixture, Open};
use crate::schema::{Body, BodySpot, Nested, NestedData, Note, Photo, Point, Profile};

fn keys(found: &FetchedResult<Nested>) -> Vec<i32> {
    found.iter().map(Nested::id).collect()
}

fn found(w: &Fixture, predicate: Predicate<Nested>) -> Vec<i32> {
    keys(&w.fetch::<Nested>().filter(predicate).all().unwrap())
}

fn bodies() -> [Option<Body>; 6] {
    let note = |text: &str, stars| {
        Some(Body::Note(Note {
            text: Some(text.into()),
            stars,
        }))
    };
    [
        None,
        note("one", 3),
        note("two", 5),
        Some(Body::Photo(Photo {
            url: Some("u".into()),
            bytes: u64::MAX,
        })),
        Some(Body::Photo(Photo::default())),
        Some(Body::Spot(Point { x: 4, y: 2.5 })),
    ]
}

fn nested(open: Open) -> Fixture {
    let w = open();
    w.create::<Nested>(bodies().into_iter().zip(0..).map(|(body, id)| NestedData {
        id,
        point: (id % 2 == 1).then_some(Point { x: id, y: 0.5 }),
        profile: (id > 2).then(|| Profile {
            url: (id > 3).then(|| format!("u{id}")),
            age: 18 + id,
            point: None,
        }),
        plain: body.clone(),
        body,
    }));
    w
}

pub fn members_of_structs_are_queried(open: Open) {
    let w = nested(open);
    assert_eq!(found(&w, Nested::POINT.x().eq(3)), [3]);
    assert_eq!(found(&w, Nested::POINT.x().ge(3)), [3, 5]);
    assert_eq!(found(&w, Nested::POINT.y().eq(0.5)), [1, 3, 5]);
    assert_eq!(found(&w, Nested::POINT.x().is_null()), [0, 2, 4]);
    assert_eq!(found(&w, !Nested::POINT.x().eq(3)), [1, 5]);
    let ordered = w.fetch::<Nested>().order_by(Nested::POINT.x().descending());
    assert_eq!(keys(&ordered.all().unwrap()), [5, 3, 1, 0, 2, 4]);
}

// Promise: compatibility#P35
pub fn fields_of_nested_tables_are_queried(open: Open) {
    let w = nested(open);
    assert_eq!(found(&w, Nested::PROFILE.url().eq("u4")), [4]);
    assert_eq!(found(&w, Nested::PROFILE.url().is_null()), [0, 1, 2, 3]);
    assert_eq!(found(&w, Nested::PROFILE.age().gt(21)), [4, 5]);
    assert_eq!(found(&w, Nested::PROFILE.point().x().is_null()).len(), 6);
}

pub fn default_of_a_nested_field_holds_only_if_its_table_is_present(open: Open) {
    let w = open();
    w.create::<Nested>([
        NestedData {
            id: 1,
            profile: Some(Profile::default()),
            ..NestedData::default()
        },
        NestedData {
            id: 2,
            ..NestedData::default()
        },
    ]);
    assert_eq!(found(&w, Nested::PROFILE.age().eq(18)), [1]);
    assert_eq!(found(&w, Nested::PROFILE.age().is_null()), [2]);
    assert_eq!(w.get::<Nested>(1).unwrap().unwrap().profile().unwrap().age(), 18);
}

// Promise: compatibility#P35
pub fn unions_are_queried_by_member(open: Open) {
    let w = nested(open);
    for (indexed, plain, expected) in [
        (Nested::BODY.matches::<Note>(), Nested::PLAIN.matches::<Note>(), vec![1, 2]),
        (Nested::BODY.matches::<Photo>(), Nested::PLAIN.matches::<Photo>(), vec![3, 4]),
        (!Nested::BODY.matches::<Note>(), !Nested::PLAIN.matches::<Note>(), vec![0, 3, 4, 5]),
        (Nested::BODY.tag().eq(0), Nested::PLAIN.tag().eq(0), vec![0]),
        (Nested::BODY.tag().ge(2), Nested::PLAIN.tag().ge(2), vec![3, 4, 5]),
        (Nested::BODY.tag().is_null(), Nested::PLAIN.tag().is_null(), vec![]),
    ] {
        assert_eq!(found(&w, indexed), expected);
        assert_eq!(found(&w, plain), expected);
    }
}

pub fn fields_of_union_members_are_missing_while_another_is_held(open: Open) {
    let w = nested(open);
    let note = || Nested::BODY.as_::<Note>();
    let photo = || Nested::BODY.as_::<Photo>();
    assert_eq!(found(&w, note().text().eq("two")), [2]);
    assert_eq!(found(&w, note().text().ne("two")), [1]);
    assert_eq!(found(&w, note().stars().eq(3)), [1]);
    assert_eq!(found(&w, note().stars().is_null()), [0, 3, 4, 5]);
    assert_eq!(found(&w, photo().url().eq("u")), [3]);
    assert_eq!(found(&w, photo().url().is_null()), [0, 1, 2, 4, 5]);
    assert_eq!(found(&w, photo().bytes().gt(1_u64 << 63)), [3]);
    assert_eq!(found(&w, photo().bytes().eq(0_u64)), [4]);
    assert_eq!(found(&w, Nested::BODY.as_::<BodySpot>().x().eq(4)), [5]);
    let ordered = w.fetch::<Nested>().order_by(note().stars().descending());
    assert_eq!(keys(&ordered.all().unwrap()), [2, 1, 0, 3, 4, 5]);
}

pub fn index_on_a_union_follows_its_member(open: Open) {
    let w = nested(open);
    let object = w.get::<Nested>(3).unwrap().unwrap();
    w.change(&object, |data| {
        data.body = Some(Body::Note(Note {
            text: None,
            stars: 5,
        }));
    });
    assert_eq!(found(&w, Nested::BODY.as_::<Photo>().url().eq("u")), [0; 0]);
    assert_eq!(found(&w, Nested::BODY.as_::<Note>().stars().eq(5)), [2, 3]);
    assert_eq!(found(&w, Nested::BODY.matches::<Photo>()), [4]);
    w.change(&object, |data| data.body = None);
    assert_eq!(found(&w, Nested::BODY.tag().eq(0)), [0, 3]);
}
