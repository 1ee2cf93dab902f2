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
    let device = Arc::new(Device::new(Durability::Normal));
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
        lasting: false,
        samples: u64::MAX,
    };
    pass.run(&(Arc::new(workload) as Workload));
}

/// As [`each`], at no more than `samples` calls of each operation on each kind of file, evenly
/// spread: for workloads of very many.
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
        lasting: false,
        samples,
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
        samples: u64::MAX,
    };
    pass.run(&(Arc::new(workload) as Workload));
}

/// The second pass.
struct Pass<'p> {
    operations: &'p [Operation],
    actions: &'p [Action],
    lasting: bool,
    samples: u64,
}

impl Pass<'_> {
    fn run(&self, workload: &Workload) {
        let counted = count_shared(workload);
        let mut failures = Vec::new();
        for (kind, operation) in sites(self.operations) {
            let count = counted.count_of(kind, operation);
            let step = count.div_ceil(self.samples).max(1);
            for at in (1..=count).step_by(usize::try_from(step).unwrap()) {
                failures.extend(self.run_at(kind, operation, at, workload));
            }
        }
        let text = failures.join("\n");
        assert!(
            failures.is_empty(),
            "{} cases fail:\n{text}",
            failures.len()
        );
    }

    fn run_at<'r>(
        &'r self,
        kind: FileKind,
        operation: Operation,
        at: u64,
        workload: &'r Workload,
    ) -> impl Iterator<Item = String> + 'r {
        self.actions.iter().filter_map(move |&action| {
            let fault = Fault {
                kind: Some(kind),
                operation,
                at,
                lasting: self.lasting,
                action,
            };
            let device = Arc::new(Device::new(Durability::Normal));
            device.add(fault);
            let outcome = run(&device, workload).and_then(|()| met(&device));
            outcome.err().map(|lost| format!("{fault:?}: {lost}"))
        })
    }
}

/// A fault that no call meets tests nothing.
fn met(device: &Device) -> Outcome {
    match device.met() {
        0 => Err("no call met the fault: the workload is not the same each time".to_owned()),
        _ => Ok(()),
    }
}

fn sites(operations: &[Operation]) -> impl Iterator<Item = (FileKind, Operation)> + '_ {
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
