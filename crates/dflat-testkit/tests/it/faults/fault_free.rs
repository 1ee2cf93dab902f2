//! A workspace whose I/O is counted, on a device without faults.

use std::sync::mpsc;

use dflat::{ErrorKind, FileKind, IoReport, Operation, Workspace};
use dflat_testkit::fault::{Device, Durability, Ledger, run_workload};
use dflat_testkit::schema::{Other, OtherChangeRequest, OtherData};

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

/// Creates 100 objects in this many transactions, which are all queued before the first one
/// continues.
fn create_queued(workspace: &Workspace, first: i32, transactions: i32) -> IoReport {
    let before = workspace.io_report().unwrap();
    let (go, all_queued) = mpsc::channel::<()>();
    let held = workspace.perform_changes([Other::TABLE], move |_| {
        all_queued.recv().unwrap();
        Ok(())
    });
    let each = 100 / transactions;
    let handles: Vec<_> = (0..transactions)
        .map(|t| {
            workspace.perform_changes([Other::TABLE], move |tx| {
                for id in first + t * each..first + (t + 1) * each {
                    let note = Some("x".repeat(50));
                    tx.submit(OtherChangeRequest::creation(OtherData { id, note }))?;
                }
                Ok(())
            })
        })
        .collect();
    go.send(()).unwrap();
    held.wait().unwrap();
    for handle in handles {
        handle.wait().unwrap();
    }
    workspace.io_report().unwrap().since(&before)
}

/// Figures C2 and C3: queued transactions share their commit.
#[test]
fn queued_transactions_cost_little_more_than_one() {
    let device = Device::new(Durability::Normal);
    let workspace = device.open().unwrap();
    create_queued(&workspace, 0, 1);
    let one = create_queued(&workspace, 100, 1);
    let [one_writes, one_bytes] = [one.count(Operation::Write), one.bytes(Operation::Write)];
    assert!(one_writes <= 20 && one_bytes <= 40 << 10, "{one}");
    assert_eq!(one.syncs(), 0);
    // A group ends after some milliseconds, so on a busy machine not all transactions join one
    // group.
    let mut attempts = (2..40).map(|n| create_queued(&workspace, n * 100, 100));
    let queued = attempts.find(|report| report.commits == 1).unwrap();
    assert!(queued.count(Operation::Write) <= 2 * one_writes, "{queued}");
    assert!(queued.bytes(Operation::Write) <= 2 * one_bytes, "{queued}");
    assert_eq!((queued.changes, queued.syncs()), (100, 0));
}
