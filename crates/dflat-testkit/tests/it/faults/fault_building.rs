//! Building indexes while each call fails, and while the power is lost at each sync.

use dflat_testkit::fault::{
    self, Action, Device, Durability, Failure, Operation, Outcome, check_building,
    prepare_building, run_building,
};

/// Checks that all three transactions of the workload are stored in the end, and that the indexes
/// are ready.
fn workload(device: &Device) -> Outcome {
    prepare_building(device);
    run_building(device)?;
    let found = check_building(&device.path())?;
    let acknowledged = device.acknowledged();
    if found == acknowledged {
        return Ok(());
    }
    Err(format!(
        "{found} is there, and {acknowledged} was acknowledged"
    ))
}

// Promise: durability#D20
#[test]
fn failed_call_of_index_building_loses_no_commit() {
    let failures = [Action::Fail(Failure::Io), Action::Fail(Failure::NoSpace)];
    let operations = [Operation::Write, Operation::Flush, Operation::Truncate];
    fault::each(&operations, &failures, workload);
    let operations = [
        Operation::Read,
        Operation::Size,
        Operation::Access,
        Operation::Open,
        Operation::Lock,
        Operation::Map,
    ];
    fault::each(&operations, &failures[..1], workload);
    let operations = [Operation::Open, Operation::Map];
    fault::each(&operations, &failures[1..], workload);
}

// Promise: durability#D7
#[test]
fn loss_of_power_while_indexes_are_built_leaves_all_acknowledged_commits() {
    let device = Device::new(Durability::Full);
    prepare_building(&device);
    device.record();
    assert_eq!(run_building(&device), Ok(()));
    assert_eq!(device.acknowledged(), 3);
    let recording = device.take_recording();
    let outcome = fault::cut_power_briefly("building", &recording, |image| {
        let found = check_building(&image.path)?;
        if found < image.acknowledged {
            return Err(format!(
                "{found} is there, {} was acknowledged",
                image.acknowledged
            ));
        }
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
}
