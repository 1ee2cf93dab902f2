//! The state that a connection reads.

use dflat_engine::{Error, ErrorKind, Result};

use crate::connection::commits::FileHeader;
use crate::connection::file_connection::FileConnection;
use crate::connection::file_connection::KeptRead;
use crate::connection::polled_file::{FileStamps, Sharing};
use crate::ffi::SqliteError;
use crate::layout::control::ControlStatement;

impl FileConnection {
    /// Whether there may have been a foreign write that this connection does not see.
    pub(crate) fn is_outdated(&self) -> bool {
        let polled = self.polled.as_ref();
        polled.is_some_and(|polled| polled.look != FileStamps::of(&self.path))
    }

    /// Fails if the reads of the current transaction may have seen several states.
    pub(crate) fn check_untorn(&self) -> Result<()> {
        if self.is_unguarded() && self.is_outdated() {
            let message = "another process writes to the file, which can't be shared read-only";
            return Err(Error::new(ErrorKind::Busy, message));
        }
        Ok(())
    }

    /// Whether neither locks nor a log protect its reads from foreign writes.
    pub(crate) fn is_unguarded(&self) -> bool {
        let polled = self.polled.as_ref();
        polled.is_some_and(|polled| polled.sharing != Sharing::Locked)
    }

    pub(crate) fn is_immutable(&self) -> bool {
        let polled = self.polled.as_ref();
        polled.is_some_and(|polled| polled.sharing == Sharing::Immutable)
    }

    /// Reads something, to find out whether the file can be read.
    pub(crate) fn touch(&mut self) -> Result<(), SqliteError> {
        self.control(ControlStatement::Touch)?;
        self.note_read();
        Ok(())
    }

    /// Notes a read, which fixes the state of an open transaction.
    pub(crate) fn note_read(&mut self) {
        if let Some(kept) = &mut self.kept_read {
            kept.has_read = true;
        }
    }

    /// Makes the next read see the latest state: by the kept transaction, if nothing was committed
    /// since it began, or else by a new one, which is kept then. Without a log, no transaction is
    /// kept, because it would block writers.
    pub(crate) fn move_to_latest(&mut self, epoch: u32) -> Result<(), SqliteError> {
        if self.kept_read.is_some_and(|kept| kept.epoch == epoch) && self.is_current() {
            return Ok(());
        }
        if !self.end() {
            return Err(SqliteError::misuse("a transaction can't be ended"));
        }
        if !self.has_log {
            if self.is_immutable() || !FileHeader::read(&self.raw).unwrap_or_default().has_log {
                return Ok(());
            }
            // The log is opened by the first read.
            self.look_for_log()?;
        }
        // Order: the stamp is read before the transaction begins. If there is a commit in between,
        // the transaction sees it, but the next read takes the commit for a new one and begins
        // another transaction, which does no harm.
        if let Some(stamp) = self.raw.log_stamp() {
            self.control(ControlStatement::Begin)?;
            self.kept_read = Some(KeptRead {
                stamp,
                epoch,
                has_read: false,
            });
        }
        Ok(())
    }

    /// Fixes the state that is read: the current state, unless an open transaction has fixed its
    /// state already.
    pub(crate) fn pin(&mut self) -> Result<(), SqliteError> {
        if self.has_read() {
            return Ok(());
        }
        if self.raw.is_autocommit() {
            self.control(ControlStatement::Begin)?;
        }
        self.touch()
    }

    /// Whether a read transaction is kept, and nothing was committed since it began.
    pub(crate) fn is_current(&mut self) -> bool {
        self.kept_read
            .is_some_and(|kept| self.raw.log_stamp() == Some(kept.stamp))
    }

    /// Whether a read transaction is kept that has read, so that it sees one state.
    pub(crate) fn has_read(&self) -> bool {
        self.kept_read.is_some_and(|kept| kept.has_read)
    }

    /// Whether a read transaction is kept.
    pub(crate) const fn has_kept_read(&self) -> bool {
        self.kept_read.is_some()
    }
}
