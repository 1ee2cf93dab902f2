//! The power fails at every sync, and between.

use dflat_testkit::fault::{
    self, Action, Device, Durability, Failure, Fault, FileKind, Image, Ledger, Operation, Outcome,
    PowerCut, check, run_maintenance, run_workload,
};

/// Runs the workload on a device that may report a false success, then cuts the power at each
/// point.
fn cut_power(durability: Durability, lie: Option<Fault>) -> Outcome {
    let device = Device::new(durability);
    device.record();
    if let Some(fault) = lie {
        device.add(fault);
    }
    let mut ledger = Ledger::default();
    assert_eq!(run_workload(&device, &mut ledger), Ok(()));
    assert_eq!(device.acknowledged(), 9);
    let recording = device.take_recording();
    // A device that reports a false success is a canary: its failing cases are not stored.
    let name = lie.is_none().then(|| format!("{durability:?}"));
    fault::cut_power(name.as_deref(), &recording, |image| {
        survives(durability, image, &ledger)
    })
}

// Promise: durability#D31
/// Some transactions ask for full durability, before or after their first change, in a workspace
/// without it: none of them is lost, and neither is what was committed before one.
#[test]
fn loss_of_power_leaves_the_commits_that_requested_full_durability() {
    let device = Device::new(Durability::Normal);
    device.record();
    let mut ledger = Ledger::default();
    ledger.full_every = 3;
    assert_eq!(run_workload(&device, &mut ledger), Ok(()));
    let recording = device.take_recording();
    let outcome = fault::cut_power(Some("full-every-3"), &recording, |image| {
        let found = check(&image.path, &ledger)?;
        let last = image.acknowledged - image.acknowledged % 3;
        if found < last {
            return Err(format!(
                "commit {last} was to be full, and {found} is the last there"
            ));
        }
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
}

fn survives(durability: Durability, image: &Image, ledger: &Ledger) -> Outcome {
    let found = check(&image.path, ledger)?;
    let lasts = durability == Durability::Full || image.cut == PowerCut::Everything;
    if lasts && found < image.acknowledged {
        let last = image.acknowledged;
        return Err(format!(
            "commit {last} was acknowledged, and {found} is the last there"
        ));
    }
    Ok(())
}

// Promise: durability#D3
#[test]
fn a_loss_of_power_leaves_a_prefix_of_the_commits() {
    assert_eq!(cut_power(Durability::Normal, None), Ok(()));
}

// Promise: durability#D4
#[test]
fn loss_of_power_leaves_all_commits_acknowledged_with_full_durability() {
    assert_eq!(cut_power(Durability::Full, None), Ok(()));
}

// Promise: durability#D5
#[test]
fn loss_of_power_during_maintenance_leaves_all_acknowledged_commits() {
    let device = Device::new(Durability::Full);
    device.record();
    let mut ledger = Ledger::default();
    assert_eq!(run_workload(&device, &mut ledger), Ok(()));
    assert_eq!(run_maintenance(&device, &ledger), Ok(true));
    let recording = device.take_recording();
    let outcome = fault::cut_power(Some("maintenance"), &recording, |image| {
        survives(Durability::Full, image, &ledger)
    });
    assert_eq!(outcome, Ok(()));
}

// Promise: durability#D6
/// The log is taken into the file and starts again while the workspace is in use.
#[test]
fn a_loss_of_power_around_a_checkpoint_leaves_a_prefix_of_the_commits() {
    let device = Device::with_checkpoints(Durability::Normal, 1 << 20);
    device.record();
    let mut ledger = Ledger::default();
    ledger.large = true;
    assert_eq!(run_workload(&device, &mut ledger), Ok(()));
    let checkpoints = device.report().count_of(FileKind::Main, Operation::Flush);
    assert!(checkpoints >= 2, "{checkpoints}");
    let outcome = fault::cut_power_briefly("large", &device.take_recording(), |image| {
        survives(Durability::Normal, image, &ledger)
    });
    assert_eq!(outcome, Ok(()));
}

// Promise: durability#D8
/// A sync fails, for each of them, and later the power.
#[test]
fn loss_of_power_after_a_failed_sync_leaves_all_acknowledged_commits() {
    let mut failed = 0;
    let syncs = [Durability::Full, Durability::Normal].map(|durability| {
        let device = Device::new(durability);
        assert_eq!(run_workload(&device, &mut Ledger::default()), Ok(()));
        let report = device.report();
        let syncs = [FileKind::Log, FileKind::Main].map(|kind| {
            let count = report.count_of(kind, Operation::Flush);
            (1..=count).map(move |at| (durability, kind, at))
        });
        syncs.into_iter().flatten()
    });
    for (durability, kind, at) in syncs.into_iter().flatten() {
        let device = Device::new(durability);
        device.record();
        device.add(Fault {
            kind: Some(kind),
            operation: Operation::Flush,
            at,
            lasting: false,
            action: Action::Fail(Failure::Io),
        });
        let mut ledger = Ledger::default();
        assert_eq!(run_workload(&device, &mut ledger), Ok(()));
        failed += ledger.errors.len();
        let name = format!("{durability:?}-{kind}-sync-{at}");
        let recording = device.take_recording();
        let outcome = fault::cut_power_briefly(&name, &recording, |image| {
            survives(durability, image, &ledger)
        });
        assert_eq!(outcome, Ok(()));
    }
    assert!(failed > 5);
}

// Promise: durability#D9
/// The canary: a device that forgets to sync loses commits, and the harness must say so.
#[test]
fn a_lost_commit_is_noticed() {
    let lie = Fault {
        kind: Some(FileKind::Log),
        operation: Operation::Flush,
        at: 3,
        lasting: true,
        action: Action::Pretend,
    };
    let lost = cut_power(Durability::Full, Some(lie)).unwrap_err();
    assert!(lost.contains("was acknowledged"), "{lost}");
}
