//! Copies the file while transactions write to it.

mod partial_database;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use dflat_engine::{Error, ErrorKind, Result};

use crate::connection::configure::{create_error, open};
use crate::connection::connections::Connections;
use crate::connection::file_connection::FileConnection;
use crate::connection::readers::ShardId;
use crate::ffi::{Access, Connection, SqliteError, sync_directory};
use crate::io::names::{self, LONGEST_SUFFIX, PartialName, beside, check_length, resolve};
use crate::layout::control::ControlStatement;
use crate::options::SqliteOptions;
use crate::upkeep::sync_ahead::sync_ahead;
pub use partial_database::PartialDatabase;
use partial_database::remove_beside;

/// The pages of a step, 1 MiB for pages of 4 KiB. Between two steps the backup reports its
/// progress, and can be cancelled.
const STEP_PAGES: i32 = 256;

/// The pages of a copy after which the copy is synced, 16 MiB for pages of 4 KiB: the device writes
/// while the rest is copied, and the last sync has little left to do.
const SYNC_PAGES: u64 = 4096;

/// The progress of a backup or check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The parts that are done: pages of a backup, rows of a check.
    pub done: u64,
    /// The number of parts, as far as it is known.
    pub total: u64,
}

/// Copies the state of this moment into a new file, private to its owner.
pub(crate) fn backup(
    connections: &Connections,
    to: &Path,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<()> {
    let to = resolve(to)?;
    let what = || format!("cannot back up to {}", to.display());
    refuse_obstacle(&to, what)?;
    remove_stale_parts(connections.options(), &to);
    let mut part = create_part(connections.options(), &to)?;
    let (place, connection) = connections.take_reader()?;
    let mut source = Source {
        connections,
        place,
        connection,
        is_well: false,
    };
    if source
        .connection
        .as_ref()
        .is_some_and(|connection| connection.is_outdated())
    {
        source.connection = None;
        source.connection = connections.open_reader()?;
    }
    let is_whole = match &mut source.connection {
        // The workspace has no file yet, so the copy stays an empty file.
        None => true,
        Some(connection) => {
            let is_whole = part.fill(connection, &what, progress);
            connection.check_untorn()?;
            connections.check_whole(connection)?;
            is_whole?
        }
    };
    source.is_well = true;
    drop(source);
    if !is_whole {
        let message = format!("{}: the backup was cancelled", what());
        return Err(Error::new(ErrorKind::Cancelled, message));
    }
    refuse_obstacle(&to, what)?;
    named(part.publish(&to), &to, what)
}

/// Fails if no new database may be made at `to`.
fn refuse_obstacle(to: &Path, what: impl FnOnce() -> String) -> Result<()> {
    obstacle(to).map_or(Ok(()), |obstacle| Err(refused(what, &obstacle)))
}

fn refused(what: impl FnOnce() -> String, obstacle: &str) -> Error {
    let message = format!("{}: {obstacle}", what());
    Error::new(ErrorKind::InvalidArgument, message)
}

/// The outcome of giving a file its final name.
fn named(published: io::Result<()>, to: &Path, what: impl FnOnce() -> String) -> Result<()> {
    match published {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(refused(what, &exists_already(to)))
        }
        published => published.map_err(|error| create_error(error, what())),
    }
}

/// Creates a file for the copy, locked so that no other backup takes it for a stale one.
fn create_part(options: &SqliteOptions, to: &Path) -> Result<PartialCopy> {
    let what = || format!("cannot back up to {}", to.display());
    loop {
        let name = create_name(to, what)?;
        let part = lock_part(options, name).map_err(|error| error.into_error(what()))?;
        if let Some(part) = part {
            return Ok(part);
        }
    }
}

/// Creates an empty file under the name of a partial copy.
fn create_name(to: &Path, what: impl Fn() -> String) -> Result<PartialName> {
    check_length(to, PartialName::SUFFIX_BYTES + LONGEST_SUFFIX.len())
        .map_err(|error| error.context(what()))?;
    PartialName::create(to).map_err(|error| create_error(error, what()))
}

/// Locks a file that was created for a copy; `None` if another backup has deleted it as stale.
fn lock_part(
    options: &SqliteOptions,
    name: PartialName,
) -> Result<Option<PartialCopy>, SqliteError> {
    let opened = open(name.path(), Access::ReadWrite, options);
    let locked = opened.and_then(|mut connection| {
        lock(&mut connection)?;
        Ok(connection)
    });
    match locked {
        // No other backup creates a file of this name, so the file is this one.
        Ok(connection) if name.path().exists() => {
            let file = OpenOptions::new().write(true).open(name.path()).ok();
            Ok(Some(PartialCopy {
                connection,
                file,
                name,
            }))
        }
        Err(error) if name.path().exists() && !error.is_busy() => Err(error),
        _ => Ok(None),
    }
}

/// Deletes the partial copies that killed programs left at the same path, with the files beside
/// them. If that fails, the next backup or salvage tries again.
fn remove_stale_parts(options: &SqliteOptions, to: &Path) {
    let entries = to
        .parent()
        .and_then(|directory| fs::read_dir(directory).ok());
    for entry in entries.into_iter().flatten().flatten() {
        let path = entry.path();
        let is_part = names::place_of(&path).is_some_and(|place| place == to);
        if !is_part || !entry.file_type().is_ok_and(|t| t.is_file()) {
            continue;
        }
        let opened = open(&path, Access::ReadWrite, options);
        // Order: deleted while it is locked, so that no other backup begins to use it.
        if let Ok(mut connection) = opened
            && connection.lock_file().is_ok_and(|locked| locked)
        {
            remove_beside(&path);
            let _ = fs::remove_file(path);
        }
    }
}

