//! Look-ups of many rows by their keys, in one round trip for many of them.

use std::ops::ControlFlow;

use dflat_engine::storage::Row as LentRow;
use dflat_model::{RowId, Table, ValueRef};

use super::query::rows_by_keys;
use super::scan::ScanFailure;
use crate::failure::failed;
use crate::layout::{StoredKey, StoredTable};
use crate::server::Connection;

/// The most keys of one query.
const KEYS_MAX: usize = 1024;

type Rows = Result<Vec<(usize, tokio_postgres::Row)>, tokio_postgres::Error>;

/// Calls `visit` with the row of each of these keys, on a connection whose transaction stays open.
pub(crate) fn find_many(
    connection: &mut Connection,
    (table, stored): (&Table, &StoredTable),
    keys: &[&[ValueRef<'_>]],
    visit: &mut dyn FnMut(usize, LentRow<'_>) -> ControlFlow<()>,
) -> Result<(), ScanFailure> {
    let query = rows_by_keys(stored);
    let failure = |error: tokio_postgres::Error| {
        let is_removed = crate::failure::is_removed_table(&error);
        ScanFailure {
            error: failed(format_args!("read {}", table.type_name), error),
            may_retry: false,
            is_removed,
            ends_transaction: true,
        }
    };
    for (chunk, keys) in keys.chunks(KEYS_MAX).enumerate() {
        let rows = rows(connection, &query, keys).map_err(failure)?;
        for (position, row) in rows {
            let lent = || -> Result<_, tokio_postgres::Error> {
                Ok((RowId(row.try_get(0)?), row.try_get::<_, &[u8]>(1)?))
            };
            let (row_id, payload) = lent().map_err(failure)?;
            let row = LentRow {
                row_id,
                payload,
                entry: None,
            };
            if visit(chunk * KEYS_MAX + position, row).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The rows of some keys, with the positions of the keys, in their order.
fn rows(connection: &mut Connection, query: &str, keys: &[&[ValueRef<'_>]]) -> Rows {
    let (mut bytes, mut ties, mut positions) = (Vec::new(), Vec::new(), Vec::new());
    for (position, key) in keys.iter().enumerate() {
        let key = StoredKey::new(key);
        if key.has_null() || key.bytes().is_empty() {
            continue;
        }
        positions.push(position);
        bytes.push(key.key().to_vec());
        ties.push(key.tie(RowId(0)));
    }
    let rows = connection.query(query, &[&bytes, &ties])?.into_iter();
    let rows = rows.map(|row| {
        let number = usize::try_from(row.try_get::<_, i64>(3)?).unwrap_or(0);
        let position = number.checked_sub(1).and_then(|at| positions.get(at));
        Ok((position.copied().unwrap_or(usize::MAX), row))
    });
    let mut rows = rows.collect::<Rows>()?;
    rows.sort_by_key(|(position, _)| *position);
    Ok(rows)
}
