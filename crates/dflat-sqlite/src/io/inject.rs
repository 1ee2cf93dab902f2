//! Faults for tests: what fails when, and what a loss of power leaves.
//!
//! No part of the stable interface. `dflat_testkit::fault` makes it comfortable.

use std::ffi::{CStr, c_int};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dflat_engine::Result;
use libsqlite3_sys as sqlite;

use super::call::{FileKind, Operation};
use super::monitor::{Call, Monitor};
pub use super::recording::{Event, PowerCut, Recording};
use super::report::IoReport;
use super::watched::monitor_of;

/// The name of the VFS that counts, for connections of other libraries in the same process.
#[must_use]
pub fn vfs_name() -> Option<&'static CStr> {
    super::register::name(super::register::Kind::Shared)
}

/// Faults of one database, for as long as this lives.
///
/// It concerns connections that are counted, as `io_stats` asks for.
pub struct FaultPlan {
    monitor: Arc<Monitor>,
    path: std::path::PathBuf,
}

/// A fault: what happens to which call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of file; `None` for any.
    pub kind: Option<FileKind>,
    /// The operation.
    pub operation: Operation,
    /// Which call it is, from 1, counted from when the fault is added.
    pub at: u64,
    /// Whether all later calls meet it too.
    pub lasting: bool,
    /// What happens.
    pub action: Action,
}

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It does nothing and fails.
    Fail(Failure),
    /// It does half, and fails.
    Shorten(Failure),
    /// It does some sectors, and reports success: the device lies.
    Tear,
    /// It does nothing, and reports success: the device lies. A read finds zeros.
    Pretend,
    /// It takes this much longer.
    Delay(Duration),
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The device fails: EIO.
    Io,
    /// No space is left: ENOSPC.
    NoSpace,
    /// The file can't be opened.
    CannotOpen,
    /// Another connection has the lock.
    Busy,
}

impl Failure {
    /// The result code as SQLite's own VFS would give it, and the system's error number.
    pub(super) fn codes(self, operation: Operation, kind: FileKind) -> (c_int, c_int) {
        const EIO: c_int = 5;
        const ENOSPC: c_int = 28;
        const EMFILE: c_int = 24;
        match (self, operation) {
            (Self::Busy, _) => (sqlite::SQLITE_BUSY, 0),
            (Self::CannotOpen, _) => (sqlite::SQLITE_CANTOPEN, EMFILE),
            (Self::NoSpace, Operation::Write) => (sqlite::SQLITE_FULL, ENOSPC),
            (Self::NoSpace, _) => (io_code(operation, kind), ENOSPC),
            (Self::Io, _) => (io_code(operation, kind), EIO),
        }
    }
}

fn io_code(operation: Operation, kind: FileKind) -> c_int {
    match operation {
        Operation::Open => sqlite::SQLITE_CANTOPEN,
        Operation::Read => sqlite::SQLITE_IOERR_READ,
        Operation::Write => sqlite::SQLITE_IOERR_WRITE,
        Operation::Truncate => sqlite::SQLITE_IOERR_TRUNCATE,
        Operation::Flush => sqlite::SQLITE_IOERR_FSYNC,
        Operation::FlushDirectory => sqlite::SQLITE_IOERR_DIR_FSYNC,
        Operation::Delete => sqlite::SQLITE_IOERR_DELETE,
        Operation::Lock if kind == FileKind::LogIndex => sqlite::SQLITE_IOERR_SHMLOCK,
        Operation::Lock => sqlite::SQLITE_IOERR_LOCK,
        Operation::Map => sqlite::SQLITE_IOERR_SHMMAP,
        Operation::Size => sqlite::SQLITE_IOERR_FSTAT,
        Operation::Access => sqlite::SQLITE_IOERR_ACCESS,
    }
}

/// A fault and the calls it has seen.
pub(super) struct Armed {
    fault: Fault,
    seen: u64,
    fired: u64,
}

impl Armed {
    /// What is to happen to this call.
    pub(super) fn due(&mut self, call: &Call<'_>) -> Option<Action> {
        let concerned = call.operation == self.fault.operation
            && self.fault.kind.is_none_or(|kind| kind == call.kind);
        if !concerned {
            return None;
        }
        self.seen += 1;
        let due = self.seen == self.fault.at || (self.fault.lasting && self.seen > self.fault.at);
        self.fired += u64::from(due);
        due.then_some(self.fault.action)
    }
}

impl FaultPlan {
    /// A plan without faults for the database at `path`, which need not exist, but whose directory
    /// must.
    ///
    /// # Errors
    /// As opening the database.
    pub fn attach(path: impl AsRef<Path>) -> Result<Self> {
        let path = super::names::resolve(path.as_ref())?;
        Ok(Self {
            monitor: monitor_of(&path),
            path,
        })
    }

    /// Adds a fault.
    pub fn add(&self, fault: Fault) {
        self.monitor.script(|script| {
            script.faults.push(Armed {
                fault,
                seen: 0,
                fired: 0,
            });
        });
    }

    /// Counts and records syncs from now on, and does not do them: the loss of power is simulated,
    /// so that tests need not wait for the device.
    pub fn skip_syncs(&self) {
        self.monitor.script(|script| script.skips_syncs = true);
    }

    /// Takes all faults away: the device is well again. How many calls met one.
    pub fn clear(&self) -> u64 {
        self.monitor.script(|script| {
            let fired = script.faults.iter().map(|armed| armed.fired).sum();
            script.faults.clear();
            fired
        })
    }

    /// What was counted so far.
    #[must_use]
    pub fn report(&self) -> IoReport {
        self.monitor.report()
    }

    /// Starts to record what is written and synced. No connection may be open: looking at the files
    /// would drop its locks.
    ///
    /// # Errors
    /// As reading the files can fail.
    pub fn record(&self) -> std::io::Result<()> {
        let mut events = Vec::new();
        for kind in [FileKind::Main, FileKind::Log, FileKind::Journal] {
            match std::fs::read(super::recording::path_of(&self.path, kind)) {
                Ok(content) => events.push(Event::Found { kind, content }),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.monitor.script(|script| script.events = Some(events));
        Ok(())
    }

    /// Puts a mark into the recording, such as the number of a commit that was acknowledged.
    pub fn mark(&self, mark: u64) {
        self.monitor.script(|script| {
            if let Some(events) = &mut script.events {
                events.push(Event::Mark(mark));
            }
        });
    }

    /// Ends the recording.
    #[must_use]
    pub fn take_recording(&self) -> Recording {
        Recording::new(
            self.monitor
                .script(|script| script.events.take())
                .unwrap_or_default(),
        )
    }
}

impl std::fmt::Debug for FaultPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultPlan")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// A plan that outlived its test must not concern the next one on the same path.
impl Drop for FaultPlan {
    fn drop(&mut self) {
        self.monitor.script(|script| {
            script.faults.clear();
            script.events = None;
            script.skips_syncs = false;
        });
    }
}
