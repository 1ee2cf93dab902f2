//! Copies between a file and the server, while the source is written, and with cut connections.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use dflat::{CopyPhase, ErrorKind, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use crate::engines::{engine, is_skipped};
use crate::proxy::{Cut, Proxy};
use crate::server::{new_schema, server};

fn create(workspace: &Workspace, ranks: std::ops::Range<i32>) {
    let written = workspace.perform_changes([Item::TABLE], move |tx| {
        for rank in ranks {
            let data = ItemData {
                id: format!("item {rank}"),
                rank,
                code: Some(format!("code {rank}")),
                ..ItemData::default()
            };
            drop(tx.submit(ItemChangeRequest::creation(data))?);
        }
        Ok(())
    });
    written.wait().unwrap();
}

/// The ranks of all items, in order of insertion.
fn ranks(workspace: &Workspace) -> Vec<i32> {
    let items = workspace.fetch::<Item>().all().unwrap();
    items.iter().map(Item::rank).collect()
}

#[test]
fn a_copy_has_the_snapshot_of_its_beginning_while_the_source_is_written() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let file = Workspace::open(directory.path().join("a.db")).unwrap();
        create(&file, 0..1500);
        let schema = new_schema();
        let remote = engine(&schema);
        let wanted = ranks(&file);
        let is_written = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let copied = file.copy_to(&remote).of::<Item>().on_progress(|state| {
                if state.phase == CopyPhase::Writing && !is_written.swap(true, Ordering::SeqCst) {
                    let writer = scope.spawn(|| create(&file, 1500..1510));
                    writer.join().unwrap();
                }
                ControlFlow::Continue(())
            });
            assert_eq!(copied.run().unwrap().inserted, 1500);
        });
        assert_eq!(ranks(&engine(&schema)), wanted);
        // Another run adds the rest.
        let copied = file.copy_to(&remote).of::<Item>().run().unwrap();
        assert_eq!((copied.inserted, copied.kept), (10, 1500));

        // Back to a file, while the server is written.
        let other = Workspace::open(directory.path().join("b.db")).unwrap();
        let is_written = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let copied = remote.copy_to(&other).of::<Item>().on_progress(|_| {
                if !is_written.swap(true, Ordering::SeqCst) {
                    let writer = scope.spawn(|| create(&engine(&schema), 2000..2010));
                    writer.join().unwrap();
                }
                ControlFlow::Continue(())
            });
            assert_eq!(copied.run().unwrap().inserted, 1510);
        });
        assert_eq!(ranks(&other), ranks(&file));
    });
}

/// Every message of this many is cut.
const EACH: u64 = 17;

#[test]
fn a_copy_whose_connection_is_cut_is_completed_by_another_run() {
    if is_skipped() {
        return;
    }
    let copy = |at: u64| {
        let directory = tempfile::tempdir().unwrap();
        let file = Workspace::open(directory.path().join("a.db")).unwrap();
        create(&file, 0..40);
        let schema = new_schema();
        let proxy = Proxy::start(&server().unwrap().socket(), at, Cut::After);
        let remote = Workspace::server(&proxy.address())
            .schema(&schema)
            .open()
            .unwrap();
        let copy = || {
            let copy = file.copy_to(&remote).of::<Item>();
            copy.batch_size(NonZeroUsize::new(10).unwrap()).run()
        };
        match copy() {
            Ok(copied) => assert_eq!(copied.inserted + copied.kept, 40),
            Err(error) => {
                let kinds = [ErrorKind::Io, ErrorKind::InDoubt];
                assert!(kinds.contains(&error.kind()), "message {at}: {error:?}");
                let copied = copy().unwrap();
                assert_eq!(copied.inserted + copied.kept, 40, "message {at}");
            }
        }
        assert_eq!(ranks(&engine(&schema)), ranks(&file), "message {at}");
        proxy.sent()
    };
    bounded(move || {
        let messages = copy(0);
        assert!(messages > 20, "{messages}");
        for at in (1..=messages).step_by(usize::try_from(EACH).unwrap()) {
            let _ = copy(at);
        }
    });
}
