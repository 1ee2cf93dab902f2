//! Objects that several laws use.

use dflat::FetchedResult;

use crate::schema::{BagData, Body, Item, ItemData, Level, Note, OtherData, Photo, Point, Tree};

/// An item whose rank and size are one number.
pub(super) fn item(id: &str, rank: i32) -> ItemData {
    ItemData {
        id: id.into(),
        rank,
        size: rank,
        ..ItemData::default()
    }
}

/// The keys of items, in order.
pub(super) fn ids(items: &[Item]) -> Vec<&str> {
    items.iter().map(Item::id).collect()
}

/// The keys of a result, in order.
pub(super) fn owned_ids(items: &FetchedResult<Item>) -> Vec<String> {
    items.iter().map(|item| item.id().to_owned()).collect()
}

/// An object with members in each of its vectors.
pub(super) fn bag(id: i32) -> BagData {
    let note = |text: &str| Note {
        text: Some(text.into()),
        stars: 4,
    };
    let tree = |name: &str| Tree {
        name: Some(name.into()),
        ..Tree::default()
    };
    let point = Point { x: -3, y: 0.5 };
    BagData {
        id,
        bools: vec![true, false, true],
        bytes: vec![0, 255],
        shorts: vec![i16::MIN, i16::MAX],
        longs: vec![i64::MIN, 0, i64::MAX],
        wides: vec![u64::MAX],
        floats: vec![f32::NAN, -0.0, f32::INFINITY],
        doubles: vec![f64::MIN_POSITIVE, f64::MAX],
        texts: vec![String::new(), "a\0b".into(), "文字 🐉".into()],
        levels: vec![Level::High, Level::Low],
        points: vec![point, Point { x: 1, y: -1.0 }, Point { x: 2, y: 2.0 }],
        notes: vec![note("one"), Note::default()],
        bodies: vec![
            Some(Body::Note(note("in a union"))),
            None,
            Some(Body::Spot(point)),
            Some(Body::Photo(Photo {
                url: Some("u".into()),
                bytes: u64::MAX,
            })),
        ],
        tree: Some(Tree {
            left: Some(Box::new(tree("left"))),
            children: vec![tree("first"), tree("second")],
            ..tree("root")
        }),
        limit: 0,
        ratio: f64::NAN,
        maybe: Some(0.0),
    }
}

/// An object of the second type.
pub(super) fn other(id: i32) -> OtherData {
    OtherData { id, note: None }
}
