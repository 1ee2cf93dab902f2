//! How old the state of a replica can be.

use std::time::Duration;

use dflat_engine::Result;
use dflat_engine::storage::Staleness;

use crate::database::Database;
use crate::failure::failed;

/// Whether the server is still a replica, and the milliseconds since a moment at which the state
/// was that of the primary, as far as the replica knows: since the primary sent its last message,
/// if all that was received is in the state, and otherwise since the last commit in the state. A
/// role that may not see the messages takes the last commit.
const AGE: &str = "SELECT pg_is_in_recovery(), (extract(epoch FROM clock_timestamp() - greatest(\
     (SELECT max(last_msg_send_time) FROM pg_stat_wal_receiver WHERE status = 'streaming' \
     AND pg_last_wal_replay_lsn() >= greatest(latest_end_lsn, pg_last_wal_receive_lsn())), \
     pg_last_xact_replay_timestamp())) * 1000)::bigint";

/// How old the state can be that reads see.
///
/// # Errors
/// The errors of connecting and reading.
pub(crate) fn staleness(database: &Database) -> Result<Staleness> {
    let mut connection = database.pool().take()?;
    let connection = connection.get()?;
    if !connection.is_replica() {
        return Ok(Staleness::Current);
    }
    let read = connection.query(AGE, &[]).and_then(|rows| {
        let found = rows.first();
        let found = found.map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        found.transpose()
    });
    let found: Option<(bool, Option<i64>)> =
        read.map_err(|error| failed("find out how old the state is", error))?;
    Ok(match found {
        // It has become a primary.
        Some((false, _)) => Staleness::Current,
        Some((true, Some(age))) => {
            let age = u64::try_from(age).unwrap_or_default();
            Staleness::AtMost(Duration::from_millis(age))
        }
        Some((true, None)) | None => Staleness::Unknown,
    })
}
