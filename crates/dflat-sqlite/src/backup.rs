//! A copy of the file while others write to it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use dflat_engine::{Error, ErrorKind, Result};

use crate::backend::SqliteBackend;
use crate::ffi::{Access, create_private, sync_directory};
use crate::open;
use crate::readers::PlaceId;
use crate::session::{Control, Session};

/// The pages of a step.
const STEP_PAGES: i32 = 256;

/// How far work on a file has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The parts that are done: pages of a backup, pages and rows of a check.
    pub done: u64,
    /// The parts that there are, as far as that is known.
    pub total: u64,
}

impl SqliteBackend {
    /// Copies the state of this moment into a new file, private to its owner, while others read and
    /// write. `progress` is told after each 256 pages, on this thread, and may end it.
    ///
    /// The file has its name once it is whole and synced. Until then the log can't be cut back.
    ///
    /// # Errors
    /// - `InvalidArgument` if there is something of that name, or the log or journal of an earlier
    ///   file beside it.
    /// - `Cancelled` if `progress` breaks. Nothing is left then, as after any other error.
    /// - `Busy` if somebody has written meanwhile to a file that can't be shared.
    /// - Else as reading the file and writing the copy can fail.
    pub fn backup(
        &self,
        to: &Path,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<()> {
        let to = open::resolve(to)?;
        let what = || format!("cannot back up to {}", to.display());
        let taken = |by: &Path| {
            let message = format!("{}: there is a {}", what(), by.display());
            Error::new(ErrorKind::InvalidArgument, message)
        };
        if let Some(by) = in_the_way(&to) {
            return Err(taken(&by));
        }
        let part = Part::create(&to).map_err(|error| open::create_error(error, what()))?;
        let (place, session) = self.take_reader()?;
        let mut source = Source {
            backend: self,
            place,
            session,
            is_well: false,
        };
        if source
            .session
            .as_ref()
            .is_some_and(|session| session.is_outdated())
        {
            source.session = None;
            source.session = self.open_reader()?;
        }
        let is_whole = match &mut source.session {
            // Nothing was written yet: an empty file says as much.
            None => true,
            Some(session) => {
                let is_whole = self.copy(session, &part.0, &what, progress);
                session.check_untorn()?;
                is_whole?
            }
        };
        source.is_well = true;
        drop(source);
        if !is_whole {
            let message = format!("{}: it was cancelled", what());
            return Err(Error::new(ErrorKind::Cancelled, message));
        }
        if let Some(by) = in_the_way(&to) {
            return Err(taken(&by));
        }
        match part.publish(&to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(taken(&to)),
            published => published.map_err(|error| open::create_error(error, what())),
        }
    }

    fn copy(
        &self,
        source: &mut Session,
        to: &Path,
        what: &dyn Fn() -> String,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<bool> {
        let options = self.options();
        let mut target =
            open::open(to, Access::ReadWrite, options).map_err(|fault| fault.error(what()))?;
        // What fails is deleted: there is nothing to go back to. At the end it is synced.
        for pragma in ["journal_mode = OFF", "synchronous = FULL", "fullfsync = ON"] {
            target
                .execute(&format!("PRAGMA {pragma}"))
                .map_err(|fault| fault.error(what()))?;
        }
        // What it has kept may be an older state.
        source.end();
        // Order: one state is copied, and a writer does not make it start again.
        source
            .control(Control::Begin)
            .and_then(|()| source.control(Control::Touch))
            .map_err(|fault| fault.read_error(what()))?;
        source
            .connection
            .copy_into(&mut target, STEP_PAGES, |done, total| {
                progress(Progress { done, total })
            })
            .map_err(|fault| fault.error(what()))
    }
}

/// What stands where a copy is to be, or beside it, where SQLite would take it for a part of the
/// copy.
#[must_use]
pub fn in_the_way(to: &Path) -> Option<PathBuf> {
    let paths = ["", "-wal", "-journal"].map(|suffix| open::beside(to, suffix));
    // A link that leads nowhere is something, too.
    let mut paths = paths.into_iter();
    paths.find(|path| fs::symlink_metadata(path).is_ok())
}

/// A place among the readers; given back when dropped, also by a panic.
struct Source<'b> {
    backend: &'b SqliteBackend,
    place: PlaceId,
    session: Option<Box<Session>>,
    /// Whether the connection can be used again.
    is_well: bool,
}

impl Drop for Source<'_> {
    fn drop(&mut self) {
        let session = self.session.take().filter(|_| self.is_well);
        let session = session.and_then(|mut session| session.end().then_some(session));
        self.backend.return_reader(self.place, session);
    }
}

/// A file that is not whole yet; deleted when dropped.
struct Part(PathBuf);

impl Part {
    fn create(to: &Path) -> io::Result<Self> {
        let mut number = 0;
        loop {
            let mut name = OsString::from(to);
            name.push(format!("-part-{number}"));
            let path = PathBuf::from(name);
            match create_private(&path, None) {
                // Another is being made, or was when a program ended.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                created => return created.map(|_| Self(path)),
            }
        }
    }

    /// Gives it its name, if nothing else has that.
    fn publish(self, to: &Path) -> io::Result<()> {
        match fs::hard_link(&self.0, to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // Not every file system has links.
            Err(_) if fs::symlink_metadata(to).is_ok() => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Err(_) => fs::rename(&self.0, to)?,
            Ok(()) => {}
        }
        drop(self);
        to.parent().map_or(Ok(()), sync_directory)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have its name, and this one no more.
        let _ = fs::remove_file(&self.0);
    }
}
