//! Tests of the documented bytes and of damaged records.

use super::rows::kind;
use super::*;
use crate::{RowId, Value, ValueRef};

/// The head of all examples.
fn head(part: Part) -> RecordHead<'static> {
    RecordHead {
        engine: 0x0807_0605_0403_0201,
        time: 1_750_000_000_000,
        part,
        ..RecordHead::default()
    }
}

const TASKS: TableHead<'static> = TableHead {
    name: "task",
    descriptor: 0x1817_1615_1413_1211,
    key_columns: 1,
    is_foreign: false,
};

const BEFORE: &[u8] = b"The object as it was before this transaction.";
const AFTER: &[u8] = b"The object as it is now after this transaction.";

fn row<'a>(
    row_id: i64,
    key: &'a [ValueRef<'a>],
    before: Option<&'a [u8]>,
    after: Option<&'a [u8]>,
) -> WrittenRow<'a> {
    WrittenRow {
        row_id: RowId(row_id),
        key,
        is_foreign: false,
        before,
        after,
    }
}

fn record(head: &RecordHead<'_>, rows: &[WrittenRow<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = RecordWriter::new(head, false, &mut bytes);
    writer.table(&TASKS);
    rows.iter().for_each(|written| writer.row(written));
    writer.finish();
    bytes
}

