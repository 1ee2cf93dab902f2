//! Large transactions, which can't be written again, when the backend fails.

use dflat::{Durability, ErrorKind, Object, Result, TransactionContext, TransactionHandle};
use dflat_testkit::schema::Item;

use crate::writing::groups::{Rig, insert, kind, on_each_backend};
use crate::writing::scripted::Call;

const FULL: ErrorKind = ErrorKind::StorageFull;

/// More objects than the engine lists.
const MANY: usize = 600;

on_each_backend! {
    a_full_disk_after_a_large_transaction_does_not_harm_it
    a_full_disk_inside_a_large_transaction_leaves_nothing_of_it
    a_commit_of_a_large_transaction_that_fails_leaves_nothing_of_it
    a_large_transaction_that_cannot_be_read_again_leaves_nothing_of_it
}

fn insert_many(tx: &TransactionContext) -> Result<()> {
    (0..MANY).try_for_each(|n| insert(tx, &format!("many {n}")))
}

fn large(rig: &Rig) -> TransactionHandle<()> {
    rig.workspace.perform_changes([Item::TABLE], insert_many)
}

fn a_full_disk_after_a_large_transaction_does_not_harm_it(rig: &Rig) {
    let hold = rig.hold();
    let handles = [large(rig), rig.insert("b"), rig.insert("c")];
    rig.script.fail(Call::Write, MANY);
    drop(hold);
    assert_eq!(handles.map(kind), [None, Some(FULL), None]);
    let ids = rig.ids();
    assert_eq!(
        (ids.len(), ids.last().map(String::as_str)),
        (MANY + 1, Some("c"))
    );
}

fn a_full_disk_inside_a_large_transaction_leaves_nothing_of_it(rig: &Rig) {
    let hold = rig.hold();
    let handles = [rig.insert("a"), large(rig), rig.insert("c")];
    // Some rows are written twice, because the first group is committed while the transaction is
    // small.
    rig.script.fail(Call::Write, MANY);
    drop(hold);
    assert_eq!(handles.map(kind), [None, Some(FULL), None]);
    assert_eq!(rig.ids(), ["a", "c"]);
    // No later object gets the row id of an object that the handler may have passed on.
    let row_id = |id: &str| rig.workspace.get::<Item>(id).unwrap().unwrap().row_id().0;
    assert!(
        row_id("c") - row_id("a") > 400,
        "{} {}",
        row_id("a"),
        row_id("c")
    );
}

fn a_commit_of_a_large_transaction_that_fails_leaves_nothing_of_it(rig: &Rig) {
    kind(rig.insert("a"));
    let hold = rig.hold();
    let handles = [large(rig), rig.insert("c")];
    rig.script.fail(Call::Commit, 0);
    drop(hold);
    assert_eq!(handles.map(kind), [Some(FULL), None]);
    assert_eq!(rig.ids(), ["a", "c"]);
}

/// A transaction that requests more durability after its changes is read and written again.
fn a_large_transaction_that_cannot_be_read_again_leaves_nothing_of_it(rig: &Rig) {
    let row_id = |id: &str| rig.workspace.get::<Item>(id).unwrap().unwrap().row_id().0;
    kind(rig.insert("a"));
    let mut last = row_id("a");
    for fails_after in [0, 100, 300] {
        rig.script.fail(Call::Scan, fails_after);
        let handle = rig.workspace.perform_changes([Item::TABLE], |tx| {
            insert_many(tx)?;
            tx.set_durability(Durability::Full);
            insert(tx, "after")
        });
        // The memory backend does not write again.
        let kept = match kind(handle) {
            None => MANY + 2,
            Some(error) => {
                assert_eq!(error, FULL);
                1
            }
        };
        rig.script.heal();
        assert_eq!(rig.ids().len(), kept, "after {fails_after}");
        // No later object gets the row id of an object that the handler may have passed on.
        kind(rig.insert("next"));
        let between = row_id("next") - last;
        assert!(between > MANY as i64, "{between} after {fails_after}");
        last = row_id("next");
        let clear = rig
            .workspace
            .perform_changes([Item::TABLE], |tx| tx.delete_where(Item::ID.ne("a")));
        assert_eq!(kind(clear), None);
    }
}
