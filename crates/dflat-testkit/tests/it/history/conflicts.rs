//! Undo of objects that others have changed since.

use dflat::history::Note;
use dflat::{ErrorKind, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest};

use super::files::{another, data, delete, file, open, payload, put, rank, rows, steps};
use super::unnoted::prevention::{Prevention, unnoted};

/// Stores items in one transaction.
fn put_all(workspace: &Workspace, ids: &[&str], rank: i32) {
    let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        ids.iter().try_for_each(|id| {
            tx.submit(ItemChangeRequest::upsert(data(*id, rank)))
                .map(drop)
        })
    });
    stored.unwrap();
}

#[test]
fn conflict_names_the_objects_and_the_later_steps_and_changes_nothing() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put_all(&workspace, &["a", "b"], 1);
        put_all(&workspace, &["a", "b"], 2);
        let other = another(&path);
        put(&other, "b", 3);
        let before = rows(&path, "item");
        let count = steps(&path).len();
        let error = workspace.history().undo().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfDate);
        let text = error.to_string();
        assert!(
            text.contains("the object \"b\" of Item was changed by step 3"),
            "{text}"
        );
        assert_eq!(rows(&path, "item"), before);
        assert_eq!(steps(&path).len(), count);
        let undone = workspace.history().undo_rest().unwrap().unwrap();
        assert_eq!((undone.changed, undone.conflicts.len()), (1, 1));
        let conflict = &undone.conflicts[0];
        assert_eq!(conflict.table, "item");
        assert_eq!(conflict.key, [dflat::Value::text("b")]);
        assert_eq!(conflict.steps.len(), 1);
        assert_eq!(
            (rank(&workspace, "a"), rank(&workspace, "b")),
            (Some(1), Some(3))
        );
        // The redo has the rest too.
        workspace.history().redo().unwrap().unwrap();
        assert_eq!(
            (rank(&workspace, "a"), rank(&workspace, "b")),
            (Some(2), Some(3))
        );
    });
}

#[test]
fn changes_that_cancel_one_another_out_are_no_conflict() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        put(&workspace, "a", 2);
        let other = another(&path);
        put(&other, "a", 3);
        put(&other, "a", 2);
        workspace.history().undo().unwrap().unwrap();
        assert_eq!(rank(&workspace, "a"), Some(1));
    });
}

#[test]
fn deletion_is_not_undone_if_another_object_has_the_key() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put_all(&workspace, &["a", "b"], 1);
        let deleted = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            for id in ["a", "b"] {
                let item = tx.get::<Item>(id)?.unwrap();
                let request = ItemChangeRequest::deletion(tx, &item)?.unwrap();
                tx.submit(request)?;
            }
            Ok(())
        });
        deleted.unwrap();
        put(&another(&path), "a", 7);
        let error = workspace.history().undo().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfDate);
        assert!(error.to_string().contains("another object"), "{error}");
        assert_eq!(
            (rank(&workspace, "a"), rank(&workspace, "b")),
            (Some(7), None)
        );
        let undone = workspace.history().undo_rest().unwrap().unwrap();
        assert_eq!((undone.changed, undone.conflicts.len()), (1, 1));
        assert_eq!(
            (rank(&workspace, "a"), rank(&workspace, "b")),
            (Some(7), Some(1))
        );
        assert!(workspace.check([Item::TABLE]).unwrap().problems.is_empty());
    });
}

#[test]
fn own_changes_outside_of_the_scope_are_a_conflict_too() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        for (rank, label) in [(1, "draw"), (2, "write")] {
            let done = workspace.perform_changes_blocking([Item::TABLE], |tx| {
                tx.set_label(label);
                tx.submit(ItemChangeRequest::upsert(data("a", rank)))
            });
            done.unwrap();
        }
        let drawing = workspace.history().labelled("draw");
        assert_eq!(drawing.undo().unwrap_err().kind(), ErrorKind::OutOfDate);
        assert_eq!(
            drawing.undo_rest().unwrap_err().kind(),
            ErrorKind::OutOfDate
        );
        workspace
            .history()
            .labelled("write")
            .undo()
            .unwrap()
            .unwrap();
        drawing.undo().unwrap().unwrap();
        assert_eq!(rank(&workspace, "a"), None);
    });
}

#[test]
fn object_that_was_deleted_and_made_anew_is_another_one() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        let other = another(&path);
        delete(&other, "a");
        put(&other, "a", 2);
        let error = workspace.history().undo().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfDate);
        assert_eq!(rank(&workspace, "a"), Some(2));
    });
}

/// The step of a row that got another key without a note lists the row twice.
#[test]
fn conflict_names_a_step_once() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put_all(&workspace, &["a", "b"], 1);
        put_all(&workspace, &["a", "b"], 2);
        workspace.history().commit("before").unwrap();
        let moves = "UPDATE item SET __pk0 = 'z', p = ? WHERE __pk0 = 'a'";
        unnoted(&path, Prevention::Dropped, (moves, Some(&payload("z", 2))));
        // A history that is used makes the step.
        assert!(workspace.history().head().unwrap().is_some());
        let step = workspace.history().log().next().unwrap().unwrap();
        assert_eq!(step.note, Note::Unknown);
        let undone = workspace.history().undo_rest().unwrap().unwrap();
        assert_eq!(rank(&workspace, "b"), Some(1));
        let found: Vec<_> = undone
            .conflicts
            .iter()
            .map(|conflict| (&conflict.key[..], &conflict.steps[..]))
            .collect();
        assert_eq!(found, [(&[dflat::Value::text("a")][..], &[step.id][..])]);
    });
}
