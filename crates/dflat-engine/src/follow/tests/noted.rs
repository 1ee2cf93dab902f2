//! Tests of rows that other programs have written, between the records of commits.

use dflat_model::RowId;
use dflat_model::record::{Part, RecordHead, RecordWriter, TableHead, WrittenRow};

use super::{File, OTHER, record_of};
use crate::follow::Followed;
use crate::object::TableView;

/// The rows to read again, with their numbers, or `None` for a whole table.
fn rows_of(followed: Followed) -> Option<Vec<(i64, Option<i64>)>> {
    let Followed::Rows(tables) = followed else {
        panic!("the rows are known: {followed:?}");
    };
    let number = |object: &crate::object::Object| {
        let root = TableView::root(object.payload()).unwrap();
        root.scalar(4).unwrap().unwrap_or(0)
    };
    let mut tables = tables.into_iter().map(|table| {
        let rows = table.changes?.rows.into_iter();
        let rows = rows.map(|(row_id, change)| (row_id.0, change.after.as_ref().map(number)));
        Some(rows.collect())
    });
    let first = tables.next().unwrap_or_else(|| Some(Vec::new()));
    assert_eq!(tables.len(), 0);
    first
}

/// A record that lists foreign rows of the table `seen`.
fn mended(rows: &[i64]) -> Vec<u8> {
    let head = RecordHead {
        engine: OTHER,
        ..RecordHead::default()
    };
    let mut bytes = Vec::new();
    let mut writer = RecordWriter::new(&head, false, &mut bytes);
    writer.table(&TableHead {
        name: "seen",
        descriptor: 0,
        key_columns: 0,
        is_foreign: false,
    });
    for row_id in rows {
        writer.row(&WrittenRow {
            row_id: RowId(*row_id),
            key: &[],
            is_foreign: true,
            before: None,
            after: None,
        });
    }
    writer.finish();
    bytes
}

#[test]
fn foreign_rows_mended_rows_and_recorded_rows_are_read_again() {
    let mut file = File::default();
    file.commit(&[(1, None, Some(10)), (2, None, Some(20))]);
    file.record(mended(&[3, 7]));
    file.apply(&[(3, None, Some(30)), (4, None, Some(40))]);
    file.record(record_of(
        OTHER,
        Part::Whole,
        &[("unseen", false, &[(9, None, Some(1))])],
    ));
    file.noted = Some(vec![RowId(4), RowId(5)]);
    let rows = rows_of(file.followed_within(1 << 20)).unwrap();
    let expected = [
        (1, Some(10)),
        (2, Some(20)),
        (3, Some(30)),
        (4, Some(40)),
        (5, None),
        (7, None),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn tables_without_foreign_rows_are_not_read_again() {
    let mut file = File {
        noted: Some(Vec::new()),
        ..File::default()
    };
    assert_eq!(rows_of(file.followed_within(1 << 20)), Some(Vec::new()));
}

#[test]
fn table_whose_foreign_rows_are_not_known_is_read_again_as_a_whole() {
    let mut unmarked = File {
        noted: Some(vec![RowId(1)]),
        is_unmarked: true,
        ..File::default()
    };
    assert_eq!(rows_of(unmarked.followed_within(1 << 20)), None);
    let mut flagged = File {
        noted: Some(Vec::new()),
        ..File::default()
    };
    flagged.record(record_of(OTHER, Part::Whole, &[("seen", true, &[])]));
    assert_eq!(rows_of(flagged.followed_within(1 << 20)), None);
    let mut many = File {
        noted: Some((1..5000).map(RowId).collect()),
        ..File::default()
    };
    assert_eq!(rows_of(many.followed_within(1 << 20)), None);
}

#[test]
fn mended_rows_alone_are_no_commit() {
    let mut file = File::default();
    file.commit(&[(1, None, Some(10))]);
    file.record(mended(&[1]));
    file.commit(&[(1, Some(10), Some(11))]);
    let commits = [vec![(1, None, Some(10))], vec![(1, Some(10), Some(11))]];
    assert_eq!(file.follow().unwrap(), commits);
}
