//! Updates by older code of objects that newer code wrote.

use crate::table;
use dflat_engine::object::{Knowledge, TableView, Writer, merge, verify};

const OLDER: &str = "
    enum Color: byte { Red = 0, Green, Blue }
    table Text { s: string; }
    union Part { Text }
    table Doc { key: string (primary); color: Color = Green; part: Part; }
    root_type Doc;";

const NEWER: &str = "
    enum Color: byte { Red = 0, Green, Blue }
    table Text { s: string; }
    table Image { width: int; }
    union Part { Text, Image }
    table Doc { key: string (primary); color: Color = Green; part: Part; }
    root_type Doc;";

const COLOR: u16 = 6;
const PART_TYPE: u16 = 8;
const PART: u16 = 10;
const WIDTH: u16 = 4;
const IMAGE: u8 = 2;

/// An object with a member of the union that the older schema lacks.
fn payload(color: i8) -> Vec<u8> {
    let mut writer = Writer::new();
    let root = writer.begin();
    assert!(writer.begin_table(root));
    let (key, part) = (writer.slot(4), writer.slot(PART));
    writer.scalar(COLOR, color);
    writer.scalar(PART_TYPE, IMAGE);
    writer.end_table();
    writer.text(key, "a");
    assert!(writer.begin_table(part));
    writer.scalar(WIDTH, 640);
    writer.end_table();
    writer.leave();
    writer.leave();
    writer.finish().unwrap().to_vec()
}

fn color_and_width(payload: &[u8]) -> (Option<i8>, Option<i32>) {
    let root = TableView::root(payload).unwrap();
    let part = root.union(PART).unwrap().expect("the member is there");
    assert_eq!(part.code, IMAGE);
    let width = part.table().unwrap().scalar(WIDTH).unwrap();
    (root.scalar(COLOR).unwrap(), width)
}

/// The update is a copy of the stored bytes with another number, so that it has the hidden member.
#[test]
fn update_that_copies_a_member_unknown_to_older_code_keeps_it() {
    let (older, newer) = (table(OLDER), table(NEWER));
    let (before, after) = (payload(0), payload(2));
    verify(&newer.types, &before).unwrap();
    let knowledge = Knowledge::of(&older.types);
    assert_eq!(knowledge.covers(&older.types, &before), Ok(false));
    let update = |after: &[u8]| merge((&older.types, &knowledge), &newer.types, &before, after);
    let merged = update(&after).unwrap();
    verify(&newer.types, &merged).unwrap();
    assert_eq!(color_and_width(&merged), (Some(2), Some(640)));
    let same = update(&before).unwrap();
    assert_eq!(color_and_width(&same), (Some(0), Some(640)));
}
