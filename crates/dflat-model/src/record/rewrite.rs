//! Records whose rows are replaced one by one.

use super::rows::kind;
use super::writer::{begin_length, end_length};
use super::{CHECKSUM_BYTES, ChangeRecord, RecordError, RowRecord, TableRecord, checked, checksum};
use super::{TABLE_FOREIGN, field};
use crate::ValueRef;
use crate::encoding::{Encode, Input, decode_bytes, encode_bytes, encode_value};

/// The row that stands in a record in place of another one.
#[derive(Clone, Debug, PartialEq)]
pub enum Replacement<'a> {
    /// The row itself.
    Same,
    /// No row.
    Nothing,
    /// The insertion of the row, under the same key.
    Insertion,
    /// The deletion of the row.
    Deletion {
        /// The primary key before.
        key: Vec<ValueRef<'a>>,
        /// The object before.
        before: &'a [u8],
    },
}

/// A record with replacements for the rows of one of its tables; `None` if all rows are the same.
/// All other parts of the record keep their bytes, so the final part of a large transaction says as
/// many rows as before.
///
/// # Errors
/// See [`RecordError`].
pub fn replace_rows<'a>(
    record: &'a [u8],
    name: &str,
    replace: &mut dyn FnMut(&RowRecord<'a>) -> Replacement<'a>,
) -> Result<Option<Vec<u8>>, RecordError> {
    ChangeRecord::decode(record)?;
    let mut input = Input::new(checked(record)?);
    input.byte()?;
    u32::decode(&mut input)?;
    input.bytes(8)?;
    u64::decode(&mut input)?;
    let fields = record.len() - CHECKSUM_BYTES - input.rest.len();
    let mut kept = record.get(..fields).unwrap_or_default().to_vec();
    let mut is_same = true;
    while !input.rest.is_empty() {
        let whole = input.rest;
        let tag = u64::decode(&mut input)?;
        let body = decode_bytes(&mut input)?;
        if tag == field::TABLE << 1 | 1 {
            let table = TableRecord::decode(body)?;
            if table.table.name == name
                && let Some(rows) = replaced(&table, replace)?
            {
                is_same = false;
                tag.encode(&mut kept);
                put_table(&table, &rows, &mut kept);
                continue;
            }
        }
        let length = whole.len() - input.rest.len();
        kept.extend(whole.get(..length).unwrap_or_default());
    }
    kept.extend(checksum(&kept));
    Ok((!is_same).then_some(kept))
}

/// The rows of a table after the replacement; `None` if all are the same.
fn replaced<'a>(
    table: &TableRecord<'a>,
    replace: &mut dyn FnMut(&RowRecord<'a>) -> Replacement<'a>,
) -> Result<Option<Vec<u8>>, RecordError> {
    let (mut out, mut previous, mut is_same) = (Vec::new(), 0, true);
    let mut rows = table.rows();
    while let Some((row, bytes)) = rows.next_with_bytes() {
        let row = row?;
        let replacement = replace(&row);
        is_same &= replacement == Replacement::Same;
        if replacement == Replacement::Nothing {
            continue;
        }
        let row_id = row.row_id.0.cast_unsigned();
        row_id.wrapping_sub(previous).encode(&mut out);
        previous = row_id;
        let foreign = if row.is_foreign { kind::FOREIGN } else { 0 };
        match replacement {
            Replacement::Same => out.extend(bytes),
            Replacement::Nothing => {}
            Replacement::Insertion => {
                out.push(kind::INSERTED | foreign);
                row.key
                    .iter()
                    .for_each(|part| encode_value(*part, &mut out));
            }
            Replacement::Deletion { key, before } => {
                out.push(kind::DELETED | foreign);
                key.iter().for_each(|part| encode_value(*part, &mut out));
                encode_bytes(before, &mut out);
            }
        }
    }
    Ok((!is_same).then_some(out))
}

