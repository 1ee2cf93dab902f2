//! Two passes: count the calls, then make each of them fail.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use dflat::Durability;
use dflat_sqlite::inject::{Action, Fault};
use dflat_sqlite::{FileKind, IoReport, Operation};

use super::device::Device;

/// What a check found: an error says what was lost.
pub type Outcome = Result<(), String>;

/// A kind of file, and what is done with it.
pub type Site = (FileKind, Operation);

/// How long one run may take before it counts as hung.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a workload on a device that is well, and counts what it calls.
///
/// # Panics
/// If the workload fails.
pub fn count(workload: impl Fn(&Device) -> Outcome + Send + Sync + 'static) -> IoReport {
    let workload: Workload = Arc::new(workload);
    count_shared(&workload)
}

type Workload = Arc<dyn Fn(&Device) -> Outcome + Send + Sync>;

fn count_shared(workload: &Workload) -> IoReport {
    count_on(Device::new(Durability::Normal), workload)
}

fn count_on(device: Device, workload: &Workload) -> IoReport {
    let device = Arc::new(device);
    let outcome = run(&device, workload);
    assert_eq!(outcome, Ok(()), "the workload fails without a fault");
    device.report()
}

/// Runs a workload once for each call of these operations that it makes, with each action. The
/// workload opens the database, bears errors, heals the device, opens it again and looks.
///
/// # Panics
/// If one of the runs fails, panics or hangs.
pub fn each(
    operations: &[Operation],
    actions: &[Action],
    workload: impl Fn(&Device) -> Outcome + Send + Sync + 'static,
) {
    let pass = Pass {
        operations,
        actions,
        ..Pass::EACH
    };
    pass.run(&(Arc::new(workload) as Workload));
}

/// As [`each`], at no more than `samples` calls of each operation on each kind of file, evenly
/// spread: for workloads of very many. With `DFLAT_FAULTS_ALL` in the environment at all of them,
/// up to a thousand.
///
/// # Panics
/// As [`each`].
pub fn each_sampled(
    operations: &[Operation],
    actions: &[Action],
    samples: u64,
    workload: impl Fn(&Device) -> Outcome + Send + Sync + 'static,
) {
    let pass = Pass {
        operations,
        actions,
        samples: sampled(samples),
        ..Pass::EACH
    };
    pass.run(&(Arc::new(workload) as Workload));
}

/// As [`each`], with faults that last from the k-th call until the device is healed.
///
/// # Panics
/// As [`each`].
pub fn each_lasting(
    operations: &[Operation],
    actions: &[Action],
    workload: impl Fn(&Device) -> Outcome + Send + Sync + 'static,
) {
    let pass = Pass {
        operations,
        actions,
        lasting: true,
        ..Pass::EACH
    };
    pass.run(&(Arc::new(workload) as Workload));
}

/// As [`each_sampled`], with a log that is bounded to 64 KiB. Checkpoints are made by
/// a thread, so that calls are not the same each time, and some faults are met by none. The calls
/// that met one, by the kind of file and the operation.
///
/// # Panics
/// As [`each`].
pub fn each_checkpointing(
    operations: &[Operation],
    actions: &[Action],
    samples: u64,
    workload: impl Fn(&Device) -> Outcome + Send + Sync + 'static,
) -> Vec<Site> {
    let pass = Pass {
        operations,
        actions,
        samples: sampled(samples),
        log_bytes_max: Some(LOG_BYTES_MAX),
        ..Pass::EACH
    };
    pass.run(&(Arc::new(workload) as Workload))
}

/// How long the log may get where checkpoints are made.
const LOG_BYTES_MAX: u64 = 64 << 10;

/// At how many calls of a kind those fail that are told to be all: enough for workloads of short
/// transactions, and not for those that write thousands of pages.
const ALL: u64 = 1000;

fn sampled(samples: u64) -> u64 {
    match std::env::var_os("DFLAT_FAULTS_ALL") {
        Some(_) => ALL,
        None => samples,
    }
}

/// The second pass.
struct Pass<'p> {
    operations: &'p [Operation],
    actions: &'p [Action],
    lasting: bool,
    samples: u64,
    /// There if checkpoints are made in the background.
    log_bytes_max: Option<u64>,
}

impl Pass<'_> {
    const EACH: Self = Self {
        operations: &[],
        actions: &[],
        lasting: false,
        samples: u64::MAX,
        log_bytes_max: None,
    };

    fn device(&self) -> Device {
        match self.log_bytes_max {
            Some(bytes) => Device::with_checkpoints(Durability::Normal, bytes),
            None => Device::new(Durability::Normal),
        }
    }

    /// Where faults were met.
    fn run(&self, workload: &Workload) -> Vec<Site> {
        let counted = count_on(self.device(), workload);
        let (mut failures, mut met) = (Vec::new(), Vec::new());
        for (kind, operation) in sites(self.operations) {
            let count = counted.count_of(kind, operation);
            let step = count.div_ceil(self.samples).max(1);
            for at in (1..=count).step_by(usize::try_from(step).unwrap()) {
                for action in self.actions {
                    let fault = Fault {
                        kind: Some(kind),
                        operation,
                        at,
                        lasting: self.lasting,
                        action: *action,
                    };
                    match self.run_with(fault, (kind, operation), count, workload) {
                        Ok(true) => met.push((kind, operation)),
                        Ok(false) => {}
                        Err(lost) => failures.push(lost),
                    }
                }
            }
        }
        let text = failures.join("\n");
        assert!(
            failures.is_empty(),
            "{} cases fail:\n{text}",
            failures.len()
        );
        met
    }

    /// Whether a call met the fault, of those of which `counted` were counted.
    fn run_with(
        &self,
        fault: Fault,
        (kind, operation): Site,
        counted: u64,
        workload: &Workload,
    ) -> Result<bool, String> {
        let device = Arc::new(self.device());
        device.add(fault);
        let outcome = run(&device, workload).and_then(|()| {
            if device.met() > 0 {
                return Ok(true);
            }
            // The run was one without a fault. Readers at rest are ended after a time, and which
            // one a thread takes depends on the others: a few calls are not made each time.
            let calls = device.report().count_of(kind, operation);
            let is_same = self.log_bytes_max.is_some() || calls >= counted / 2;
            if calls >= fault.at || !is_same {
                let told =
                    format!("no call met the fault, of {calls} where {counted} were counted");
                return Err(told);
            }
            Ok(false)
        });
        outcome.map_err(|lost| format!("{fault:?}: {lost}"))
    }
}

fn sites(operations: &[Operation]) -> impl Iterator<Item = Site> + '_ {
    let kinds = FileKind::ALL.into_iter();
    kinds.flat_map(|kind| operations.iter().map(move |operation| (kind, *operation)))
}

/// Runs a workload on a thread of its own, with an end.
fn run(device: &Arc<Device>, workload: &Workload) -> Outcome {
    let (done, ended) = mpsc::channel();
    let (workload, device) = (Arc::clone(workload), Arc::clone(device));
    let running = thread::spawn(move || {
        let _ = done.send(workload(&device));
    });
    match ended.recv_timeout(PATIENCE) {
        Ok(outcome) => {
            running
                .join()
                .map_err(|_| "it panicked at its end".to_owned())?;
            outcome
        }
        Err(RecvTimeoutError::Timeout) => Err("it hangs".to_owned()),
        Err(RecvTimeoutError::Disconnected) => Err("it panicked".to_owned()),
    }
}
