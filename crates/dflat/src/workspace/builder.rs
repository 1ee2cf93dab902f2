//! Opening a workspace with options.

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use dflat_engine::transaction::Concurrency;
pub use dflat_sqlite::{FileProtection, Progress, Reclaim};

use dflat_workspace::FileOptions;

use crate::{Durability, Result, Workspace};

/// Options of a workspace on a file; [`Workspace::builder`] makes one with the defaults.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use dflat::{Durability, Workspace};
/// # fn main() -> dflat::Result<()> {
/// # let directory = tempfile::tempdir().expect("a directory");
/// # let path = directory.path().join("posts.db");
/// let workspace = Workspace::builder(path)
///     .durability(Durability::Full)
///     .busy_timeout(Duration::from_secs(5))
///     .open()?;
/// # workspace.shutdown()
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `open` is called"]
pub struct WorkspaceBuilder {
    path: PathBuf,
    pub(crate) options: FileOptions,
    /// The types whose changes are to be kept.
    #[cfg(feature = "history")]
    pub(crate) versioned: Vec<crate::Table>,
}

impl WorkspaceBuilder {
    /// The events that a commit survives, unless its transaction chooses otherwise with
    /// [`TransactionContext::set_durability`](crate::TransactionContext::set_durability). Defaults
    /// to [`Durability::Normal`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.options.durability(durability);
        self
    }

    /// Whether transactions of disjoint types run at the same time. Defaults to
    /// [`Concurrency::MultiWriter`].
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.options.concurrency(concurrency);
        self
    }

    /// How long to wait while another process has the file locked. Defaults to 30 s.
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.options.busy_timeout(timeout);
        self
    }

    /// The most threads that run transactions, at least 1. Defaults to 64. Transactions of disjoint
    /// types that wait for one another need a thread each.
    pub fn threads_max(mut self, threads: usize) -> Self {
        self.options.threads_max(threads);
        self
    }

    /// The approximate number of reading connections that stay open between reads, at least 1.
    /// Defaults to 64. Any number of reads may run at the same time: more connections are opened
    /// then, and closed afterwards. Each held [`Snapshot`](crate::Snapshot) has a connection of its
    /// own, and so has each transaction that has read and not yet changed anything.
    pub fn readers_max(mut self, readers: usize) -> Self {
        self.options.readers_max(readers);
        self
    }

    /// The number of bytes of the file's pages that each connection keeps in memory, at most.
    /// Defaults to 16 MiB; a number below 64 KiB counts as 64 KiB.
    ///
    /// There is one connection for writing, and one for each read that runs at the same time as
    /// others, of which [`readers_max`](Self::readers_max) stay open. A connection takes the
    /// memory as it reads pages, and keeps it. A read that is repeated takes pages from memory,
    /// rather than from the operating system, if all pages of the read fit, and if no other
    /// connection has committed since.
    pub fn page_cache_bytes(mut self, bytes: u64) -> Self {
        self.options.page_cache_bytes(bytes);
        self
    }

    /// The approximate number of keys of a namespace that the [`Dictionary`](crate::Dictionary)
    /// keeps in memory, besides those that are not written yet. Defaults to no bound.
    pub fn dictionary_keys_max(mut self, keys: usize) -> Self {
        self.options.dictionary_keys_max(keys);
        self
    }

    /// The largest number of bytes of change records that this process reads in order to deliver
    /// the commits of other processes one by one. If they are more, everything that is subscribed
    /// to is read again, once. Defaults to 8 MiB. Records without rows of subscribed types do not
    /// count.
    pub fn follow_bytes_max(mut self, bytes: usize) -> Self {
        self.options.follow_bytes_max(bytes);
        self
    }

    /// How long the write-ahead log may get, in bytes, before a transaction waits for a checkpoint;
    /// at least 64 KiB. Defaults to 16 MiB. Checkpoints copy a quarter of the log at a time into
    /// the file, in the background. If transactions write faster than the device, and the log has
    /// grown by half of this length since it exceeded this length, the next transaction waits
    /// before it begins, for at most five seconds. The log also keeps the writes of a whole commit
    /// group and all states that are still read, and can be longer for that;
    /// [`Stats`](crate::Stats) report it.
    pub fn log_bytes_max(mut self, bytes: u64) -> Self {
        self.options.log_bytes_max(bytes);
        self
    }

    /// Whether the file is only read: nothing is written to it or beside it, and calls that write
    /// fail with [`ReadOnly`](crate::ErrorKind::ReadOnly). Defaults to no; a file on a medium that
    /// can't be written is read all the same.
    ///
    /// All reads work, with an older or newer schema, and with a log or journal beside the file,
    /// except after the crash of a program that used the file without a write-ahead log: rolling
    /// back its transaction needs writing. Commits of other processes are seen. If another process
    /// begins to write to a file that no process was writing to, a [`Snapshot`](crate::Snapshot)
    /// that was taken before fails with [`Busy`](crate::ErrorKind::Busy).
    ///
    /// # Cost
    /// The first read of a file that another process has just closed waits until a further change
    /// would show in the file's time: up to 20 ms, or 2 s if the file system keeps whole seconds.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::{ErrorKind, Workspace};
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("posts.db");
    /// let missing = Workspace::builder(&path).read_only(true).open();
    /// assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
    /// let workspace = Workspace::builder(path).read_only(true).allow_missing(true).open()?;
    /// assert!(workspace.fetch::<Post>().all()?.is_empty());
    /// let created = workspace.perform_changes([Post::TABLE], |tx| {
    ///     tx.submit(PostChangeRequest::creation(PostData::default()))
    /// });
    /// assert_eq!(created.wait().unwrap_err().kind(), ErrorKind::ReadOnly);
    /// # Ok(())
    /// # }
    /// ```
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.options.read_only(read_only);
        self
    }

    /// Whether a file that is opened for [reading only](Self::read_only) may be missing. If so,
    /// reads find no object until another process creates the file. Defaults to no: opening fails
    /// with [`NotFound`](crate::ErrorKind::NotFound). Without `read_only` the option does nothing,
    /// because the first change creates the file.
    pub fn allow_missing(mut self, allow: bool) -> Self {
        self.options.allow_missing(allow);
        self
    }

    /// When unused space is given back to the file system. Defaults to [`Reclaim::default`]: in
    /// steps of 64 pages, when more than 20 per cent of the file's pages are unused and nothing was
    /// written for a second.
    pub fn reclaim(mut self, reclaim: Reclaim) -> Self {
        self.options.reclaim(reclaim);
        self
    }

    /// How the files that are created are protected while the device is locked, on Apple's systems;
    /// elsewhere the option is accepted and does nothing. Defaults to the protection of the
    /// directory.
    pub fn file_protection(mut self, protection: FileProtection) -> Self {
        self.options.file_protection(Some(protection));
        self
    }

    /// Whether commits of other processes are delivered without a call of this process. Defaults to
    /// yes. In memory, and before the first subscription and the first use of the dictionary, the
    /// library follows no process, and this option has no effect.
    ///
    /// While it follows other processes, the library has a thread, and a small file beside the
    /// database whose name ends in `-dflat-presence`. [`Stats::follows_processes`] shows whether it
    /// follows them. Without this option, their commits are delivered with the next transaction of
    /// this process that writes, or by [`refresh`](Workspace::refresh).
    ///
    /// [`Stats::follows_processes`]: crate::Stats::follows_processes
    pub fn follow_processes(mut self, follow: bool) -> Self {
        self.options.follow_processes(follow);
        self
    }

    /// Whether the file's I/O is counted, for [`Workspace::io_report`]. Defaults to no, which costs
    /// nothing.
    pub fn io_stats(mut self, io_stats: bool) -> Self {
        self.options.io_stats(io_stats);
        self
    }

    /// Whether each commit writes records of its changes into the change log of the file, even if
    /// no other process follows the file. Defaults to no. A workspace in memory has no change log.
    ///
    /// A record has the keys of the changed objects, and their state before: of an update the
    /// differing bytes, of a deletion the object.
    pub fn change_log(mut self, change_log: bool) -> Self {
        self.options.change_log(change_log);
        self
    }

    /// The bytes of change records above which the oldest ones are deleted until half of the bytes
    /// are left, in steps of 1,024 records while no transaction writes. Defaults to 16 MiB. The
    /// last record always stays. A process that had not read the deleted records reads everything
    /// that it follows again.
    pub fn change_log_bytes_max(mut self, bytes: u64) -> Self {
        self.options.change_log_bytes_max(bytes);
        self
    }

    /// The age from which change records are deleted, while no transaction writes. Defaults to no
    /// limit; their bytes are limited all the same. A process that had not read the deleted records
    /// reads everything that it follows again.
    ///
    /// A process deletes old records a second after its first commit, and then within a second of
    /// the time at which a record gets too old, also if nothing is written any more. The age is
    /// that by the clock of the system.
    pub fn change_log_age_max(mut self, age: Duration) -> Self {
        self.options.change_log_age_max(Some(age));
        self
    }

    /// Whether change records have only the keys of changed objects, and leave out their state
    /// before. Defaults to no. Such records take less space, and do not keep deleted data. After an
    /// update or a deletion, a process that follows the file by them reads everything that it is
    /// subscribed to again.
    pub fn change_log_keys_only(mut self, keys_only: bool) -> Self {
        self.options.change_log_keys_only(keys_only);
        self
    }

    /// The id of this workspace in change records, for programs that keep a history or synchronize
    /// files: choose a random number once, and use it again after each start. Defaults to none.
    ///
    /// With this option or with [`author`](Self::author), each record also has the id of the file,
    /// which the first such commit chooses and stores in the file. A copy of the file has the same
    /// id. Both ids together take 36 bytes of each record.
    pub fn workspace_id(mut self, id: u128) -> Self {
        self.options.workspace_id(Some(id));
        self
    }

    /// The author of all changes of this workspace, in change records: for instance a user's name.
    /// Defaults to no author. Each record has the whole text, so keep it short.
    pub fn author(mut self, author: impl Into<String>) -> Self {
        self.options.author(Some(author.into()));
        self
    }

    /// Reads that take at least this long are reported to `tracing` as a warning, "slow query".
    /// Defaults to 100 ms. The time is measured only if `tracing` has a subscriber for it.
    pub fn slow_query(mut self, threshold: Duration) -> Self {
        self.options.slow_query(threshold);
        self
    }

    /// A [`Snapshot`](crate::Snapshot) that has been held at least this long is reported to
    /// `tracing` as a warning with its age, "old snapshot", once: while it is held, the log can't
    /// start again. Ages are checked at each commit of this process, at each new snapshot and at
    /// each [`refresh`](crate::Workspace::refresh); commits of other programs are not noticed.
    /// Defaults to 10 s. [`Stats::oldest_snapshot`](crate::Stats::oldest_snapshot) has the age at
    /// any time.
    pub fn old_snapshot(mut self, threshold: Duration) -> Self {
        self.options.old_snapshot(threshold);
        self
    }

    /// How long a [`Snapshot`](crate::Snapshot), or an iterator over a result, may be held.
    /// Defaults to no bound. An older one ends with the next commit, the next snapshot or the next
    /// [`refresh`](crate::Workspace::refresh): reading it fails with
    /// [`DeadlineExceeded`](crate::ErrorKind::DeadlineExceeded).
    pub fn snapshot_age_max(mut self, age: Duration) -> Self {
        self.options.snapshot_age_max(Some(age));
        self
    }

    /// Callbacks of subscriptions that take at least this long are reported to `tracing` as a
    /// warning, "slow subscriber". Defaults to 100 ms. The time is measured only if `tracing` has a
    /// subscriber for it.
    pub fn slow_subscriber(mut self, threshold: Duration) -> Self {
        self.options.slow_subscriber(threshold);
        self
    }

    /// How long a transaction's completion waits in all for callbacks of subscribers, of its own
    /// commit and of earlier commits. Defaults to a second.
    ///
    /// After that time, each callback that takes longer than a 64th of it, from 1 to 16 ms, counts
    /// as slow. While more than 1,024 completions wait, each callback that takes longer than about
    /// 0.1 ms counts as slow; and if they have waited this long, every callback does. No completion
    /// waits for a slow callback, and the deliveries that it has not seen are merged into one.
    /// Completions wait for it again when it has seen all deliveries and its last call took less
    /// than half of this time.
    pub fn subscriber_patience(mut self, patience: Duration) -> Self {
        self.options.subscriber_patience(patience);
        self
    }

    /// Opens the workspace.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub fn open(self) -> Result<Workspace> {
        #[cfg(feature = "history")]
        return super::versioned::open(self.path.as_path(), self.options, &self.versioned);
        #[cfg(not(feature = "history"))]
        dflat_workspace::Workspace::open(&self.path, &self.options).map(Workspace::new)
    }
}

