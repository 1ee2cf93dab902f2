//! Whether the file that was opened is still at its path, with all of its pages.

use std::fs::File;
use std::io;
use std::sync::{Arc, MutexGuard, PoisonError};

use dflat_engine::{Error, ErrorKind, Result};

use crate::connection::connections::file_length::{PAGE_BYTES_MIN, SeenLength};
use crate::connection::connections::{Connections, first_page};
use crate::connection::file_connection::FileConnection;
use crate::connection::identity::{Identity, OpenedFile};
use crate::ffi::Switch;
use crate::io::names::beside;

/// Where a check looks for the file that was opened.
#[derive(Clone, Copy)]
enum Look {
    /// At its path.
    Now,
    /// At its handle, if the path named the file a moment ago.
    Lately,
}

impl Connections {
    /// Fails if the file that was opened was deleted, replaced, or cut to less than its first page.
    /// It costs one system call. [`Self::check_whole`] also notices that other pages are missing.
    pub(crate) fn check_in_place(&self) -> Result<()> {
        self.length_in_place(self.opened().as_deref(), Look::Now)
            .map(drop)
    }

    /// The length of the file that was opened, if one was. Fails as [`Self::check_in_place`] does.
    fn length_in_place(
        &self,
        opened: Option<&OpenedFile>,
        look: Look,
    ) -> Result<Option<SeenLength>> {
        let Some(opened) = opened else {
            return Ok(None);
        };
        let longest = self.length.longest();
        let lately = match look {
            Look::Now => None,
            Look::Lately => opened.length_by_handle(),
        };
        let length = match lately {
            Some(length) => length,
            None => self.length_by_name(opened)?,
        };
        let seen = SeenLength { longest, length };
        match self.note_length(seen) {
            true => Err(self.truncated()),
            false => Ok(Some(seen)),
        }
    }

    /// Notes the length of the file. Returns whether the file has lost pages that it had.
    fn note_length(&self, seen: SeenLength) -> bool {
        // Once the file has a first page, a look at its journal costs nothing any more.
        if self.length.has_first_page() {
            return self.length.note(seen);
        }
        if seen.length < PAGE_BYTES_MIN {
            return false;
        }
        // The look may be from before a transaction was undone, so the length is read again.
        first_page::permanent_length(&self.path)
            .is_some_and(|length| self.length.note(SeenLength { length, ..seen }))
    }

    /// The length of the file that was opened, if its path still names it.
    fn length_by_name(&self, opened: &OpenedFile) -> Result<u64> {
        match Identity::and_length(&self.path) {
            Err(error) if is_absent(&error) => Err(self.gone(ErrorKind::Io, "deleted")),
            Err(error) => {
                let message = format!("cannot use {}", self.path.display());
                Err(Error::with_source(ErrorKind::Io, message, error))
            }
            Ok((there, _)) if there != opened.identity => Err(self.gone(ErrorKind::Io, "replaced")),
            Ok((_, length)) => {
                opened.note_named();
                Ok(length)
            }
        }
    }

    fn truncated(&self) -> Error {
        self.gone(ErrorKind::Corrupt, "truncated")
    }

    fn gone(&self, kind: ErrorKind, event: &str) -> Error {
        // A read that goes on in a kept transaction does not check whether the file is still there,
        // and the transaction may have begun after the event.
        self.pool.readers().outdate_kept();
        let path = self.path.display();
        let message = format!("cannot use {path}: the file was {event} since it was opened");
        Error::new(kind, message)
    }

    /// As [`Self::check_in_place`], and fails if the file was cut to some of its pages. The
    /// connection shows the state of the log.
    pub(crate) fn check_whole(&self, connection: &FileConnection) -> Result<()> {
        self.check_pages(connection, Look::Now)
    }

    /// As [`Self::check_whole`], for a read: a file that was moved away may be read for some
    /// milliseconds more. Each check but the first after these is cheap.
    pub(crate) fn check_read(&self, connection: &FileConnection) -> Result<()> {
        self.check_pages(connection, Look::Lately)
    }

    fn check_pages(&self, connection: &FileConnection, look: Look) -> Result<()> {
        // Order: the log before the length. A checkpoint that runs meanwhile makes the file longer,
        // or shortens it to its pages as of the last commit.
        let mut log = connection.log_state();
        let shared = match &connection.file {
            Some(_) => None,
            None => self.opened(),
        };
        let opened = connection.file.as_deref().or(shared.as_deref());
        while let (Some(seen), Some(state)) = (self.length_in_place(opened, look)?, log) {
            let open_log = || File::open(beside(&self.path, "-wal"));
            if !self.length.lacks_pages(seen, state, open_log) {
                break;
            }
            log = connection.log_state();
            // Otherwise transactions or checkpoints have changed the file meanwhile.
            if log == Some(state) {
                self.length.note_lost_pages();
                return Err(self.truncated());
            }
        }
        Ok(())
    }

    /// As [`Self::check_whole`], for a connection that writes. If it fails, this connection does
    /// not copy the log into the file when it is closed.
    pub(crate) fn check_writer(&self, connection: &mut FileConnection) -> Result<()> {
        let whole = self.check_whole(connection);
        if whole.is_err() {
            connection.raw.set(Switch::CheckpointAtClose, false);
        }
        whole
    }

    /// The file that was opened, if one was.
    pub(super) fn opened(&self) -> Option<Arc<OpenedFile>> {
        self.lock_opened().clone()
    }

    fn lock_opened(&self) -> MutexGuard<'_, Option<Arc<OpenedFile>>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file that a connection has just opened. The first connection sets the file and its
    /// length.
    pub(super) fn note_opened(&self) -> Option<Arc<OpenedFile>> {
        let mut noted = self.lock_opened();
        if noted.is_none()
            && let (longest, Some((opened, length))) =
                (self.length.longest(), OpenedFile::at(&self.path))
        {
            *noted = Some(Arc::new(opened));
            self.note_length(SeenLength { longest, length });
        }
        noted.clone()
    }

    /// Forgets the file: the next connection sets it anew. No connection is open.
    pub(super) fn forget_opened(&self) {
        *self.lock_opened() = None;
        self.length.reset();
    }
}

/// Whether a path names no file, by the error of looking for one.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