/// Locks the file, which is empty, for as long as the connection is open, and turns its journal
/// off: a copy that fails is deleted. SQLite syncs the file at the end.
fn lock(connection: &mut Connection) -> Result<(), SqliteError> {
    let settings = [
        "PRAGMA locking_mode = EXCLUSIVE",
        "PRAGMA journal_mode = OFF",
        "PRAGMA synchronous = FULL",
        "PRAGMA fullfsync = ON",
        "BEGIN EXCLUSIVE",
        "COMMIT",
    ];
    settings.iter().try_for_each(|sql| connection.execute(sql))
}

fn copy(
    source: &mut FileConnection,
    target: &mut Connection,
    what: &dyn Fn() -> String,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<bool> {
    // A kept transaction may see an older state.
    source.end();
    // Order: in a transaction, one state is copied, and commits do not restart the copy.
    source
        .control(ControlStatement::Begin)
        .and_then(|()| source.control(ControlStatement::Touch))
        .map_err(|error| error.into_read_error(what()))?;
    source
        .raw
        .copy_into(target, STEP_PAGES, |done, total| {
            progress(Progress { done, total })
        })
        .map_err(|error| error.into_error(what()))
}

/// Why no new database may be made at `to`; `None` if one may. The text is the end of a message.
#[must_use]
pub fn obstacle(to: &Path) -> Option<String> {
    if let Some(by) = in_the_way(to) {
        return Some(exists_already(&by));
    }
    // SQLite and the library delete such files, or take them for a part of that database.
    let database = names::database_beside(to)?;
    let database = database.display();
    Some(format!(
        "a file of this name belongs to the database {database}; choose another name"
    ))
}

fn exists_already(path: &Path) -> String {
    format!("{} exists already", path.display())
}

/// The existing file that prevents a copy: a file of the same name, or a log or journal beside it,
/// which SQLite would take for a part of the copy.
fn in_the_way(to: &Path) -> Option<PathBuf> {
    let paths = ["", "-wal", "-journal"].map(|suffix| beside(to, suffix));
    // A link without a target prevents a copy too.
    let mut paths = paths.into_iter();
    paths.find(|path| fs::symlink_metadata(path).is_ok())
}

/// A reader and its connection; given back when dropped, also by a panic.
struct Source<'b> {
    connections: &'b Connections,
    place: ShardId,
    connection: Option<Box<FileConnection>>,
    /// Whether the connection can be used again.
    is_well: bool,
}

impl Drop for Source<'_> {
    fn drop(&mut self) {
        let connection = self.connection.take().filter(|_| self.is_well);
        let connection =
            connection.and_then(|mut connection| connection.end().then_some(connection));
        self.connections.return_reader(self.place, connection);
    }
}

/// A copy that is not complete yet; its file is deleted when it is dropped.
struct PartialCopy {
    // Order: closed before its name is deleted, as some systems require. The connection first: its
    // locks end when any handle of the file is closed.
    connection: Connection,
    /// Used to sync the file while it is written; `None` if it can't be opened again.
    file: Option<File>,
    name: PartialName,
}

impl PartialCopy {
    /// Copies a database into the file. Returns whether the copy is complete.
    fn fill(
        &mut self,
        source: &mut FileConnection,
        what: &dyn Fn() -> String,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<bool> {
        let Some(file) = &self.file else {
            return copy(source, &mut self.connection, what, progress);
        };
        let synced = sync_ahead(file, |ask| {
            let mut asked_at = 0;
            copy(source, &mut self.connection, what, &mut |current| {
                if current.done.saturating_sub(asked_at) >= SYNC_PAGES {
                    asked_at = current.done;
                    ask();
                }
                progress(current)
            })
        });
        synced.map_err(|error| create_error(error, what()))?
    }

    /// Gives the copy its final name, unless a file has that name.
    fn publish(self, to: &Path) -> io::Result<()> {
        // Order: closed before its name is deleted.
        let (connection, file) = (self.connection, self.file);
        publish(&self.name, to, || drop((connection, file)))
    }
}

/// Gives a file its final name, unless a file has that name. `close` ends its locks. The caller
/// drops the `name` afterwards.
fn publish(name: &PartialName, to: &Path, close: impl FnOnce()) -> io::Result<()> {
    let path = name.path();
    // Order: while it is locked, so that no other backup deletes it.
    match fs::hard_link(path, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        // Not every file system has links.
        Err(_) if fs::symlink_metadata(to).is_ok() => {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Err(_) => {
            close();
            fs::rename(path, to)?;
        }
        Ok(()) => {
            close();
            // Order: before the directory is synced.
            let _ = fs::remove_file(path);
        }
    }
    to.parent().map_or(Ok(()), sync_directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Promise: durability#D50
    /// One backup has created its part, and has not locked it, when another to the same place takes
    /// it for one that was left.
    #[test]
    fn partial_file_of_another_backup_is_not_mistaken_for_a_deleted_one() {
        let directory = tempfile::tempdir().unwrap();
        let to = fs::canonicalize(directory.path()).unwrap().join("copy.db");
        let options = SqliteOptions::default();
        let first = PartialName::create(&to).unwrap();
        remove_stale_parts(&options, &to);
        assert!(!first.path().exists());
        let second = create_part(&options, &to).unwrap();
        assert!(lock_part(&options, first).unwrap().is_none());
        assert!(second.name.path().exists(), "it is not the first one's");
        remove_stale_parts(&options, &to);
        assert!(second.name.path().exists(), "it is being written");
        second.publish(&to).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
