//! A directory whose database meets faults.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use dflat::{Durability, Reclaim, Workspace};
use dflat_sqlite::IoReport;
use dflat_sqlite::faults::{Fault, FaultPlan, Recording};
use tempfile::TempDir;

use crate::fixture::patience;

/// The page cache: small, so that a large transaction writes before its commit.
const PAGE_CACHE_BYTES: u64 = 2 << 20;

/// A directory for one database, and the plan of the calls that fail in it.
#[derive(Debug)]
pub struct Device {
    // Order: the plan ends before the directory is deleted.
    plan: FaultPlan,
    durability: Durability,
    /// The length of the log above which checkpoints are made in the background.
    log_bytes_max: u64,
    /// Whether workspaces write change records.
    keeps_records: AtomicBool,
    acknowledged: AtomicU64,
    /// The number of calls that met a fault that was healed since.
    met: AtomicU64,
    /// The counts of calls until the device was healed.
    until_healed: OnceLock<IoReport>,
    directory: TempDir,
}

impl Device {
    /// A device without faults.
    #[must_use]
    pub fn new(durability: Durability) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let plan = FaultPlan::attach(directory.path().join("test.db")).unwrap();
        plan.skip_syncs();
        Self {
            plan,
            durability,
            // No checkpoint in the background, so that the calls are the same in each run.
            log_bytes_max: u64::MAX,
            keeps_records: AtomicBool::new(false),
            acknowledged: AtomicU64::new(0),
            met: AtomicU64::new(0),
            until_healed: OnceLock::new(),
            directory,
        }
    }

    /// A device whose log is bounded by checkpoints in the background. So the calls differ from run
    /// to run.
    #[must_use]
    pub fn with_checkpoints(durability: Durability, log_bytes_max: u64) -> Self {
        Self {
            log_bytes_max,
            ..Self::new(durability)
        }
    }

    /// The database's path.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("test.db")
    }

    /// Lets workspaces that are opened later write change records.
    pub fn keep_records(&self) {
        self.keeps_records.store(true, Ordering::Release);
    }

    /// Opens the database.
    ///
    /// # Errors
    /// The errors of opening a workspace.
    pub fn open(&self) -> dflat::Result<Workspace> {
        Workspace::builder(self.path())
            .durability(self.durability)
            .busy_timeout(Duration::from_millis(100))
            .log_bytes_max(self.log_bytes_max)
            .page_cache_bytes(PAGE_CACHE_BYTES)
            .reclaim(Reclaim::Never)
            // Completions wait for the subscribers even on a busy machine.
            .subscriber_patience(patience())
            .io_stats(true)
            .change_log(self.keeps_records.load(Ordering::Acquire))
            .open()
    }

    /// Adds a fault.
    pub fn add(&self, fault: Fault) {
        self.plan.add(fault);
    }

    /// Ends all faults.
    pub fn heal(&self) {
        self.until_healed.get_or_init(|| self.plan.report());
        self.met.fetch_add(self.plan.clear(), Ordering::AcqRel);
    }

    /// How many calls met a fault that was healed.
    #[must_use]
    pub fn met(&self) -> u64 {
        self.met.load(Ordering::Acquire)
    }

    /// The calls so far, or until the device was healed.
    #[must_use]
    pub fn report(&self) -> IoReport {
        let healed = self.until_healed.get();
        healed.map_or_else(|| self.plan.report(), IoReport::clone)
    }

    /// Notes that the commit of this number was acknowledged.
    pub fn acknowledge(&self, number: u64) {
        self.acknowledged.store(number, Ordering::Release);
        self.plan.mark(number);
    }

    /// The number of the last acknowledged commit; 0 for none.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Acquire)
    }

    /// Starts to record, before the database is opened.
    pub fn record(&self) {
        self.plan.record().unwrap();
    }

    /// Ends the recording.
    #[must_use]
    pub fn take_recording(&self) -> Recording {
        self.plan.take_recording()
    }
}