/// A record of an update whose object before is not known.
fn lost(key: &[ValueRef<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = RecordWriter::new(&head(Part::Whole), false, &mut bytes);
    writer.table(&TASKS);
    writer.lost_row(&LostRow {
        row_id: RowId(5),
        key,
        is_deleted: false,
        hash: Some(std::array::from_fn(|at| at as u8)),
    });
    writer.finish();
    bytes
}

/// The examples of the page: the text before each block, and the record.
fn examples() -> [(&'static str, Vec<u8>); 8] {
    let key = [ValueRef::Text("t-1")];
    let keys = [[ValueRef::Text("t-2")], [ValueRef::Text("t-3")]];
    let inserted = row(5, &key, None, Some(AFTER));
    let labelled = RecordHead {
        label: Some("import"),
        ..head(Part::Final { early: 2, rows: 3 })
    };
    [
        ("An insertion", record(&head(Part::Whole), &[inserted])),
        (
            "An update",
            record(
                &head(Part::Whole),
                &[row(5, &key, Some(BEFORE), Some(AFTER))],
            ),
        ),
        (
            "A deletion",
            record(&head(Part::Whole), &[row(5, &key, Some(b"gone"), None)]),
        ),
        (
            "An update in a step, whose state before is lost",
            lost(&key),
        ),
        (
            "The first of three parts",
            record(&head(Part::Early { number: 0 }), &[inserted]),
        ),
        (
            "The second of three parts",
            record(
                &head(Part::Early { number: 1 }),
                &[
                    row(6, &keys[0], None, Some(AFTER)),
                    row(7, &keys[1], None, Some(AFTER)),
                ],
            ),
        ),
        ("The final part", record(&labelled, &[])),
        ("A record of upkeep", empty_record()),
    ]
}

/// The bytes in the block behind a text of the page: on each line hexadecimal numbers, and behind
/// two spaces their meaning.
fn documented(page: &str, caption: &str) -> Vec<u8> {
    let (_, rest) = page.split_once(&format!("\n{caption}:\n\n")).unwrap();
    let lines = rest.lines().take_while(|line| line.starts_with("    "));
    let numbers = lines.flat_map(|line| {
        let numbers = line.trim_start().split("  ").next().unwrap_or("");
        numbers.split_whitespace()
    });
    numbers
        .map(|number| u8::from_str_radix(number, 16).unwrap())
        .collect()
}

// Promise: storage-format#S28
#[test]
fn documented_records_are_written_and_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/storage-format.md");
    let page = std::fs::read_to_string(path).unwrap();
    for (caption, bytes) in examples() {
        assert_eq!(bytes, documented(&page, caption), "{caption}: {bytes:02x?}");
        let record = ChangeRecord::decode(&bytes).unwrap();
        let tables: Vec<_> = record.tables.iter().map(|table| table.table).collect();
        match caption {
            "A record of upkeep" => assert!(record.changes_nothing() && tables.is_empty()),
            _ => assert_eq!(tables, [TASKS], "{caption}"),
        }
    }
    let read = |caption: &str| {
        let bytes = documented(&page, caption);
        let record = ChangeRecord::decode(&bytes).unwrap();
        let mut rows = record.tables[0].rows();
        let changed = rows.next().unwrap().unwrap();
        assert_eq!((changed.row_id, changed.is_foreign), (RowId(5), false));
        assert_eq!(changed.key, [ValueRef::Text("t-1")]);
        assert!(rows.next().is_none());
        match changed.change {
            Change::Inserted => None,
            Change::Updated(Before::Difference(difference)) => difference.apply(AFTER).ok(),
            Change::Deleted(before) => before.map(<[u8]>::to_vec),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read("An insertion"), None);
    assert_eq!(read("An update"), Some(BEFORE.to_vec()));
    assert_eq!(read("A deletion"), Some(b"gone".to_vec()));
}

/// A length takes one byte, two or three.
#[test]
fn table_and_difference_of_any_length_are_read_back() {
    let before: Vec<u8> = (0..40_000_u32).map(|number| (number % 251) as u8).collect();
    for changed in [
        0, 1, 80, 95, 96, 97, 98, 99, 100, 101, 102, 130, 16_300, 16_353, 16_400,
    ] {
        let mut after = before.clone();
        after[100..100 + changed]
            .iter_mut()
            .for_each(|byte| *byte ^= 0xff);
        let key = [ValueRef::Text("t-1")];
        let rows = [1, 2].map(|row_id| row(row_id, &key, Some(&before), Some(&after)));
        let bytes = record(&head(Part::Whole), &rows);
        let decoded = ChangeRecord::decode(&bytes).unwrap();
        let read: Vec<_> = decoded.tables[0].rows().map(Result::unwrap).collect();
        assert_eq!(read.len(), 2, "{changed} bytes");
        for read in read {
            let Change::Updated(Before::Difference(difference)) = read.change else {
                panic!("{changed} bytes: {read:?}");
            };
            assert!(
                difference.apply(&after).unwrap() == before,
                "{changed} bytes"
            );
        }
    }
}

/// A table of which any row may have changed says so without a row.
#[test]
fn record_without_a_table_keeps_the_foreign_flags_of_others() {
    for is_foreign in [false, true] {
        let mut bytes = Vec::new();
        let mut writer = RecordWriter::new(&head(Part::Whole), false, &mut bytes);
        writer.table(&TASKS);
        writer.table(&TableHead {
            name: "other",
            is_foreign,
            ..TASKS
        });
        writer.finish();
        let (shorter, has_changes) = without_table(&bytes, "task").unwrap().unwrap();
        let decoded = ChangeRecord::decode(&shorter).unwrap();
        assert_eq!(decoded.tables[0].table.is_foreign, is_foreign);
        assert_eq!(has_changes, is_foreign);
    }
}

#[test]
fn lost_rows_are_read_back() {
    let key = [ValueRef::Int(7)];
    let cases = [
        (false, None),
        (true, None),
        (false, Some([1; 32])),
        (true, Some([2; 32])),
    ];
    let mut bytes = Vec::new();
    let mut writer = RecordWriter::new(&head(Part::Whole), false, &mut bytes);
    writer.table(&TASKS);
    for (row_id, (is_deleted, hash)) in (1..).zip(cases) {
        writer.lost_row(&LostRow {
            row_id: RowId(row_id),
            key: &key,
            is_deleted,
            hash,
        });
    }
    writer.finish();
    let decoded = ChangeRecord::decode(&bytes).unwrap();
    let rows: Vec<_> = decoded.tables[0].rows().map(Result::unwrap).collect();
    assert_eq!(rows.len(), cases.len());
    for (row, (is_deleted, hash)) in rows.iter().zip(cases) {
        let change = match is_deleted {
            true => Change::Deleted(None),
            false => Change::Updated(Before::Unknown),
        };
        assert_eq!((row.change, row.before_hash), (change, hash));
        assert_eq!(row.key, key);
    }
}

#[test]
fn every_field_is_read_back() {
    let head = RecordHead {
        place: 300,
        engine: u64::MAX,
        time: u64::MAX,
        file: Some(u128::MAX),
        workspace: Some(1),
        author: Some("Ada"),
        label: Some(""),
        undo_group: Some(u64::MAX),
        part: Part::Final { early: 3, rows: 9 },
    };
    let table = TableHead {
        is_foreign: true,
        key_columns: 5,
        ..TASKS
    };
    let owned = [
        Value::Null,
        Value::Int(-1),
        Value::Float(0.5),
        Value::UInt(u64::MAX),
    ];
    let text = ValueRef::Text("a\0\u{e9}");
    let key: Vec<_> = owned.iter().map(Value::as_ref).chain([text]).collect();
    for keys_only in [false, true] {
        let mut bytes = vec![1, 2, 3];
        let mut writer = RecordWriter::new(&head, keys_only, &mut bytes);
        writer.table(&TableHead { name: "", ..TASKS });
        writer.table(&table);
        let unlike = [7; 40];
        let rows = [
            row(1, &key, None, Some(AFTER)),
            row(2, &key, Some(BEFORE), Some(AFTER)),
            row(9, &key, Some(&unlike), Some(AFTER)),
            row(1 << 40, &key, Some(BEFORE), None),
            row(i64::MAX, &[], None, None),
        ];
        for written in &rows {
            let is_foreign = written.row_id == RowId(9);
            writer.row(&WrittenRow {
                is_foreign,
                ..*written
            });
        }
        writer.finish();
        let record = ChangeRecord::decode(&bytes[3..]).unwrap();
        assert_eq!((record.head, record.tables.len()), (head, 2));
        assert!(record.tables[0].is_empty() && record.tables[0].rows().next().is_none());
        assert_eq!(record.tables[1].table, table);
        let read: Vec<_> = record.tables[1].rows().map(Result::unwrap).collect();
        assert_eq!(read.len(), rows.len());
        for (read, written) in read.iter().zip(&rows) {
            assert_eq!(read.row_id, written.row_id);
            assert_eq!(read.key, written.key);
            assert_eq!(read.is_foreign, written.row_id == RowId(9));
            let before = match read.change {
                Change::Updated(Before::Difference(found)) => found.apply(AFTER).ok(),
                Change::Updated(Before::Object(before)) => Some(before.to_vec()),
                Change::Deleted(before) => before.map(<[u8]>::to_vec),
                Change::Inserted | Change::Mended | Change::Updated(Before::Unknown) => None,
            };
            let expected = written.before.filter(|_| !keys_only);
            assert_eq!(before.as_deref(), expected, "{read:?}");
        }
        assert_eq!(read[4].change, Change::Mended);
    }
}

/// Decodes all of a record.
fn check(bytes: &[u8]) -> Result<(), RecordError> {
    let record = ChangeRecord::decode(bytes)?;
    for table in &record.tables {
        let mut last = 0;
        for row in table.rows() {
            let row = row?;
            assert!(row.row_id.0 > last, "rows ascend");
            last = row.row_id.0;
            if let Change::Updated(Before::Difference(difference)) = row.change {
                let _ = difference.apply(AFTER);
            }
        }
    }
    Ok(())
}

/// The bytes of a record with the checksum that belongs to them.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    [bytes, &checksum(bytes)].concat()
}

/// The bytes of a record without its checksum.
fn unsealed(record: &[u8]) -> &[u8] {
    checked(record).unwrap()
}

// Promise: storage-format#S36
#[test]
fn truncated_or_changed_record_is_refused() {
    for (_, bytes) in examples() {
        check(&bytes).unwrap();
        for end in 1..bytes.len() {
            assert_eq!(check(&bytes[..end]), Err(RecordError::Checksum), "{end}");
        }
        assert_eq!(check(&[]), Err(RecordError::Malformed));
        for position in 0..bytes.len() {
            for value in 0..=u8::MAX {
                let mut damaged = bytes.clone();
                damaged[position] = value;
                let expected = match position {
                    _ if damaged == bytes => Ok(()),
                    0 => Err(RecordError::Version(value)),
                    _ => Err(RecordError::Checksum),
                };
                assert_eq!(check(&damaged), expected, "{position} {value}");
            }
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(check(&longer), Err(RecordError::Checksum));
    }
}

#[test]
fn malformed_record_with_its_checksum_is_an_error_or_a_record() {
    for (_, bytes) in examples() {
        let bytes = unsealed(&bytes);
        let is_read = |end: &usize| check(&sealed(&bytes[..*end])).is_ok();
        let read: Vec<_> = (0..bytes.len()).filter(is_read).collect();
        // A record may end behind its head and behind each field.
        assert!(read.len() <= 3, "{read:?}");
        for position in 0..bytes.len() {
            for value in 0..=u8::MAX {
                let mut damaged = bytes.to_vec();
                damaged[position] = value;
                let _ = check(&sealed(&damaged));
            }
        }
    }
}

#[test]
fn unknown_optional_field_is_skipped_and_required_one_is_refused() {
    let bytes = record(
        &head(Part::Whole),
        &[row(1, &[ValueRef::Null], None, Some(AFTER))],
    );
    let bytes = unsealed(&bytes);
    let with = |tag: u8| sealed(&[bytes, &[tag, 2, 0xFF, 0xFF]].concat());
    let known = sealed(bytes);
    let known = ChangeRecord::decode(&known).unwrap();
    assert_eq!(ChangeRecord::decode(&with(40)), Ok(known));
    assert_eq!(
        ChangeRecord::decode(&with(41)),
        Err(RecordError::UnknownField(20))
    );
    // A known field that is optional in place of required, or comes too late or twice.
    for tag in [4 << 1, 6 << 1, (6 << 1) + 1] {
        assert_eq!(
            ChangeRecord::decode(&with(tag)),
            Err(RecordError::Malformed)
        );
    }
    // A later version may have no checksum at its end.
    let newer = [&[2], &bytes[1..]].concat();
    assert_eq!(ChangeRecord::decode(&newer), Err(RecordError::Version(2)));
    let label = [8, 1, b'x'];
    let twice = [&bytes[..16], &label, &label].concat();
    assert_eq!(
        ChangeRecord::decode(&sealed(&twice)),
        Err(RecordError::Malformed)
    );
    let once = sealed(&twice[..19]);
    assert_eq!(ChangeRecord::decode(&once).unwrap().head.label, Some("x"));
}

#[test]
fn hostile_counts_and_row_ids_are_refused() {
    let rows = |key_columns: u32, rows: &[u8]| {
        let table = TableRecord {
            table: TableHead {
                key_columns,
                ..TASKS
            },
            rows,
        };
        table
            .rows()
            .collect::<Result<Vec<_>, _>>()
            .map(|rows| rows.len())
    };
    let most = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
    assert_eq!(rows(0, &[1, 0, 1, 0]), Ok(2));
    assert_eq!(rows(0, &[&most[..], &[0]].concat()), Ok(1));
    // Beyond the largest row id, twice the same row, more key columns than bytes, unknown kinds.
    assert_eq!(
        rows(0, &[&most[..], &[0, 1, 0]].concat()),
        Err(RecordError::Malformed)
    );
    assert_eq!(rows(0, &[1, 0, 0, 0]), Err(RecordError::Malformed));
    assert_eq!(rows(u32::MAX, &[1, 0, 0, 0]), Err(RecordError::Malformed));
    for kind in (0..=u8::MAX).filter(|kind| kind & !kind::FOREIGN > kind::MENDED) {
        assert_eq!(rows(0, &[1, kind]), Err(RecordError::Malformed), "{kind}");
    }
    // A text and an object that are longer than the rest.
    assert_eq!(
        rows(1, &[1, 0, 4, 0xFF, 0xFF, 3]),
        Err(RecordError::Malformed)
    );
    assert_eq!(rows(0, &[1, 3, 0xFF, 0xFF, 3]), Err(RecordError::Malformed));
}
