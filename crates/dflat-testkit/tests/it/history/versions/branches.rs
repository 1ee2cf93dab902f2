//! Branches, compared with whole copies of their objects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dflat::history::Note;
use dflat::{ErrorKind, Object, SubscribedObject};
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::Item;

use super::super::files::{delete, file, open, put, rank};
use super::commits::last;

#[test]
fn checkout_is_one_transaction_of_the_difference() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        for id in ["a", "b", "c"] {
            put(&workspace, id, 1);
        }
        let kept = workspace.get::<Item>("b").unwrap().unwrap();
        history.branch("draft").unwrap();
        assert_eq!(history.checkout("draft").unwrap().changed, 0);
        delete(&workspace, "a");
        put(&workspace, "b", 2);
        put(&workspace, "d", 2);
        workspace.settle().unwrap();
        let deliveries = Arc::new(Mutex::new(Vec::new()));
        let results = workspace.subscribe(workspace.fetch::<Item>(), {
            let deliveries = Arc::clone(&deliveries);
            move |items| {
                let items = items.unwrap();
                let items = items.iter().map(|item| (item.id().to_owned(), item.rank()));
                deliveries
                    .lock()
                    .unwrap()
                    .push(items.collect::<BTreeMap<_, _>>());
            }
        });
        let results = results.unwrap();
        let ranks = Arc::new(Mutex::new(Vec::new()));
        let object = workspace.subscribe(&kept, {
            let ranks = Arc::clone(&ranks);
            move |item| {
                let rank = match item {
                    SubscribedObject::Updated(item) => Some(item.rank()),
                    _ => None,
                };
                ranks.lock().unwrap().push(rank);
            }
        });
        let object = object.unwrap();
        workspace.settle().unwrap();
        let before = (
            deliveries.lock().unwrap().len(),
            ranks.lock().unwrap().len(),
        );
        let done = history.checkout("main").unwrap();
        assert_eq!(done.changed, 3);
        workspace.settle().unwrap();
        let seen = deliveries.lock().unwrap().split_off(before.0);
        let main = [("a", 1), ("b", 1), ("c", 1)];
        let main: BTreeMap<_, _> = main.map(|(id, rank)| (id.to_owned(), rank)).into();
        assert_eq!(seen, [main]);
        assert_eq!(ranks.lock().unwrap().split_off(before.1), [Some(1)]);
        let step = history.log().next().unwrap().unwrap();
        assert_eq!(step.note, Note::Checkout(done.commit));
        let table = &step.tables[0];
        assert_eq!((table.inserted, table.updated, table.deleted), (1, 1, 1));
        drop((results, object));
        // The deleted object is back in its row.
        let a = workspace.get::<Item>("a").unwrap().unwrap();
        assert!(a.row_id() < kept.row_id());
    });
}

#[test]
fn undo_ends_at_a_checkout() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        put(&workspace, "a", 1);
        history.branch("draft").unwrap();
        put(&workspace, "b", 1);
        history.checkout("draft").unwrap();
        assert_eq!(history.undo().unwrap(), None);
        put(&workspace, "c", 1);
        assert_eq!(history.undo().unwrap().unwrap().changed, 1);
        assert_eq!(history.undo().unwrap(), None);
        history.checkout("main").unwrap();
        assert_eq!(history.redo().unwrap(), None);
        assert_eq!(
            (rank(&workspace, "a"), rank(&workspace, "b")),
            (Some(1), Some(1))
        );
        assert_eq!(rank(&workspace, "c"), None);
    });
}

#[test]
fn branches_are_listed_refused_and_deleted() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let history = workspace.history();
        assert_eq!(history.branches().unwrap(), []);
        assert_eq!(history.current_branch().unwrap(), "main");
        let kind = |error: dflat::Error| error.kind();
        assert_eq!(
            history.checkout("main").map_err(kind),
            Err(ErrorKind::NotFound)
        );
        put(&workspace, "a", 1);
        let id = history.branch("draft").unwrap();
        let names: Vec<_> = history.branches().unwrap();
        let names: Vec<_> = names
            .iter()
            .map(|branch| (&*branch.name, branch.commit))
            .collect();
        assert_eq!(names, [("draft", id), ("main", id)]);
        let long = "x".repeat(256);
        for name in ["", "a\nb", &long] {
            assert_eq!(
                history.branch(name).map_err(kind),
                Err(ErrorKind::InvalidArgument)
            );
        }
        assert_eq!(
            history.branch("draft").map_err(kind),
            Err(ErrorKind::AlreadyExists)
        );
        assert_eq!(
            history.delete_branch("main").map_err(kind),
            Err(ErrorKind::InvalidArgument)
        );
        assert_eq!(
            history.delete_branch("none").map_err(kind),
            Err(ErrorKind::NotFound)
        );
        let absent = workspace.at_branch("none").map(drop).map_err(kind);
        assert_eq!(absent, Err(ErrorKind::NotFound));
        history.delete_branch("draft").unwrap();
        assert_eq!(
            history.checkout("draft").map_err(kind),
            Err(ErrorKind::NotFound)
        );
        // The commit of a deleted branch stays.
        assert_eq!(
            workspace.at(id).unwrap().fetch::<Item>().count().unwrap(),
            1
        );
        let inside = workspace.perform_changes_blocking([Item::TABLE], |_| {
            assert_eq!(
                history.checkout("main").map_err(kind),
                Err(ErrorKind::WouldDeadlock)
            );
            Ok(())
        });
        inside.unwrap();
        workspace.shutdown().unwrap();
        let workspace = open(&path);
        assert_eq!(workspace.history().current_branch().unwrap(), "main");
    });
}

#[test]
fn branch_is_remembered_and_changes_before_a_checkout_are_committed() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        workspace.history().branch("draft").unwrap();
        workspace.history().checkout("draft").unwrap();
        put(&workspace, "a", 2);
        workspace.shutdown().unwrap();
        let workspace = open(&path);
        assert_eq!(workspace.history().current_branch().unwrap(), "draft");
        let done = workspace.history().checkout("main").unwrap();
        assert_eq!(rank(&workspace, "a"), Some(1));
        assert_eq!(rank(&workspace.at(done.before).unwrap(), "a"), Some(2));
        assert_eq!(rank(&workspace.at_branch("draft").unwrap(), "a"), Some(2));
        // Changes after a checkout are changes of the branch alone.
        put(&workspace, "a", 3);
        workspace.history().commit("third").unwrap();
        assert_eq!(last(&workspace).parents, [done.commit]);
        assert_eq!(last(&workspace).steps, 1);
        workspace.history().checkout("draft").unwrap();
        assert_eq!(rank(&workspace, "a"), Some(2));
    });
}
