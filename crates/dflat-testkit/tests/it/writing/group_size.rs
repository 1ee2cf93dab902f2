//! The number of transactions that share a commit, and the cost.

use std::sync::mpsc;

use dflat::{ChangeRequest, Result, TransactionContext};
use dflat_testkit::fixture::next;
use dflat_testkit::schema::{Item, Other};

use crate::writing::groups::{Rig, insert, insert_other, kind, on_each_backend};

on_each_backend! {
    a_queue_costs_few_commits_and_a_lone_transaction_one
    large_transactions_in_a_queue_are_written_once
    large_changes_of_several_types_are_written_once
    small_transactions_are_written_once_while_a_handler_runs
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

/// Inserts rows of both types, and returns the number of changes of rows so far.
fn fill(rig: &Rig, rows: i32) -> usize {
    let types = [Item::TABLE, Other::TABLE];
    let filled = rig.workspace.perform_changes(types, move |tx| {
        (0..rows).try_for_each(|row| {
            insert(tx, &row.to_string())?;
            insert_other(tx, row)
        })
    });
    assert_eq!(kind(filled), None);
    rig.script.writes()
}

/// Issue 28: the write access passes on before the transaction's thread commits the changes. The
/// next transaction, which had already changed a row of another type, made the library write all of
/// the changes again.
fn large_changes_of_several_types_are_written_once(rig: &Rig) {
    const ROWS: i32 = 2_000;
    fn delete_all<T: dflat::Object>(tx: &TransactionContext) -> Result<()> {
        for object in &tx.fetch::<T>().all()? {
            if let Some(request) = ChangeRequest::deletion(tx, object)? {
                tx.submit(request)?;
            }
        }
        Ok(())
    }
    let before = fill(rig, ROWS);
    let items = rig
        .workspace
        .perform_changes([Item::TABLE], delete_all::<Item>);
    let others = rig
        .workspace
        .perform_changes([Other::TABLE], delete_all::<Other>);
    assert_eq!((kind(items), kind(others)), (None, None));
    let writes = rig.script.writes() - before - 2 * ROWS as usize;
    // The first rows of the second transaction may be undone and written again.
    assert!(writes < 200, "{writes} more writes than rows");
    assert!(rig.ids().is_empty() && rig.others().is_empty());
}

/// Issue 28: the running handler is the first of the commit group to change its type.
fn small_transactions_are_written_once_while_a_handler_runs(rig: &Rig) {
    const MEMBERS: usize = 50;
    let before = fill(rig, 1);
    let commits_before = rig.script.commits();
    let hold = rig.hold();
    let names = (0..MEMBERS).map(|member| format!("member {member}"));
    let members = names.map(|name| {
        rig.workspace
            .perform_changes([Item::TABLE], move |tx| insert(tx, &name))
    });
    let members: Vec<_> = members.collect();
    // Keeps the commit group open.
    let (sender, received) = mpsc::channel();
    let (go, goes) = mpsc::channel();
    let next_item = rig.workspace.perform_changes([Item::TABLE], move |_| {
        sender.send(()).unwrap();
        next(&goes);
        Ok(())
    });
    let (other, wrote, end) = rig.gated(
        [Other::TABLE],
        move |tx| {
            next(&received);
            insert_other(tx, 1)
        },
        |tx| insert_other(tx, 2),
    );
    drop(hold);
    next(&wrote);
    for member in members {
        assert_eq!(kind(member), None);
    }
    end.send(()).unwrap();
    assert_eq!(kind(other), None);
    go.send(()).unwrap();
    assert_eq!(kind(next_item), None);
    let writes = rig.script.writes() - before;
    let commits = rig.script.commits() - commits_before;
    // Each commit may undo the row of the running handler and write this row again. On a busy
    // machine, the members need more commits.
    assert!(
        writes <= MEMBERS + 2 + 2 * commits,
        "{writes} writes for {MEMBERS} rows in {commits} commits"
    );
    assert_eq!(rig.others(), [0, 1, 2]);
    assert_eq!(rig.ids().len(), MEMBERS + 1);
}
