//! The change record of foreign rows that were put into the indexes.

use std::time::{SystemTime, UNIX_EPOCH};

use dflat_model::record::{RecordHead, RecordWriter, TableHead, WrittenRow};
use dflat_model::{RowId, Table};

/// The milliseconds since 1970, as change records have them.
pub(in super::super) fn milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}

/// Appends a record by an engine that lists foreign rows, which the commit has put into the indexes
/// and not changed: a process that did not see them marked as foreign learns of them from this
/// record.
pub(in super::super) fn write_mended_record<'m>(
    record_engine: u64,
    mended: impl IntoIterator<Item = (&'m Table, &'m [RowId])>,
    bytes: &mut Vec<u8>,
) {
    let head = RecordHead {
        engine: record_engine,
        time: milliseconds(),
        ..RecordHead::default()
    };
    let mut record = RecordWriter::new(&head, false, bytes);
    for (table, rows) in mended {
        record.table(&TableHead {
            name: &table.name,
            descriptor: table.content_hash(),
            key_columns: u32::try_from(table.primary_key.len()).unwrap_or(u32::MAX),
            is_foreign: false,
        });
        for row_id in rows {
            record.row(&WrittenRow {
                row_id: *row_id,
                key: &[],
                is_foreign: true,
                before: None,
                after: None,
            });
        }
    }
    record.finish();
}
