//! Tests of the bound on rows that wait to be matched. They use threads of the system, so they
//! stand outside of the rooms that the models of threads compile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dflat_model::{CommitSeq, RowId, Table, TableDescriptor};
use smallvec::SmallVec;

use crate::change_set::{ChangeSet, CommitState, Completion, Ended, RowRange, TableChanges};
use crate::delivery::{Calls, Deliver, Deliveries};
use crate::error::Result;
use crate::object::Origin;
use crate::storage::{Backend, MemoryBackend};

/// Matches the rows of a commit once the test allows it.
struct Gated {
    go: Mutex<Receiver<()>>,
    is_matched: Arc<AtomicBool>,
}

impl Deliver for Gated {
    fn publish(&self, _: &ChangeSet) -> Option<Arc<dyn Calls>> {
        self.go.lock().unwrap().recv().unwrap();
        self.is_matched.store(true, Ordering::SeqCst);
        None
    }

    fn renew(&self) -> Option<Arc<dyn Calls>> {
        None
    }

    fn is_observed(&self, _: &Table) -> bool {
        true
    }

    fn complete(&self, outcome: Result<()>, completion: Completion) {
        completion.complete(outcome);
    }
}

/// A commit that inserted so many rows, as a range.
fn import(rows: i64, state: Option<Arc<CommitState>>) -> ChangeSet {
    let table = Table::new(TableDescriptor {
        name: "sample".into(),
        type_name: "Sample".into(),
        primary_key: Vec::new().into(),
        auto_key: None,
        indexes: Vec::new().into(),
        types: Vec::new().into(),
    });
    let changes = TableChanges {
        table,
        rows: SmallVec::new(),
        inserted: Some(RowRange {
            first: RowId(1),
            last: RowId(rows),
        }),
        repeated: false,
        is_attached: false,
    };
    ChangeSet {
        seq: CommitSeq(1),
        tables: [changes].into_iter().collect(),
        state,
    }
}

fn pinned() -> Arc<CommitState> {
    let backend: Arc<dyn Backend> = MemoryBackend::new();
    Arc::new(CommitState::pin(&backend, Origin::default()).unwrap())
}

#[test]
fn rows_of_a_range_wait_to_be_matched_only_if_it_has_subscribers() {
    assert_eq!(import(100, None).unmatched_count(), 0);
    assert_eq!(import(100, Some(pinned())).unmatched_count(), 100);
}

// Promise: live-queries#L36
#[test]
fn transactions_wait_while_the_rows_of_an_import_wait_to_be_matched() {
    let (release, go) = mpsc::channel();
    let is_matched = Arc::new(AtomicBool::new(false));
    let gated = Gated {
        go: Mutex::new(go),
        is_matched: Arc::clone(&is_matched),
    };
    let longest_wait = Duration::from_secs(300);
    let deliveries = Arc::new(Deliveries::new(Box::new(gated), longest_wait, 10));
    deliveries.push([Ended {
        outcome: Ok(Some(import(100_000, Some(pinned())))),
        completion: Box::new(|_| ()),
    }]);
    let delivering = {
        let deliveries = Arc::clone(&deliveries);
        thread::spawn(move || deliveries.drain())
    };
    let releasing = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        release.send(()).unwrap();
    });
    deliveries.hold();
    assert!(is_matched.load(Ordering::SeqCst));
    releasing.join().unwrap();
    delivering.join().unwrap();
    // Matched rows hold no transaction.
    deliveries.hold();
    deliveries.stop(true);
}
