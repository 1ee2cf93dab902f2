//! Operations of a program between which other programs write.

use std::collections::BTreeSet;

use dflat::{ErrorKind, Result, Workspace};
use dflat_testkit::schema::Item;

use super::files::{Rows, put, rank};

/// An operation of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Change,
    Another,
    Undo,
    UndoRest,
    Redo,
    Log,
    Blame,
    Commit,
    At,
}

/// Runs an operation. A change stores the next number.
pub(super) fn run(
    (workspace, other): (&Workspace, &Workspace),
    operation: Operation,
    number: &mut i32,
) {
    *number += 1;
    let history = workspace.history();
    let undone = match operation {
        Operation::Change => return put(workspace, "b", *number),
        Operation::Another => return put(other, "c", *number),
        Operation::Log => {
            let log = history.log().collect::<Result<Vec<_>>>();
            assert!(!log.unwrap().is_empty());
            return;
        }
        Operation::Blame => {
            assert!(!history.blame::<Item>("b").unwrap().is_empty());
            return;
        }
        Operation::Commit => {
            history.commit("between").unwrap();
            return;
        }
        Operation::At => {
            let step = history.log().next().unwrap().unwrap();
            let now = workspace.at(step.id).unwrap();
            assert_eq!(rank(&now, "b"), rank(workspace, "b"));
            return;
        }
        Operation::Undo => history.undo(),
        Operation::UndoRest => history.undo_rest(),
        Operation::Redo => history.redo(),
    };
    if let Err(error) = undone {
        assert_eq!(error.kind(), ErrorKind::OutOfDate, "{error}");
    }
}

/// The rows that differ.
pub(super) fn difference(before: &Rows, after: &Rows) -> BTreeSet<i64> {
    let ids = before.keys().chain(after.keys());
    let differ = ids.filter(|id| before.get(id) != after.get(id));
    differ.copied().collect()
}
