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
    each_of(
        operations,
        actions,
        false,
        &(Arc::new(workload) as Workload),
    );
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
    each_of(operations, actions, true, &(Arc::new(workload) as Workload));
}

fn each_of(operations: &[Operation], actions: &[Action], lasting: bool, workload: &Workload) {
    let counted = count_shared(workload);
    let mut failures = Vec::new();
    for (kind, operation) in sites(operations) {
        for at in 1..=counted.count_of(kind, operation) {
            for &action in actions {
                let fault = Fault {
                    kind: Some(kind),
                    operation,
                    at,
                    lasting,
                    action,
                };
                let device = Arc::new(Device::new(Durability::Normal));
                device.add(fault);
                let outcome = run(&device, workload);
                if let Err(lost) = outcome.and_then(|()| met(&device)) {
                    failures.push(format!("{fault:?}: {lost}"));
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} cases fail:\n{}",
        failures.len(),
        failures.join("\n")
    );
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
