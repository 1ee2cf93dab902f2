//! Empties the log beside readers and writers.

use std::thread;
use std::time::Duration;

use crate::connection::configure::integer;
use crate::ffi::{Connection, SqliteError};

/// The longest time for which upkeep holds write access while it waits for readers of the log.
pub(crate) const HOLD_MAX: Duration = Duration::from_secs(1);

/// The pause between two such times. A transaction that waits for write access looks for it every
/// 100 ms or more often.
const PAUSE: Duration = Duration::from_millis(200);

/// The times for which upkeep holds write access while it waits for readers. They add up to a
/// timeout. Between two of them is a pause, in which transactions write.
pub(crate) struct Turns {
    /// `None` after the last one.
    rest: Option<Duration>,
    is_first: bool,
}

impl Turns {
    pub(crate) const fn new(timeout: Duration) -> Self {
        Self {
            rest: Some(timeout),
            is_first: true,
        }
    }
}

impl Iterator for Turns {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let rest = self.rest?;
        if !std::mem::take(&mut self.is_first) {
            thread::sleep(PAUSE);
        }
        let hold = rest.min(HOLD_MAX);
        self.rest = Some(rest - hold).filter(|rest| !rest.is_zero());
        Some(hold)
    }
}

/// Copies the log into the file and truncates the log to no bytes. Waits up to `hold` for other
/// writers, and then as long for readers, with write access. Returns whether that was possible.
/// Afterwards the connection's busy timeout is `hold`.
pub(crate) fn truncate_log(
    connection: &mut Connection,
    hold: Duration,
) -> Result<bool, SqliteError> {
    connection.set_busy_timeout(hold);
    Ok(integer(connection, "PRAGMA wal_checkpoint(TRUNCATE)")? == 0)
}

/// As [`truncate_log`], in turn with transactions of others, up to `timeout`, which is the
/// connection's busy timeout afterwards.
pub(crate) fn empty_log(
    connection: &mut Connection,
    timeout: Duration,
) -> Result<bool, SqliteError> {
    let mut turns = Turns::new(timeout);
    let mut is_empty = false;
    while !is_empty && let Some(hold) = turns.next() {
        is_empty = truncate_log(connection, hold)?;
    }
    connection.set_busy_timeout(timeout);
    Ok(is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_as_long_as_the_timeout() {
        let check = |timeout_ms, expected: &[u64]| {
            let turns = Turns::new(Duration::from_millis(timeout_ms));
            let turns = turns.map(|hold| u64::try_from(hold.as_millis()).unwrap());
            assert_eq!(Vec::from_iter(turns), expected);
        };
        check(0, &[0]);
        check(50, &[50]);
        check(1000, &[1000]);
        check(2500, &[1000, 1000, 500]);
    }
}
