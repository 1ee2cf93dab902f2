//! The steps that have changed one object.

use dflat::Workspace;
use dflat::history::BlameChange::{Deleted, Inserted, Updated};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest};

use super::files::{delete, file, open, put};

#[test]
fn blame_has_the_steps_of_one_object_under_all_of_its_keys() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        put(&workspace, "b", 1);
        delete(&workspace, "a");
        put(&workspace, "a", 2);
        let renamed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            tx.set_label("rename");
            let item = tx.get::<Item>("b")?.unwrap();
            let mut request = ItemChangeRequest::change(tx, &item)?.unwrap();
            request.id = "c".into();
            tx.submit(request)
        });
        renamed.unwrap();
        workspace.history().undo().unwrap().unwrap();
        workspace.history().redo().unwrap().unwrap();
        let blamed = |workspace: &Workspace, id: &str| {
            let blamed = workspace.history().blame::<Item>(id).unwrap();
            let changes = blamed
                .iter()
                .map(|blamed| (blamed.step.id.0, blamed.change));
            changes.collect::<Vec<_>>()
        };
        assert_eq!(
            blamed(&workspace, "a"),
            [(4, Inserted), (3, Deleted), (1, Inserted)]
        );
        assert_eq!(
            blamed(&workspace, "c"),
            [(7, Updated), (6, Updated), (5, Updated), (2, Inserted)]
        );
        assert_eq!(blamed(&workspace, "d"), []);
        let labelled = workspace.history().labelled("rename");
        assert_eq!(labelled.blame::<Item>("c").unwrap().len(), 3);
    });
}

// The step that gave the object another key was missing from the blame of its earlier key.
#[test]
fn blame_has_the_step_that_took_the_key_away() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let rename = |from: &str, to: &str| {
            let renamed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
                let item = tx.get::<Item>(from)?.unwrap();
                let mut request = ItemChangeRequest::change(tx, &item)?.unwrap();
                request.id = to.into();
                tx.submit(request)
            });
            renamed.unwrap();
        };
        put(&workspace, "a", 1);
        rename("a", "b");
        // This step is of the object under another key.
        put(&workspace, "b", 2);
        let blamed = |id: &str| {
            let blamed = workspace.history().blame::<Item>(id).unwrap();
            let changes = blamed
                .iter()
                .map(|blamed| (blamed.step.id.0, blamed.change));
            changes.collect::<Vec<_>>()
        };
        assert_eq!(blamed("a"), [(2, Updated), (1, Inserted)]);
        assert_eq!(blamed("b"), [(3, Updated), (2, Updated), (1, Inserted)]);
        // Another object gets the key, and loses it.
        put(&workspace, "a", 3);
        rename("a", "c");
        let of_both = [(5, Updated), (4, Inserted), (2, Updated), (1, Inserted)];
        assert_eq!(blamed("a"), of_both);
    });
}
