//! The states of indexes, as a connection sees them.

use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::storage::{IndexState, IndexStates};
use dflat_model::{RowId, Table};

use crate::database::Known;
use crate::failure::failed;
use crate::layout::StoredTable;
use crate::server::Connection;

/// The states of a table's indexes. Indexes that turn out to be ready are added to `known`.
pub(crate) fn states(
    connection: &mut Connection,
    known: &mut Arc<Known>,
    table: &Table,
    stored: &StoredTable,
) -> Result<IndexStates> {
    if let Some(states) = stored.states(table, |index| known.ready.contains(&index.name)) {
        return Ok(states);
    }
    let whole = table.indexes.iter().filter_map(|index| stored.index(index));
    let whole: Vec<_> = whole.filter(|index| !index.is_partial).collect();
    let last = |relation: &str| format!("(SELECT max(rowid) FROM {relation})");
    let mut columns = vec![last(&stored.relation)];
    columns.extend(whole.iter().map(|index| last(&index.relation)));
    let query = format!("SELECT {}", columns.join(", "));
    let rows = connection.query(&query, &[]);
    let read = rows.and_then(|rows| {
        let row = rows.into_iter().next();
        let numbers = (0..columns.len()).map(|position| match &row {
            Some(row) => row.try_get::<_, Option<i64>>(position),
            None => Ok(None),
        });
        numbers.collect::<std::result::Result<Vec<_>, _>>()
    });
    let lasts = read.map_err(|error| {
        failed(
            format_args!("read the indexes of {}", table.type_name),
            error,
        )
    })?;
    // An index has an entry of every row up to its last one.
    let last_row = lasts.first().copied().flatten();
    let mut reached = whole.iter().zip(lasts.iter().skip(1));
    let mut states = IndexStates::new();
    for index in table.indexes.iter() {
        states.push(match stored.index(index) {
            None => IndexState::Missing,
            Some(stored) if stored.is_partial => {
                let to = stored.built_to.map(RowId);
                to.map_or(IndexState::Ready, IndexState::Incomplete)
            }
            Some(stored) => {
                let last = reached.next().and_then(|(_, last)| *last);
                if last >= last_row {
                    Arc::make_mut(known).ready.insert(stored.name.clone());
                    IndexState::Ready
                } else {
                    IndexState::Incomplete(RowId(last.unwrap_or(0)))
                }
            }
        });
    }
    Ok(states)
}
