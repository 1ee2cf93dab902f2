//! Commits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dflat_engine::{Error, ErrorKind, Result};

use super::transaction::PostgresTransaction;
use crate::database::{Database, Doubt, random_bytes};
use crate::failure::{damaged, failed, is_refused, shut_down};
use crate::lineage::Record;

/// The time between two questions for the outcome of a commit.
const ASK_AGAIN: Duration = Duration::from_millis(50);

impl PostgresTransaction {
    /// Writes the records and the state, and commits, in one round trip.
    pub(super) fn commit_changes(mut self: Box<Self>) -> Result<()> {
        if self.is_lost {
            let message = "cannot commit: an earlier write has failed";
            return Err(Error::new(ErrorKind::Backend, message));
        }
        if !self.has_written {
            let ended = self.run("commit", |connection| connection.batch("COMMIT"));
            return ended;
        }
        let database = Arc::clone(&self.database);
        if self.records.is_empty() && self.sent.0 == 0 {
            // A reader learns from it that something was committed.
            self.records.push(None);
        }
        let records = std::mem::take(&mut self.records);
        let (sent, sent_bytes) = self.sent;
        let count = sent + records.len() as i64;
        let record = Record {
            id: self.state.last + count,
            engine: self.engine,
            ..self.state.record()
        };
        let mut bytes = bytes_of(&records);
        // The records that were sent are counted with those that are left.
        if !self.prune(sent_bytes + bytes)? {
            bytes += sent_bytes;
        }
        self.send_pending()?;
        let (names, last): (Vec<&str>, Vec<i64>) = self
            .tables
            .iter()
            .map(|(name, table)| (name.as_str(), table.last_row_id))
            .unzip();
        let (control, engine) = (database.control(), self.engine);
        let state = self.state;
        let connection = self.connection.as_mut().ok_or_else(shut_down)?;
        let answers = connection.query_and_batch(
            &control.commit,
            &[
                &(state.last + sent),
                &engine,
                &records,
                &names,
                &last,
                &record.id,
                &bytes,
            ],
            "COMMIT",
        );
        // The writes before have failed before the commit, if they have.
        let settled = connection.settle();
        let answers = answers.inspect_err(|_| self.is_lost = true);
        let (written, committed) = answers.map_err(|error| failed("commit", error))?;
        let error = settled.err().or_else(|| written.err());
        if let Some(error) = error.or_else(|| committed.err()) {
            self.is_lost = true;
            if is_refused(&error) {
                // The server has rolled back.
                return Err(failed("commit", error));
            }
            self.connection = None;
            outcome(&database, &self.number, (record.id, engine), error).inspect_err(|error| {
                if error.kind() == ErrorKind::InDoubt {
                    let after = state.last;
                    database.note_doubt(Doubt { engine, after });
                }
            })?;
        }
        let tables = std::mem::take(&mut self.tables);
        database.note_own(&state, record, tables);
        Ok(())
    }

    /// Sends the records so far, as a part of the transaction.
    pub(super) fn send_records(&mut self) -> Result<()> {
        let database = Arc::clone(&self.database);
        let records = std::mem::take(&mut self.records);
        let (sent, sent_bytes) = self.sent;
        let (after, engine) = (self.state.last + sent, self.engine);
        self.run("write change records", |connection| {
            let append = &database.control().append;
            connection.query(append, &[&after, &engine, &records])
        })?;
        self.sent = (sent + records.len() as i64, sent_bytes + bytes_of(&records));
        Ok(())
    }

    /// Deletes the oldest records if there are too many bytes of them. Returns whether it has
    /// counted the bytes that are left.
    fn prune(&mut self, added: i64) -> Result<bool> {
        let database = Arc::clone(&self.database);
        let max = i64::try_from(database.options().log_bytes_max).unwrap_or(i64::MAX);
        if self.state.log_bytes.saturating_add(added) <= max {
            return Ok(false);
        }
        self.run("delete old change records", |connection| {
            connection.query(&database.control().prune, &[&(max / 2)])
        })?;
        Ok(true)
    }

    /// The id of the database in change records.
    pub(super) fn find_file_id(&mut self) -> Result<u128> {
        let database = Arc::clone(&self.database);
        let chosen = random_bytes();
        self.has_written = true;
        let stored = self.run("read the id of the database", |connection| {
            let rows = connection.query(&database.control().file_id, &[&chosen.as_slice()])?;
            rows.first()
                .map(|row| row.try_get::<_, Vec<u8>>(0))
                .transpose()
        })?;
        let stored: Option<[u8; 16]> = stored.and_then(|bytes| bytes.try_into().ok());
        stored
            .map(u128::from_le_bytes)
            .ok_or_else(|| damaged("the id of the database"))
    }
}

/// The bytes of records, with what the server stores beside each.
fn bytes_of(records: &[Option<Vec<u8>>]) -> i64 {
    let bytes: usize = records.iter().flatten().map(Vec::len).sum();
    bytes as i64 + 32 * records.len() as i64
}

/// Whether the outcome of a commit may be told after this error.
const fn may_be_told_later(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Io | ErrorKind::Busy | ErrorKind::ReadOnly)
}

/// Finds out the outcome of a commit whose answer was lost.
///
/// The record of the commit, which has the connection's number, shows that the commit was made. The
/// number of the transaction shows that it was not; it does not show the contrary, because a server
/// that has taken the place of another one may have given the number to another transaction.
fn outcome(
    database: &Database,
    number: &str,
    (record, engine): (i64, i64),
    lost: tokio_postgres::Error,
) -> Result<()> {
    let began = Instant::now();
    let mut was_asked = false;
    let is_late = || began.elapsed() >= database.options().busy_timeout;
    loop {
        let asked = database.connect().and_then(|mut connection| {
            let question = &database.control().outcome;
            let rows = connection.query(question, &[&number, &record, &engine]);
            let read = rows.and_then(|rows| match rows.first() {
                Some(row) => Ok((row.try_get::<_, Option<String>>(0)?, row.try_get(1)?)),
                None => Ok((None, false)),
            });
            read.map_err(|error| failed("ask for the outcome of a commit", error))
        });
        match asked
            .as_ref()
            .map(|(status, made)| (status.as_deref(), *made))
        {
            Ok((_, true)) => return Ok(()),
            Ok((Some("aborted"), false)) => return Err(failed("commit", lost)),
            // It is still in progress.
            Ok((Some("in progress"), false)) if !is_late() => {}
            // It was made after the record was looked for, unless this is another server.
            Ok((Some("committed"), false)) if !was_asked => was_asked = true,
            // The server is away, or a replica that is not the primary yet, or has no connection to
            // give. If it refuses the question, another one has taken its place.
            Err(error) if may_be_told_later(error.kind()) && !is_late() => {}
            _ => {
                let message = "cannot tell whether a commit was made: the connection was lost, and \
                               the server does not say; read the objects before you write again";
                return Err(Error::with_source(ErrorKind::InDoubt, message, lost));
            }
        }
        std::thread::sleep(ASK_AGAIN);
    }
}
