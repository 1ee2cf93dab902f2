//! What a test asks for: faults of one database, and a recording of what is written to it.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dflat_engine::Result;

use super::recording::{Event, Recording, path_of};
use super::script::{Armed, Fault};
use crate::io::call::FileKind;
use crate::io::monitor::Monitor;
use crate::io::names::resolve;
use crate::io::report::IoReport;
use crate::io::watched::monitor_of;

/// The name of the VFS that counts, for connections of other libraries in the same process.
#[must_use]
pub fn vfs_name() -> Option<&'static CStr> {
    crate::io::register::name(crate::io::register::VfsKind::Shared)
}

/// Faults of one database, for as long as this lives.
///
/// It concerns connections that are counted, as `io_stats` asks for.
pub struct FaultPlan {
    monitor: Arc<Monitor>,
    path: PathBuf,
}

impl FaultPlan {
    /// A plan without faults for the database at `path`, which need not exist, but whose directory
    /// must.
    ///
    /// # Errors
    /// As opening the database.
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

    /// Counts and records syncs from now on, and does not do them: the loss of power is simulated,
    /// so that tests need not wait for the device.
    pub fn skip_syncs(&self) {
        self.monitor
            .faults()
            .change(|script| script.skips_syncs = true);
    }

    /// Takes all faults away, and ends delays: the device is well again. Returns how many calls met
    /// a fault.
    pub fn clear(&self) -> u64 {
        self.monitor.faults().clear()
    }

    /// How many calls have met a fault since the faults were last taken away; those that are being
    /// delayed count.
    #[must_use]
    pub fn met_count(&self) -> u64 {
        self.monitor.faults().change(|script| script.met_count())
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

    /// Puts a mark into the recording, such as the number of a commit that was acknowledged.
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

/// A plan that outlived its test must not concern the next one on the same path.
impl Drop for FaultPlan {
    fn drop(&mut self) {
        self.clear();
        self.monitor.faults().change(|script| {
            script.events = None;
            script.skips_syncs = false;
        });
    }
}
