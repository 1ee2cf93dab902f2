//! Every call fails, once or from that call on.

// Promise: compatibility#P25
use std::time::Duration;

use dflat::ErrorKind;
use dflat_testkit::fault::{
    self, Action, Device, Durability, Failure, Fault, FileKind, Ledger, Operation, Outcome, check,
    is_maintained, run_maintenance, run_workload,
};
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};

const FAILURES: [Action; 2] = [Action::Fail(Failure::Io), Action::Fail(Failure::NoSpace)];

const IO: [Action; 1] = [Action::Fail(Failure::Io)];

const NO_SPACE: [Action; 1] = [Action::Fail(Failure::NoSpace)];

/// Calls that may need space without writing bytes.
const CREATING: [Operation; 2] = [Operation::Open, Operation::Map];

/// Calls that write nothing.
const LOOKING: [Operation; 6] = [
    Operation::Read,
    Operation::Size,
    Operation::Access,
    Operation::Open,
    Operation::Lock,
    Operation::Map,
];

/// Runs the workload, heals the device, opens the file again and compares.
fn workload(device: &Device) -> Outcome {
    workload_of(device, false)
}

fn workload_of(device: &Device, large: bool) -> Outcome {
    let (ledger, found) = run(device, large)?;
    compare(device, found)?;
    if ledger.errors.len() > 1 {
        return Err(format!("after one call all of {:?} fail", ledger.errors));
    }
    // Only errors of these kinds may be reported.
    let kinds = [ErrorKind::Io, ErrorKind::StorageFull, ErrorKind::Busy];
    match ledger.errors.iter().find(|kind| !kinds.contains(kind)) {
        Some(kind) => Err(format!("a transaction failed with {kind:?}")),
        None => Ok(()),
    }
}

fn compare(device: &Device, found: u64) -> Outcome {
    let acknowledged = device.acknowledged();
    if found == acknowledged {
        return Ok(());
    }
    Err(format!(
        "commit {found} is there, and {acknowledged} was the last acknowledged"
    ))
}

/// As [`workload`], for lasting faults: a failed commit may be in the file, as a whole.
fn workload_to_the_end(device: &Device) -> Outcome {
    let (_, found) = run(device, false)?;
    if found == device.acknowledged() + 1 {
        return Ok(());
    }
    compare(device, found)
}

fn run(device: &Device, large: bool) -> Result<(Ledger, u64), String> {
    let mut ledger = Ledger::default();
    ledger.large = large;
    run_workload(device, &mut ledger)?;
    device.heal();
    let found = check(&device.path(), &ledger)?;
    Ok((ledger, found))
}

// Promise: durability#D10
#[test]
fn failed_write_loses_no_commit() {
    fault::each(&[Operation::Write], &FAILURES, workload);
}

// Promise: durability#D22
/// SQLite writes before the commit then, and rolls back by itself if it can't.
#[test]
fn failed_write_inside_a_transaction_loses_no_commit() {
    let large = |device: &Device| workload_of(device, true);
    fault::each_sampled(&[Operation::Write], &FAILURES, 6, large);
    fault::each_sampled(&[Operation::Read], &IO, 6, large);
}

// Promise: durability#D17
#[test]
fn failed_maintenance_loses_no_commit() {
    let operations = [Operation::Write, Operation::Flush, Operation::Truncate];
    fault::each_sampled(&operations, &FAILURES, 50, maintained);
    fault::each_sampled(&LOOKING, &IO, 30, maintained);
    fault::each_sampled(&CREATING, &NO_SPACE, 10, maintained);
    fault::each_sampled(&[Operation::Delete], &IO, 30, maintained);
}

fn maintained(device: &Device) -> Outcome {
    let mut ledger = Ledger::default();
    run_workload(device, &mut ledger)?;
    let received = run_maintenance(device, &ledger)?;
    device.heal();
    compare(device, check(&device.path(), &ledger)?)?;
    if received && !is_maintained(&device.path())? {
        return Err("the dictionary lost what it said was written".to_owned());
    }
    Ok(())
}

