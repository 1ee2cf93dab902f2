//! A workspace whose I/O is counted, on a device that is well.

use dflat::{ErrorKind, FileKind, Operation, Workspace};
use dflat_testkit::fault::{Device, Durability, Ledger, run_workload};
use dflat_testkit::schema::Other;

#[test]
fn a_workspace_reports_its_io_if_asked() {
    let device = Device::new(Durability::Normal);
    let workspace = device.open().unwrap();
    let mut ledger = Ledger::default();
    assert_eq!(run_workload(&device, &mut ledger), Ok(()));
    let report = workspace.io_report().unwrap();
    assert_eq!(report.commits, 9);
    assert!(report.changes >= 9 && report.logical_bytes > 0);
    assert!(report.count_of(FileKind::Log, Operation::Write) > 0);
    assert!(report.to_string().starts_with("9 commits of "), "{report}");
    drop(workspace);

    assert!(Workspace::in_memory().io_report().is_none());
    let uncounted = Workspace::open(device.path()).unwrap();
    assert!(uncounted.io_report().is_none());
}

#[test]
fn maintenance_inside_a_handler_would_wait_for_itself() {
    let device = Device::new(Durability::Normal);
    let workspace = device.open().unwrap();
    let inside = workspace.clone();
    let handle = workspace.perform_changes([Other::TABLE], move |_| {
        Ok([
            inside.reclaim(1).map(drop).unwrap_err().kind(),
            inside.purge().unwrap_err().kind(),
            inside.compact().unwrap_err().kind(),
        ])
    });
    assert_eq!(handle.wait().unwrap(), [ErrorKind::WouldDeadlock; 3]);
}

#[test]
fn maintenance_in_memory_has_nothing_to_do() {
    let workspace = Workspace::in_memory();
    assert_eq!(workspace.reclaim(1).unwrap(), 0);
    workspace.purge().unwrap();
    workspace.compact().unwrap();
}

#[test]
fn after_shutdown_there_is_no_maintenance() {
    let device = Device::new(Durability::Normal);
    assert_eq!(run_workload(&device, &mut Ledger::default()), Ok(()));
    let workspace = device.open().unwrap();
    workspace.shutdown().unwrap();
    assert_eq!(
        workspace.reclaim(1).unwrap_err().kind(),
        ErrorKind::ShutDown
    );
    assert_eq!(workspace.purge().unwrap_err().kind(), ErrorKind::ShutDown);
}
