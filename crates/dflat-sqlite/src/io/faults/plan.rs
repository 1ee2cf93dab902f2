//! The faults of one database that a test requests, and a recording of the writes to it.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dflat_engine::Result;

use super::recording::{Event, Recording, path_of};
use super::script::{Armed, Fault};
use crate::io::call::FileKind;
use crate::io::monitor::Monitor;
use crate::io::monitors::monitor_of;
use crate::io::names::resolve;
use crate::io::report::IoReport;

/// The name of the VFS that counts calls, for connections of other libraries in the same process.
#[must_use]
pub fn vfs_name() -> Option<&'static CStr> {
    crate::io::register::name(crate::io::register::VfsKind::Shared)
}

/// Faults of one database, for as long as this value lives.
///
/// The faults apply to connections whose I/O is counted, as `io_stats` requests.
pub struct FaultPlan {
    monitor: Arc<Monitor>,
    path: PathBuf,
}

impl FaultPlan {
    /// A plan without faults for the database at `path`. The file need not exist, but its directory
    /// must.
    ///
    /// # Errors
    /// The same as for opening the database.
    pub fn attach(path: impl AsRef<Path>) -> Result<Self> {
        let path = resolve(path.as_ref())?;
        Ok(Self {
            monitor: monitor_of(&path),
            path,
        })
    }

    /// Adds a fault.
    pub fn add(&self, fault: Fault) {
        self.monitor.faults().change(|script| {
            script.faults.push(Armed::new(fault));
        });
    }

    /// From now on, counts and records syncs but does not perform them. Losses of power are
    /// simulated, so tests need not wait for the device.
    pub fn skip_syncs(&self) {
        self.monitor
            .faults()
            .change(|script| script.skips_syncs = true);
    }

    /// Removes all faults and ends delays, so that the device works again. Returns how many calls
    /// met a fault.
    pub fn clear(&self) -> u64 {
        self.monitor.faults().clear()
    }

    /// The number of calls that met a fault since the faults were last removed. Calls that are
    /// being delayed count.
    #[must_use]
    pub fn met_count(&self) -> u64 {
        self.monitor.faults().change(|script| script.met_count())
    }

    /// The counts so far.
    #[must_use]
    pub fn report(&self) -> IoReport {
        self.monitor.report()
    }

    /// Starts to record writes and syncs. No connection may be open: reading the files would drop
    /// its locks.
    ///
    /// # Errors
    /// The errors of reading the files.
    pub fn record(&self) -> std::io::Result<()> {
        let mut events = Vec::new();
        for kind in [FileKind::Main, FileKind::Log, FileKind::Journal] {
            match std::fs::read(path_of(&self.path, kind)) {
                Ok(content) => events.push(Event::Found { kind, content }),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.monitor
            .faults()
            .change(|script| script.events = Some(events));
        Ok(())
    }

    /// Adds a mark to the recording, such as the number of a commit that was acknowledged.
    pub fn mark(&self, mark: u64) {
        self.monitor.faults().change(|script| {
            if let Some(events) = &mut script.events {
                events.push(Event::Mark(mark));
            }
        });
    }

    /// Ends the recording.
    #[must_use]
    pub fn take_recording(&self) -> Recording {
        let events = self.monitor.faults().change(|script| script.events.take());
        Recording::new(events.unwrap_or_default())
    }
}

impl std::fmt::Debug for FaultPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultPlan")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Removes the faults and the recording, because a plan that outlives its test must not affect the
/// next test on the same path.
impl Drop for FaultPlan {
    fn drop(&mut self) {
        self.clear();
        self.monitor.faults().change(|script| {
            script.events = None;
            script.skips_syncs = false;
        });
    }
}
