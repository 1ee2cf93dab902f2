//! Change records between two states.

use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{Records, StateId};

use crate::failure::failed;
use crate::layout::{Control, State};
use crate::server::{Connection, FETCHES};

/// The step of [`FETCHES`] by which records are fetched.
const STEP: usize = 1;

/// Visits the records after the state `since` and up to `state`, the latest first, on a connection
/// whose transaction sees this state.
pub(crate) fn records(
    connection: &mut Connection,
    control: &Control,
    (since, state): (StateId, &State),
    visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<Records> {
    let since = state.last_of(since);
    let Some(since) = since.filter(|since| *since >= state.pruned && *since <= state.last) else {
        return Ok(Records::Broken);
    };
    let read = read(connection, control, (since, state.last), visit);
    connection.send("CLOSE c");
    read.map_err(|error| failed("read change records", error))
}

fn read(
    connection: &mut Connection,
    control: &Control,
    (since, last): (i64, i64),
    visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> std::result::Result<Records, tokio_postgres::Error> {
    let mut rows = connection.open_cursor("", &control.records, &[&since, &last])?;
    let mut expected = last;
    let mut count_max = FETCHES[0].0;
    loop {
        for row in &rows {
            let record = row.try_get::<_, Option<&[u8]>>(1)?;
            // A commit without a record, or a record that is missing.
            let is_next = row.try_get::<_, i64>(0)? == expected;
            let Some(record) = record.filter(|_| is_next) else {
                return Ok(Records::Broken);
            };
            if visit(record).is_break() {
                return Ok(Records::Broken);
            }
            expected -= 1;
        }
        if rows.len() < count_max {
            break;
        }
        count_max = FETCHES[STEP].0;
        rows = connection.fetch(FETCHES[STEP].1)?;
    }
    Ok(match expected == since {
        true => Records::Complete,
        false => Records::Broken,
    })
}
