//! Two passes: count the calls, then make each of them fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use dflat::Durability;
use dflat_sqlite::faults::{Action, Fault};
use dflat_sqlite::{FileKind, IoReport, Operation};

use super::device::Device;
use crate::fixture::patience;

/// The result of a check: an error describes the loss.
pub type Outcome = Result<(), String>;

/// A kind of file and an operation on it.
pub type Site = (FileKind, Operation);

/// Runs a workload on a device without faults, and counts its calls.
///
/// # Panics
/// Panics if the workload fails.
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
/// workload opens the database, ignores errors, heals the device, opens the database again and
/// checks it.
///
/// # Panics
/// Panics if one of the runs fails, panics or hangs.
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

/// As [`each`], but with faults at no more than `samples` calls of each operation on each kind of
/// file, evenly spread, for workloads with very many calls. If the environment has
/// `DFLAT_FAULTS_ALL`, all calls get a fault.
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

/// As [`each_sampled`], with a log that is bounded to 64 KiB. A thread makes the checkpoints, so
/// the calls differ from run to run, and some faults meet no call. Returns the kind of file and the
/// operation of each call that met a fault.
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

/// The limit of the log if checkpoints are made.
const LOG_BYTES_MAX: u64 = 64 << 10;

fn sampled(samples: u64) -> u64 {
    if is_whole() { u64::MAX } else { samples }
}

/// Whether all calls get a fault, however long that takes.
pub(super) fn is_whole() -> bool {
    std::env::var_os("DFLAT_FAULTS_ALL").is_some()
}

/// The second pass.
struct Pass<'p> {
    operations: &'p [Operation],
    actions: &'p [Action],
    lasting: bool,
    samples: u64,
    /// `Some` if checkpoints are made in the background.
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

    /// Runs the pass. Returns the sites where faults were met.
    fn run(&self, workload: &Workload) -> Vec<Site> {
        let counted = (0..COUNTS).map(|_| count_on(self.device(), workload));
        let counted: Vec<IoReport> = counted.collect();
        let faults = self.faults(&counted);
        let calls: u64 = sites(self.operations)
            .map(|site| least(&counted, site))
            .sum();
        assert!(calls > 0, "the workload makes no such call on the device");
        // Printed first, so that a person sees how long the run will take.
        eprintln!("{} faults of {calls} calls", faults.len());
        let outcomes = each_of(&faults, |(fault, site)| {
            self.run_with(*fault, *site, workload)
        });
        let (mut failures, mut met) = (Vec::new(), Vec::new());
        for ((_, site), outcome) in faults.iter().zip(outcomes) {
            match outcome {
                Ok(true) => met.push(*site),
                Ok(false) => {}
                Err(lost) => failures.push(lost),
            }
        }
        let text = failures.join("\n");
        assert!(
            failures.is_empty(),
            "{} cases fail:\n{text}",
            failures.len()
        );
        let unmet = faults.len() - met.len();
        eprintln!("{unmet} of them were met by none");
        let unmet_max = faults.len().div_ceil(self.unmet_part());
        assert!(unmet <= unmet_max, "{unmet} faults were met by no call");
        met
    }

    /// The faults, and where they are to be met.
    fn faults(&self, counted: &[IoReport]) -> Vec<(Fault, Site)> {
        let mut faults = Vec::new();
        for (kind, operation) in sites(self.operations) {
            let count = least(counted, (kind, operation));
            let step = count.div_ceil(self.samples).max(1);
            for at in (1..=count).step_by(usize::try_from(step).unwrap()) {
                let with = |action: &Action| Fault {
                    kind: Some(kind),
                    operation,
                    at,
                    lasting: self.lasting,
                    action: *action,
                };
                let faults_at = self.actions.iter().map(with);
                faults.extend(faults_at.map(|fault| (fault, (kind, operation))));
            }
        }
        faults
    }

    /// One in this many faults may meet no call.
    fn unmet_part(&self) -> usize {
        match self.log_bytes_max {
            Some(_) => 10,
            None => 50,
        }
    }

    /// Whether a call met the fault. A few calls are not made in each run: idle readers are closed
    /// after a time, the reader that a thread gets depends on the other threads, and checkpoints
    /// run at any time. A fault that no call met is tried again. If several runs make fewer calls
    /// than were counted, the fault moves to the last call of the shortest of them.
    fn run_with(
        &self,
        mut fault: Fault,
        (kind, operation): Site,
        workload: &Workload,
    ) -> Result<bool, String> {
        let mut calls_min = fault.at;
        for tried in 0..TRIES {
            if tried >= TRIES / 2 {
                fault.at = calls_min;
            }
            let device = Arc::new(self.device());
            device.add(fault);
            run(&device, workload).map_err(|lost| format!("{fault:?}: {lost}"))?;
            if device.met() > 0 {
                return Ok(true);
            }
            let calls = device.report().count_of(kind, operation);
            if calls >= fault.at {
                return Err(format!("{fault:?}: none of {calls} calls met the fault"));
            }
            calls_min = calls_min.min(calls.max(1));
        }
        Ok(false)
    }
}

/// How often the calls are counted. Only calls that each of these runs made are made to fail.
const COUNTS: u32 = 6;

/// How often a workload is run until a call meets the fault.
const TRIES: u32 = 8;

/// The calls of a site in the run that made the fewest of them. A run makes more of them if it is
/// slow enough for idle readers to be closed, and the threads' order moves calls between sites.
fn least(counted: &[IoReport], (kind, operation): Site) -> u64 {
    let counts = counted
        .iter()
        .map(|counted| counted.count_of(kind, operation));
    counts.min().unwrap_or(0)
}

/// Does the work for each item, several at a time; the outcomes, in their order.
fn each_of<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return done;
            };
            done.push((at, work(item)));
        }
    };
    // Half of its time, a run waits for the device and for idle readers.
    let threads = 2 * thread::available_parallelism().map_or(1, usize::from);
    let mut outcomes = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        let outcomes = threads.into_iter().map(|thread| thread.join().unwrap());
        outcomes.flatten().collect::<Vec<_>>()
    });
    outcomes.sort_unstable_by_key(|(at, _)| *at);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

fn sites(operations: &[Operation]) -> impl Iterator<Item = Site> + '_ {
    let kinds = FileKind::ALL.into_iter();
    kinds.flat_map(|kind| operations.iter().map(move |operation| (kind, *operation)))
}

/// Runs a workload on a separate thread, with a timeout.
fn run(device: &Arc<Device>, workload: &Workload) -> Outcome {
    let (done, ended) = mpsc::channel();
    let (workload, device) = (Arc::clone(workload), Arc::clone(device));
    let running = thread::spawn(move || {
        let _ = done.send(workload(&device));
    });
    match ended.recv_timeout(patience()) {
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
