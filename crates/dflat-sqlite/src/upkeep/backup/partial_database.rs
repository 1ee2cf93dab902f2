//! A new database that gets its name when it is whole.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use dflat_engine::Result;

use crate::io::names::{BESIDE, PartialName, beside, resolve};
use crate::options::SqliteOptions;
use crate::upkeep::backup::{create_name, named, publish, refuse_obstacle, remove_stale_parts};

/// A new database under the name of a partial copy, such as a salvage writes. It is deleted when
/// this is dropped, with the files beside it, unless it was published. If the program is killed,
/// the next backup or salvage to the same path deletes it.
pub struct PartialDatabase {
    name: PartialName,
    to: PathBuf,
    /// The work of which it is the result, as the beginning of a message.
    what: String,
}

impl PartialDatabase {
    /// Creates a file for a database that gets the path `to`. `verb` begins the messages of errors,
    /// as in `cannot salvage into`.
    ///
    /// # Errors
    /// - `InvalidArgument` if a file of that name exists, or the log or journal of an earlier file
    ///   beside it, or if a file of this name would belong to another database.
    /// - Otherwise the errors of creating a file.
    pub fn create(verb: &str, to: &Path) -> Result<Self> {
        let to = resolve(to)?;
        let what = format!("{verb} {}", to.display());
        refuse_obstacle(&to, || what.clone())?;
        remove_stale_parts(&SqliteOptions::default(), &to);
        let name = create_name(&to, || what.clone())?;
        Ok(Self { name, to, what })
    }

    /// The path of the unfinished database. While a connection to it is open that has written, as
    /// that of an idle writer is, no other process takes the file for one that was left.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.name.path()
    }

    /// Syncs the database and gives it its name. The caller has closed the database, so that no log
    /// is left beside the file.
    ///
    /// # Errors
    /// `InvalidArgument` if a file of that name was made meanwhile; otherwise the errors of syncing
    /// and renaming.
    pub fn publish(mut self) -> Result<()> {
        let what = std::mem::take(&mut self.what);
        refuse_obstacle(&self.to, || what.clone())?;
        let synced = File::options().write(true).open(self.name.path());
        let synced = synced.and_then(|file| file.sync_all());
        let published = synced.and_then(|()| publish(&self.name, &self.to, || ()));
        named(published, &self.to, || what)
    }
}

impl Drop for PartialDatabase {
    fn drop(&mut self) {
        // The name itself is deleted last.
        remove_beside(self.name.path());
    }
}

/// Deletes the files beside a partial database.
pub(super) fn remove_beside(path: &Path) {
    for suffix in BESIDE {
        let _ = fs::remove_file(beside(path, suffix));
    }
}
