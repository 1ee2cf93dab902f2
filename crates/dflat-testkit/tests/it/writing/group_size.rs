//! The number of transactions that share a commit, and the cost.

use dflat_testkit::schema::Item;

use crate::writing::groups::{Rig, insert, kind, on_each_backend};

on_each_backend! {
    a_queue_costs_few_commits_and_a_lone_transaction_one
    large_transactions_in_a_queue_are_written_once
}

// Promise: concurrency#C36, concurrency#C42
fn a_queue_costs_few_commits_and_a_lone_transaction_one(rig: &Rig) {
    assert_eq!(kind(rig.insert("alone")), None);
    assert_eq!(rig.script.commits(), 1);
    let hold = rig.hold();
    let handles = (0..200).map(|id| {
        rig.workspace
            .perform_changes([Item::TABLE], move |tx| insert(tx, &id.to_string()))
    });
    let handles = handles.collect::<Vec<_>>();
    drop(hold);
    for handle in handles {
        assert_eq!(kind(handle), None);
    }
    let commits = rig.script.commits() - 1;
    assert!(commits <= 100, "{commits} commits for 200 transactions");
}

fn large_transactions_in_a_queue_are_written_once(rig: &Rig) {
    const ROWS: usize = 5_000;
    let hold = rig.hold();
    let small = rig.insert("small");
    let large = ["a", "b"].map(|name| {
        rig.workspace.perform_changes([Item::TABLE], move |tx| {
            (0..ROWS).try_for_each(|row| insert(tx, &format!("{name}{row}")))
        })
    });
    drop(hold);
    assert_eq!(kind(small), None);
    for handle in large {
        assert_eq!(kind(handle), None);
    }
    // Some are undone and written again before the transaction knows that it is large.
    let writes = rig.script.writes() - 2 * ROWS;
    assert!(writes < 1_000, "{writes} more writes than rows");
}
