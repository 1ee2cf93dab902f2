//! Change records between two states.

use std::ops::ControlFlow;

use dflat_engine::Result;
use dflat_engine::storage::{Records, StateId};
use tokio_postgres::Row;

use crate::database::Doubt;
use crate::failure::failed;
use crate::layout::{Control, State};
use crate::server::{Connection, FETCHES};

/// The step of [`FETCHES`] by which records are fetched.
const STEP: usize = 1;

/// Visits the records after the state `since` and up to `state`, the latest first, on a connection
/// whose transaction sees this state. A record of a commit that was in doubt breaks them: the
/// engine would take the commit for one that it knows.
pub(crate) fn records(
    connection: &mut Connection,
    (control, doubt): (&Control, Option<Doubt>),
    (since, state): (StateId, &State),
    visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<Records> {
    let since = state.last_of(since);
    let Some(since) = since.filter(|since| *since >= state.pruned && *since <= state.last) else {
        return Ok(Records::Broken);
    };
    let read = read(connection, (control, doubt), (since, state.last), visit);
    connection.send("CLOSE c");
    read.map_err(|error| failed("read change records", error))
}

fn read(
    connection: &mut Connection,
    (control, doubt): (&Control, Option<Doubt>),
    (since, last): (i64, i64),
    visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> std::result::Result<Records, tokio_postgres::Error> {
    let first = connection.open_cursor("", &control.records, &[&since, &last])?;
    let mut reader = Reader {
        doubt,
        expected: last,
        visit,
    };
    let mut is_full = first.len() == FETCHES[0].0;
    let mut flow = ControlFlow::Continue(());
    for row in &first {
        flow = reader.take(row)?;
        if flow.is_break() {
            break;
        }
    }
    while flow.is_continue() && is_full {
        let (count_max, fetch) = FETCHES[STEP];
        let (mut count, mut taken) = (0, Ok(flow));
        connection.fetch_each(fetch, &mut |row| {
            count += 1;
            taken = reader.take(&row);
            *taken.as_ref().unwrap_or(&ControlFlow::Break(()))
        })?;
        flow = taken?;
        is_full = count == count_max;
    }
    Ok(match flow.is_continue() && reader.expected == since {
        true => Records::Complete,
        false => Records::Broken,
    })
}

/// Takes the rows of records, the latest first.
struct Reader<'v> {
    doubt: Option<Doubt>,
    /// The number of the next record.
    expected: i64,
    visit: &'v mut dyn FnMut(&[u8]) -> ControlFlow<()>,
}

impl Reader<'_> {
    /// Breaks at a record that cannot be followed.
    fn take(&mut self, row: &Row) -> std::result::Result<ControlFlow<()>, tokio_postgres::Error> {
        let (id, record) = (row.try_get(0)?, row.try_get::<_, Option<&[u8]>>(1)?);
        let engine: Option<&[u8]> = row.try_get(2)?;
        let engine = engine.and_then(<[u8]>::first_chunk);
        let engine = engine.map(|bytes| i64::from_be_bytes(*bytes));
        let is_doubted = |doubt: Doubt| engine.is_none_or(|engine| doubt.has(id, engine));
        // A commit without a record, or a record that is missing.
        let is_known = id == self.expected && !self.doubt.is_some_and(is_doubted);
        let Some(record) = record.filter(|_| is_known) else {
            return Ok(ControlFlow::Break(()));
        };
        self.expected -= 1;
        Ok((self.visit)(record))
    }
}