impl Workspace {
    /// Opens the database file at `path` with default options. Nothing is written, and no file is
    /// created, before the first change; a file that is created is private to its owner.
    ///
    /// Each call makes a workspace that is shut down on its own. All workspaces of one process on
    /// one file, whatever path they were opened by, share types, turns and commits, and a
    /// subscription of one is notified of the commits of all. Commits of other processes are seen
    /// by the next fetch, and are delivered to subscriptions without a call, unless
    /// [`follow_processes`](WorkspaceBuilder::follow_processes) is off. If the file is deleted or
    /// replaced while it is open, transactions and reads of workspaces that have used it fail with
    /// [`Io`](crate::ErrorKind::Io), and with [`Corrupt`](crate::ErrorKind::Corrupt) if it is
    /// truncated; opening the path again works.
    ///
    /// # Errors
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the file is open in this process
    ///   with another value of an option that was set on the [builder](Self::builder). Options that
    ///   were not set are taken from the workspace that is open. Also if the path has more than 504
    ///   bytes on Unix, or the name of the file more than 247.
    /// - [`NotADatabase`](crate::ErrorKind::NotADatabase) if the file is not an SQLite database.
    /// - [`NotFound`](crate::ErrorKind::NotFound) if the file is missing, and the builder's option
    ///   [`read_only`](crate::WorkspaceBuilder::read_only) was set and
    ///   [`allow_missing`](crate::WorkspaceBuilder::allow_missing) was not.
    /// - [`Io`](crate::ErrorKind::Io) if its directory does not exist, or the file can't be read.
    ///
    /// # Durability
    /// By default a commit survives the end of the process at once, and a loss of power once SQLite
    /// has written it back; see [`Durability`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder(path).open()
    }

    /// Options for opening the database file at `path`.
    pub fn builder(path: impl AsRef<Path>) -> WorkspaceBuilder {
        WorkspaceBuilder {
            path: path.as_ref().to_owned(),
            options: FileOptions::default(),
            #[cfg(feature = "history")]
            versioned: Vec::new(),
        }
    }
}
