//! Reads that fail while a file is checked.

use dflat::{CheckReport, ErrorKind, Result, Workspace};
use dflat_testkit::fault::{Action, Device, Durability, Failure, Fault, FileKind, Operation};
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};

fn fill(workspace: &Workspace) {
    let filled = workspace.perform_changes_blocking([Other::TABLE], |tx| {
        (0..1_000).try_for_each(|id| {
            let note = Some("note ".repeat(20));
            let change = OtherChangeRequest::creation(OtherData { id, note });
            tx.submit(change).map(drop)
        })
    });
    filled.unwrap();
}

// Promise: durability#D93
#[test]
fn check_reports_no_damage_if_a_read_fails() {
    let device = Device::new(Durability::Normal);
    let workspace = device.open().unwrap();
    fill(&workspace);
    workspace.shutdown().unwrap();
    for lasting in [false, true] {
        let (mut failed, mut at) = (0, 1);
        while let Some(checked) = check_with_fault(&device, at, lasting) {
            match checked {
                Ok(report) => assert!(report.is_sound(), "read {at}: {:?}", report.problems),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Io, "read {at}: {error}");
                    failed += 1;
                }
            }
            at += 1;
        }
        assert!(failed > 10, "{failed} of {at} failed");
    }
}

/// Checks the file in a new workspace, while a read fails; `None` if there is no such read.
fn check_with_fault(device: &Device, at: u64, lasting: bool) -> Option<Result<CheckReport>> {
    let workspace = device.open().unwrap();
    let met = device.met();
    device.add(Fault {
        kind: Some(FileKind::Main),
        operation: Operation::Read,
        at,
        lasting,
        action: Action::Fail(Failure::Io),
    });
    let checked = workspace.check([Other::TABLE]);
    device.heal();
    workspace.shutdown().unwrap();
    (device.met() > met).then_some(checked)
}