fn put_table(table: &TableRecord<'_>, rows: &[u8], out: &mut Vec<u8>) {
    let start = begin_length(out);
    encode_bytes(table.table.name.as_bytes(), out);
    out.extend(table.table.descriptor.to_le_bytes());
    let flags = if table.table.is_foreign {
        TABLE_FOREIGN
    } else {
        0
    };
    flags.encode(out);
    table.table.key_columns.encode(out);
    out.extend(rows);
    end_length(start, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowId;
    use crate::record::{Before, Change, RecordHead, RecordWriter, TableHead, WrittenRow};

    const HEAD: RecordHead<'static> = RecordHead {
        place: 3,
        engine: 7,
        time: 9,
        file: None,
        workspace: Some(5),
        author: Some("Ann"),
        label: Some("label"),
        undo_group: None,
        part: crate::record::Part::Final { early: 1, rows: 9 },
    };

    type State = Option<&'static [u8]>;

    /// A record of two tables with the same rows: an insertion, a difference, a deletion, and an
    /// update of the key.
    fn record() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = RecordWriter::new(&HEAD, false, &mut bytes);
        for name in ["item", "other"] {
            writer.table(&TableHead {
                name,
                descriptor: 1,
                key_columns: 1,
                is_foreign: name == "item",
            });
            let states: [(State, State); 4] = [
                (None, Some(b"new")),
                (Some(b"a long text"), Some(b"a long text!")),
                (Some(&[7; 300]), None),
                (Some(b"moved"), Some(b"there")),
            ];
            for (number, (before, after)) in (1_i64..).zip(states) {
                let row = WrittenRow {
                    row_id: RowId(100 * number),
                    key: &[ValueRef::Int(number)],
                    is_foreign: number == 4,
                    before,
                    after,
                };
                match number {
                    4 => writer.moved_row(&row),
                    _ => writer.row(&row),
                }
            }
        }
        writer.finish();
        bytes
    }

    fn rows<'r>(record: &ChangeRecord<'r>, table: usize) -> Vec<RowRecord<'r>> {
        record.tables[table].rows().map(Result::unwrap).collect()
    }

    #[test]
    fn each_row_is_replaced_and_all_others_keep_their_bytes() {
        let bytes = record();
        let before = ChangeRecord::decode(&bytes).unwrap();
        assert_eq!(
            replace_rows(&bytes, "none", &mut |_| Replacement::Nothing),
            Ok(None)
        );
        assert_eq!(
            replace_rows(&bytes, "item", &mut |_| Replacement::Same),
            Ok(None)
        );
        for replaced in 0..4 {
            for kind in 0..3 {
                let deletion = || Replacement::Deletion {
                    key: vec![ValueRef::Int(50)],
                    before: b"older",
                };
                let mut number = 0;
                let found = replace_rows(&bytes, "item", &mut |_| {
                    number += 1;
                    match (number - 1 == replaced, kind) {
                        (false, _) => Replacement::Same,
                        (true, 0) => Replacement::Nothing,
                        (true, 1) => Replacement::Insertion,
                        (true, _) => deletion(),
                    }
                });
                let found = found.unwrap().unwrap();
                let after = ChangeRecord::decode(&found).unwrap();
                assert_eq!(
                    (after.head, after.tables[0].table),
                    (HEAD, before.tables[0].table)
                );
                assert_eq!(after.tables[1], before.tables[1]);
                let mut expected = rows(&before, 0);
                match kind {
                    0 => drop(expected.remove(replaced)),
                    1 => expected[replaced].change = Change::Inserted,
                    _ => {
                        expected[replaced].change = Change::Deleted(Some(b"older"));
                        expected[replaced].key = vec![ValueRef::Int(50)];
                    }
                }
                assert_eq!(rows(&after, 0), expected);
            }
        }
        assert!(matches!(
            rows(&before, 0)[3].change,
            Change::Updated(Before::Object(b"moved"))
        ));
    }

    #[test]
    fn damaged_records_are_refused() {
        let bytes = record();
        for length in 0..bytes.len() {
            let cut = replace_rows(&bytes[..length], "item", &mut |_| Replacement::Nothing);
            assert!(cut.is_err(), "{length}");
        }
    }
}
