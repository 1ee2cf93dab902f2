//! The change record of a layer: the changes that lead from the layered pack back to its base.
//!
//! A change record has the states before a transaction. Those of this record are therefore the
//! objects of the layered pack.

use std::ops::Range;

use dflat_model::record::{
    Before, Change, ChangeRecord, RecordHead, RecordWriter, RowRecord, TableHead, WrittenRow,
};
use dflat_model::{RowId, Table, Value, ValueRef, key};

/// A changed table to write, with its rows by their keys.
pub(crate) struct NewTable<'a> {
    /// The table as the file below all layers describes it.
    pub(crate) table: &'a Table,
    pub(crate) rows: Vec<NewRow>,
}

/// A changed row to write.
pub(crate) struct NewRow {
    pub(crate) key: Vec<Value>,
    /// Whether the base has an object with this key.
    pub(crate) was_there: bool,
    /// The object of the layered pack; `None` if it was removed.
    pub(crate) payload: Option<Vec<u8>>,
}

/// A changed table as it was read.
pub(crate) struct LayerTable {
    /// The number of the table among those of the file below all layers.
    pub(crate) number: usize,
    pub(crate) rows: Vec<LayerRow>,
}

/// A changed row as it was read.
pub(crate) struct LayerRow {
    /// The encoded key.
    pub(crate) key: Vec<u8>,
    pub(crate) was_there: bool,
    /// The place of the object in the body of the layer; `None` if it was removed.
    pub(crate) payload: Option<Range<usize>>,
}

/// Appends the record of some tables.
pub(super) fn write(tables: &[NewTable<'_>], out: &mut Vec<u8>) {
    let mut writer = RecordWriter::new(&RecordHead::default(), false, out);
    for table in tables {
        writer.table(&head_of(table.table));
        for (row_id, row) in (1..).zip(&table.rows) {
            let key: Vec<ValueRef<'_>> = row.key.iter().map(Value::as_ref).collect();
            writer.row(&WrittenRow {
                row_id: RowId(row_id),
                key: &key,
                is_foreign: false,
                before: row.payload.as_deref(),
                // The record begins with the layered pack and ends with the base. No difference
                // from no bytes is smaller than an object, so the object is written.
                after: row.was_there.then_some(&[]),
            });
        }
    }
    writer.finish();
}

fn head_of(table: &Table) -> TableHead<'_> {
    TableHead {
        name: &table.name,
        descriptor: table.content_hash(),
        key_columns: table.primary_key.len() as u32,
        is_foreign: false,
    }
}

/// Reads the record that begins at an offset of the body. `tables` are those of the file below all
/// layers, by their names.
pub(super) fn read(
    body: &[u8],
    start: usize,
    tables: &[&Table],
) -> Result<Vec<LayerTable>, String> {
    let bytes = body.get(start..).unwrap_or_default();
    let record = ChangeRecord::decode(bytes).map_err(|error| error.to_string())?;
    if record.head != RecordHead::default() {
        return Err("its record is that of a transaction".to_owned());
    }
    let names = record.tables.iter().map(|table| table.table.name);
    if record.tables.is_empty() || !names.is_sorted_by(|a, b| a < b) {
        return Err("its tables are not in order".to_owned());
    }
    let place = |part: &[u8]| {
        let start = part.as_ptr().addr() - body.as_ptr().addr();
        start..start + part.len()
    };
    let mut read = Vec::with_capacity(record.tables.len());
    for table in &record.tables {
        // Nothing is allocated for the rows of a table that the file below does not have.
        let head = table.table;
        let number = tables.binary_search_by(|other| (*other.name).cmp(head.name));
        let number = number.ok().filter(|number| {
            let known = tables.get(*number).map(|table| head_of(table));
            known == Some(head)
        });
        let number = number.ok_or_else(|| {
            let name = head.name;
            format!("the table `{name}` is not in its base, or is described in another way there")
        })?;
        let mut rows: Vec<LayerRow> = Vec::new();
        for row in table.rows() {
            let row = row.map_err(|error| error.to_string())?;
            let is_numbered = row.row_id.0 == rows.len() as i64 + 1;
            let row = row_of(&row, place).filter(|_| is_numbered);
            let row = row.ok_or("a row of it has a form that layers do not have")?;
            if rows.last().is_some_and(|before| before.key >= row.key) {
                return Err("its keys are not in order".to_owned());
            }
            rows.push(row);
        }
        if rows.is_empty() {
            return Err("a table of it has no rows".to_owned());
        }
        read.push(LayerTable { number, rows });
    }
    Ok(read)
}

/// `None` if layers have no such row.
fn row_of(row: &RowRecord<'_>, place: impl Fn(&[u8]) -> Range<usize>) -> Option<LayerRow> {
    let (was_there, payload) = match row.change {
        Change::Inserted => (true, None),
        Change::Updated(Before::Object(payload)) => (true, Some(place(payload))),
        Change::Deleted(Some(payload)) => (false, Some(place(payload))),
        _ => return None,
    };
    (!row.is_foreign && !row.key.contains(&ValueRef::Null)).then(|| LayerRow {
        key: key::encode(row.key.iter().copied()),
        was_there,
        payload,
    })
}
