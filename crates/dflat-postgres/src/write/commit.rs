//! Commits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dflat_engine::{Error, ErrorKind, Result};

use super::transaction::PostgresTransaction;
use crate::database::{Database, random_bytes};
use crate::failure::{damaged, failed, is_disconnected, shut_down};

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
        let (control, engine) = (database.control(), database.engine());
        let mut records: Vec<Option<Vec<u8>>> = std::mem::take(&mut self.records)
            .into_iter()
            .map(Some)
            .collect();
        if records.is_empty() {
            // A reader learns from it that something was committed.
            records.push(None);
        }
        let count = records.len() as i64;
        let bytes: usize = records.iter().flatten().map(Vec::len).sum();
        let bytes = bytes as i64 + 32 * count;
        self.prune(bytes)?;
        let (names, last): (Vec<&str>, Vec<i64>) = self
            .tables
            .iter()
            .map(|(name, table)| (name.as_str(), table.last_row_id))
            .unzip();
        let connection = self.connection.as_mut().ok_or_else(shut_down)?;
        let answers = connection.query_and_batch(
            &control.commit,
            &[
                &self.state.last,
                &engine,
                &records,
                &names,
                &last,
                &count,
                &bytes,
            ],
            "COMMIT",
        );
        let (written, committed) = answers.map_err(|error| failed("commit", error))?;
        if let Err(error) = written
            && !is_disconnected(&error)
        {
            // The server has rolled back.
            self.is_lost = true;
            return Err(failed("commit", error));
        }
        if let Err(error) = committed {
            if !is_disconnected(&error) {
                return Err(failed("commit", error));
            }
            self.connection = None;
            outcome(&database, &self.number, error)?;
        }
        let tables = std::mem::take(&mut self.tables);
        database.note_own(self.state.last + count, tables);
        Ok(())
    }

    /// Deletes the oldest records if there are too many bytes of them.
    fn prune(&mut self, added: i64) -> Result<()> {
        let database = Arc::clone(&self.database);
        let max = i64::try_from(database.options().log_bytes_max).unwrap_or(i64::MAX);
        if self.state.log_bytes.saturating_add(added) <= max {
            return Ok(());
        }
        self.run("delete old change records", |connection| {
            connection.query(&database.control().prune, &[&(max / 2)])
        })?;
        Ok(())
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

/// Finds out the outcome of a commit whose answer was lost, by the number of its transaction.
fn outcome(database: &Database, number: &str, lost: tokio_postgres::Error) -> Result<()> {
    let until = Instant::now() + database.options().busy_timeout;
    loop {
        let asked = database.connect_to_write().and_then(|mut connection| {
            let rows = connection.query("SELECT pg_xact_status($1::text::xid8)", &[&number]);
            let status = rows.and_then(|rows| match rows.first() {
                Some(row) => row.try_get::<_, Option<String>>(0),
                None => Ok(None),
            });
            status.map_err(|error| failed("ask for the outcome of a commit", error))
        });
        match asked.as_ref().map(Option::as_deref) {
            Ok(Some("committed")) => return Ok(()),
            Ok(Some("aborted")) => return Err(failed("commit", lost)),
            // It is still in progress, or the server is away.
            Ok(Some(_)) | Err(_) if Instant::now() < until => {}
            _ => {
                let message = "cannot tell whether a commit was made: the connection was lost, and \
                               the server does not say; read the objects before you write again";
                return Err(Error::with_source(ErrorKind::InDoubt, message, lost));
            }
        }
        std::thread::sleep(ASK_AGAIN);
    }
}