// Promise: durability#D23
/// A transaction that changes many objects without changing their lengths, which are then written
/// in place.
#[test]
fn failed_write_in_place_loses_no_commit() {
    let operations = [Operation::Read, Operation::Write, Operation::Lock];
    fault::each_sampled(&operations, &FAILURES, 20, |device| {
        let notes = |letter: &str| letter.repeat(5000);
        let kinds = [ErrorKind::Io, ErrorKind::StorageFull];
        let replace = |letter: &str| -> dflat::Result<()> {
            let (workspace, note) = (device.open()?, notes(letter));
            let replaced = workspace.perform_changes([Other::TABLE], move |tx| {
                (0..60).try_for_each(|id| {
                    let note = Some(note.clone());
                    tx.submit(OtherChangeRequest::upsert(OtherData { id, note }))
                        .map(drop)
                })
            });
            replaced.wait()?;
            // Another workspace reads the file without cached pages.
            let _ = workspace.shutdown();
            Ok(())
        };
        let (first, second) = (replace("a"), replace("b"));
        for error in [&first, &second]
            .into_iter()
            .filter_map(|r| r.as_ref().err())
        {
            if !kinds.contains(&error.kind()) {
                return Err(format!("{error}: {:?}", error.kind()));
            }
        }
        device.heal();
        let expected = match (&first, &second) {
            (_, Ok(())) => Some(notes("b")),
            (Ok(()), Err(_)) => Some(notes("a")),
            (Err(_), Err(_)) => None,
        };
        let workspace = device.open().map_err(|error| error.to_string())?;
        let found = workspace
            .fetch::<Other>()
            .all()
            .map_err(|error| error.to_string())?;
        let right = found
            .iter()
            .all(|other| other.note() == expected.as_deref());
        let count = if expected.is_some() { 60 } else { 0 };
        if right && found.len() == count {
            return Ok(());
        }
        Err(format!(
            "{} objects after {first:?} and {second:?}",
            found.len()
        ))
    });
}

// Promise: durability#D18
/// The log is taken into the file, and starts again, while the workload goes on: at other calls
/// each time.
#[test]
fn failed_checkpoint_loses_no_commit() {
    let operations = [Operation::Write, Operation::Flush, Operation::Truncate];
    let large = |device: &Device| workload_of(device, true);
    fault::each_checkpointing(&LOOKING, &IO, 8, large);
    let met = fault::each_checkpointing(&operations, &FAILURES, 8, large);
    // Checkpoints copy all writes into the file in the end, however late they are made. So a call
    // of each operation met a fault, and more writes did than the first one, which creates the
    // file.
    let times = |kind, operation| met.iter().filter(|met| **met == (kind, operation)).count();
    assert!(
        times(FileKind::Main, Operation::Write) > FAILURES.len(),
        "{met:?}"
    );
    for operation in [Operation::Write, Operation::Flush] {
        for kind in [FileKind::Main, FileKind::Log] {
            assert!(
                times(kind, operation) > 0,
                "{kind:?} {operation:?}: {met:?}"
            );
        }
    }
}

// Promise: durability#D10
#[test]
fn short_write_loses_no_commit() {
    let actions = [Action::Shorten(Failure::NoSpace)];
    fault::each(&[Operation::Write], &actions, workload);
}

// Promise: durability#D11
#[test]
fn failed_sync_truncation_or_deletion_loses_no_commit() {
    let operations = [Operation::Flush, Operation::Truncate, Operation::Delete];
    fault::each(&operations, &FAILURES, workload);
}

// Promise: durability#D12
#[test]
fn failed_read_loses_no_commit() {
    let operations = [Operation::Read, Operation::Size, Operation::Access];
    fault::each(&operations, &IO, workload);
}

// Promise: durability#D13
#[test]
fn failed_open_or_lock_loses_no_commit() {
    let actions = [Action::Fail(Failure::Io), Action::Fail(Failure::CannotOpen)];
    fault::each(&[Operation::Open], &actions, workload);
    let actions = [Action::Fail(Failure::Io), Action::Fail(Failure::Busy)];
    fault::each(&[Operation::Lock, Operation::Map], &actions, workload);
    fault::each(&CREATING, &NO_SPACE, workload);
}

// Promise: durability#D14, durability#D24
#[test]
fn lasting_failure_loses_no_commit() {
    let operations = [Operation::Write, Operation::Flush];
    fault::each_lasting(&operations, &IO, workload_to_the_end);
    let operations = [
        Operation::Truncate,
        Operation::Delete,
        Operation::Open,
        Operation::Map,
    ];
    fault::each_lasting(&operations, &IO, workload_to_the_end);
    let operations = [
        Operation::Read,
        Operation::Lock,
        Operation::Size,
        Operation::Access,
    ];
    fault::each_lasting(&operations, &IO, workload_to_the_end);
}

// Promise: durability#D16
/// Not only when it is opened anew: reading and writing go on.
#[test]
fn workspace_goes_on_when_the_device_works_again() {
    let recovering = |device: &Device| {
        let mut ledger = Ledger::default();
        ledger.heals_before = 6;
        run_workload(device, &mut ledger)?;
        device.heal();
        compare(device, check(&device.path(), &ledger)?)
    };
    let operations = [Operation::Write, Operation::Flush];
    fault::each_lasting(&operations, &NO_SPACE, recovering);
    fault::each_lasting(&LOOKING, &IO, recovering);
}

// Promise: durability#D15
#[test]
fn errors_have_the_kind_of_the_failed_call() {
    for (failure, kind) in [
        (Failure::Io, ErrorKind::Io),
        (Failure::NoSpace, ErrorKind::StorageFull),
    ] {
        for operation in [Operation::Write, Operation::Flush] {
            let device = Device::new(Durability::Full);
            device.add(Fault {
                kind: Some(FileKind::Log),
                operation,
                at: 3,
                lasting: true,
                action: Action::Fail(failure),
            });
            let (ledger, _) = run(&device, false).unwrap();
            assert!(!ledger.errors.is_empty());
            assert!(
                ledger.errors.iter().all(|found| *found == kind),
                "{ledger:?}"
            );
        }
    }
}

/// A canary: the check must notice an acknowledged commit that is missing.
#[test]
fn an_acknowledgement_without_a_commit_is_noticed() {
    let device = Device::new(Durability::Normal);
    let forgetful = |device: &Device| {
        let mut ledger = Ledger::default();
        run_workload(device, &mut ledger)?;
        device.acknowledge(device.acknowledged() + 1);
        compare(device, check(&device.path(), &ledger)?)
    };
    let lost = forgetful(&device).unwrap_err();
    assert!(lost.contains("10 was the last acknowledged"), "{lost}");
}

/// A canary: the check must notice a write that the device reports but does not make, or makes in
/// part.
#[test]
fn a_forgotten_write_is_noticed() {
    for action in [Action::Pretend, Action::Tear] {
        let device = Device::new(Durability::Normal);
        device.add(Fault {
            kind: Some(FileKind::Log),
            operation: Operation::Write,
            at: 5,
            lasting: true,
            action,
        });
        assert!(workload(&device).is_err(), "{action:?}");
    }
}

#[test]
fn slow_device_loses_no_commit() {
    let actions = [Action::Delay(Duration::from_millis(3))];
    let operations = [Operation::Write, Operation::Flush, Operation::Lock];
    fault::each_sampled(&operations, &actions, 8, |device| {
        workload(device)?;
        match device.acknowledged() {
            9 => Ok(()),
            last => Err(format!("only {last} commits were made")),
        }
    });
}
