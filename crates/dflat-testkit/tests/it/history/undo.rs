//! Undo and redo of single changes.

use std::sync::mpsc::channel;

use dflat::{ErrorKind, Object, UpdatedObject, Workspace};
use dflat_testkit::fixture::{bounded, drained};
use dflat_testkit::schema::{Item, ItemChangeRequest, Other, OtherChangeRequest, OtherData};

use super::files::{data, delete, file, open, put, rank, rows, steps};

#[test]
fn nothing_is_undone_before_the_first_change_and_redone_before_the_first_undo() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        assert_eq!(workspace.history().undo().unwrap(), None);
        assert!(!path.exists());
        put(&workspace, "a", 1);
        assert_eq!(workspace.history().redo().unwrap(), None);
        let memory = Workspace::in_memory();
        put(&memory, "a", 1);
        assert_eq!(memory.history().undo().unwrap(), None);
        assert_eq!(rank(&memory, "a"), Some(1));
    });
}

#[test]
fn changes_are_undone_from_the_last_one_back_and_redone_from_the_first_one_on() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let mut copies = vec![rows(&path, "item")];
        for rank in 1..5 {
            put(&workspace, "a", rank);
            copies.push(rows(&path, "item"));
        }
        delete(&workspace, "a");
        copies.push(rows(&path, "item"));
        let history = workspace.history();
        for _ in 0..3 {
            for copy in copies.iter().rev().skip(1) {
                let undone = history.undo().unwrap().unwrap();
                assert_eq!((undone.changed, undone.steps.len()), (1, 1));
                assert_eq!(&rows(&path, "item"), copy);
            }
            assert_eq!(history.undo().unwrap(), None);
            for copy in copies.iter().skip(1) {
                history.redo().unwrap().unwrap();
                assert_eq!(&rows(&path, "item"), copy);
            }
            assert_eq!(history.redo().unwrap(), None);
        }
        // A change after an undo ends the redo.
        history.undo().unwrap().unwrap();
        put(&workspace, "b", 1);
        assert_eq!(history.redo().unwrap(), None);
    });
}

#[test]
fn deleted_object_returns_under_its_row_id_and_row_ids_are_not_used_again() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        put(&workspace, "b", 1);
        let row_id = workspace.get::<Item>("a").unwrap().unwrap().row_id();
        delete(&workspace, "a");
        workspace.history().undo().unwrap().unwrap();
        let back = workspace.get::<Item>("a").unwrap().unwrap();
        assert_eq!(back.row_id(), row_id);
        put(&workspace, "c", 1);
        let next = workspace.get::<Item>("c").unwrap().unwrap();
        assert_eq!(next.row_id().0, 3);
        // Undo of an insertion, and an insertion after it.
        workspace.history().undo().unwrap().unwrap();
        put(&workspace, "d", 1);
        let next = workspace.get::<Item>("d").unwrap().unwrap();
        assert_eq!(next.row_id().0, 4);
    });
}

#[test]
fn live_query_gets_the_difference_of_an_undo_once() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        for id in ["a", "b", "c"] {
            put(&workspace, id, 1);
        }
        let item = workspace.get::<Item>("c").unwrap().unwrap();
        let changed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            let request = ItemChangeRequest::deletion(tx, &item)?.unwrap();
            tx.submit(request)?;
            tx.submit(ItemChangeRequest::upsert(data("a", 2)))?;
            tx.submit(ItemChangeRequest::upsert(data("d", 4)))
        });
        changed.unwrap();
        let (send, updates) = channel();
        let query = workspace.fetch::<Item>().order_by(Item::ID.ascending());
        let subscription = workspace.subscribe(query, move |update| {
            let update = update.unwrap();
            let ids: Vec<String> = update.result().iter().map(|i| i.id().to_owned()).collect();
            let counts = (
                update.inserted().count(),
                update.deleted().count(),
                update.updated().count(),
            );
            send.send((ids, counts)).unwrap();
        });
        let subscription = subscription.unwrap();
        workspace.settle().unwrap();
        let _ = drained(&updates);
        workspace.history().undo().unwrap().unwrap();
        workspace.settle().unwrap();
        let ids = ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(drained(&updates), [(ids, (1, 1, 1))]);
        subscription.cancel();
    });
}

#[test]
fn keys_and_unique_values_that_moved_in_a_circle_move_back() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let filled = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            for number in 0..3 {
                let mut data = data(format!("item {number}"), number);
                data.code = Some(format!("code {number}"));
                tx.submit(ItemChangeRequest::creation(data))?;
            }
            Ok(())
        });
        filled.unwrap();
        let before = rows(&path, "item");
        let moved = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            let items = tx.fetch::<Item>().all()?;
            for (number, item) in items.iter().enumerate() {
                let mut request = ItemChangeRequest::change(tx, item)?.unwrap();
                (request.id, request.code) = (format!("moving {number}"), None);
                tx.submit(request)?;
            }
            for (number, item) in items.iter().enumerate() {
                let mut request = ItemChangeRequest::change(tx, item)?.unwrap();
                let next = (number + 1) % 3;
                request.id = format!("item {next}");
                request.code = Some(format!("code {next}"));
                tx.submit(request)?;
            }
            Ok(())
        });
        moved.unwrap();
        let after = rows(&path, "item");
        assert_ne!(before, after);
        let undone = workspace.history().undo().unwrap().unwrap();
        assert_eq!(rows(&path, "item"), before);
        assert_eq!(undone.conflicts, []);
        workspace.history().redo().unwrap().unwrap();
        assert_eq!(rows(&path, "item"), after);
        assert!(workspace.check([Item::TABLE]).unwrap().problems.is_empty());
        for number in 0..3 {
            let code = format!("code {number}");
            let found = workspace.fetch::<Item>().filter(Item::CODE.eq(code)).all();
            assert_eq!(found.unwrap().len(), 1);
        }
    });
}

/// The failure of an undo that had given a unique value to one row before it left the row that had
/// the value: it ended with `AlreadyExists`.
#[test]
fn unique_value_that_moved_on_is_left_with_all_rows_that_depend_on_it() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let code = |id: &str, number: i32, code: Option<&str>| {
            let mut data = data(id, number);
            data.code = code.map(str::to_owned);
            ItemChangeRequest::upsert(data)
        };
        let perform = |requests: Vec<ItemChangeRequest>| {
            let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| {
                requests
                    .into_iter()
                    .try_for_each(|request| tx.submit(request).map(drop))
            });
            stored.unwrap();
        };
        // The order of the rows decides which of them gets its value first.
        perform(vec![
            code("free", 0, None),
            code("first", 0, Some("x")),
            code("second", 0, Some("y")),
        ]);
        perform(vec![
            code("free", 5, None),
            code("first", 0, Some("a")),
            code("second", 0, Some("x")),
        ]);
        let moved = workspace.history().log().next().unwrap().unwrap().id;
        perform(vec![code("other", 0, Some("y"))]);
        let before = rows(&path, "item");
        let error = workspace.history().undo_step(moved).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfDate, "{error}");
        assert_eq!(rows(&path, "item"), before);
        assert!(workspace.check([Item::TABLE]).unwrap().problems.is_empty());
    });
}

/// Each object has the value that the object after it, or before it, had before. Only the first or
/// the last of them lacks its value at the undo.
#[test]
fn undo_of_a_long_chain_of_unique_values_ends() {
    const COUNT: i32 = 500;
    for shift in [1, -1] {
        bounded(move || {
            let (_directory, path) = file();
            let workspace = open(&path);
            let set = |numbers: Vec<i32>, code: &dyn Fn(i32) -> String| {
                let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| {
                    numbers.into_iter().try_for_each(|number| {
                        let mut data = data(format!("item {number:04}"), number);
                        data.code = Some(code(number));
                        tx.submit(ItemChangeRequest::upsert(data)).map(drop)
                    })
                });
                stored.unwrap();
            };
            let numbers: Vec<i32> = (0..COUNT).collect();
            set(numbers.clone(), &|number| number.to_string());
            let order = match shift {
                1 => numbers.into_iter().rev().collect(),
                _ => numbers,
            };
            set(order, &|number| (number + shift).to_string());
            let moved = workspace.history().log().next().unwrap().unwrap().id;
            let first = if shift == 1 { 0 } else { COUNT - 1 };
            set(vec![COUNT], &|_| first.to_string());
            let before = rows(&path, "item");
            let error = workspace.history().undo_step(moved).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfDate, "{error}");
            assert_eq!(rows(&path, "item"), before);
        });
    }
}

#[test]
fn transactions_of_one_undo_group_are_undone_and_redone_together() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        for (rank, group) in [(1, None), (2, Some(7)), (3, Some(7)), (4, Some(8))] {
            let done = workspace.perform_changes_blocking([Item::TABLE], |tx| {
                if let Some(group) = group {
                    tx.set_undo_group(group);
                }
                tx.submit(ItemChangeRequest::upsert(data("a", rank)))
            });
            done.unwrap();
        }
        let history = workspace.history();
        for (left, count) in [(Some(3), 1), (Some(1), 2), (None, 1)] {
            assert_eq!(history.undo().unwrap().unwrap().steps.len(), count);
            assert_eq!(rank(&workspace, "a"), left);
        }
        for (left, count) in [(Some(1), 1), (Some(3), 2), (Some(4), 1)] {
            assert_eq!(history.redo().unwrap().unwrap().steps.len(), count);
            assert_eq!(rank(&workspace, "a"), left);
        }
    });
}

#[test]
fn changes_of_types_that_are_not_versioned_remain_and_are_reported() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let tables = [Item::TABLE, Other::TABLE, dflat::Dictionary::TABLE];
        let changed = workspace.perform_changes_blocking(tables, |tx| {
            tx.dictionary().set("key", 5_i64)?;
            tx.submit(OtherChangeRequest::creation(OtherData::default()))?;
            tx.submit(ItemChangeRequest::creation(data("a", 1)))
        });
        changed.unwrap();
        let undone = workspace.history().undo().unwrap().unwrap();
        assert_eq!(undone.remaining, ["dictitem_v_dflat_internal__", "other"]);
        assert_eq!(rank(&workspace, "a"), None);
        assert_eq!(workspace.fetch::<Other>().count().unwrap(), 1);
        assert_eq!(workspace.dictionary().get::<i64>("key").unwrap(), Some(5));
    });
}

#[test]
fn named_workspace_undoes_changes_of_its_earlier_runs_and_others_do_not() {
    bounded(|| {
        let (_directory, path) = file();
        let named = |id| {
            let builder = Workspace::builder(&path).versioned::<Item>();
            builder.workspace_id(id).open().unwrap()
        };
        let first = named(1);
        put(&first, "a", 1);
        put(&first, "a", 2);
        drop(first);
        let unnamed = open(&path);
        assert_eq!(unnamed.history().undo().unwrap(), None);
        assert_eq!(unnamed.history().of_workspace().log().count(), 0);
        drop(unnamed);
        let another = named(2);
        assert_eq!(another.history().undo().unwrap(), None);
        another.history().of_everyone().undo().unwrap().unwrap();
        assert_eq!(rank(&another, "a"), Some(1));
        drop(another);
        let again = named(1);
        again.history().redo().unwrap().unwrap();
        assert_eq!(rank(&again, "a"), Some(2));
        again.history().undo().unwrap().unwrap();
        again.history().undo().unwrap().unwrap();
        assert_eq!(rank(&again, "a"), None);
    });
}

#[test]
fn import_of_many_objects_is_undone_and_redone_as_one_step() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        let before = rows(&path, "item");
        let filled = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            (0..6000).try_for_each(|number| {
                let id = format!("{number:060}");
                tx.submit(ItemChangeRequest::creation(data(id, number)))
                    .map(drop)
            })
        });
        filled.unwrap();
        let after = rows(&path, "item");
        let undone = workspace.history().undo().unwrap().unwrap();
        assert_eq!(undone.changed, 6000);
        assert_eq!(rows(&path, "item"), before);
        workspace.history().redo().unwrap().unwrap();
        assert_eq!(rows(&path, "item"), after);
    });
}

#[test]
fn chosen_step_is_undone_once() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        for id in ["a", "b", "c"] {
            put(&workspace, id, 1);
        }
        let history = workspace.history();
        let log: Vec<_> = history.log().map(|step| step.unwrap().id).collect();
        history.undo_step(log[1]).unwrap().unwrap();
        let left = ["a", "b", "c"].map(|id| rank(&workspace, id));
        assert_eq!(left, [Some(1), None, Some(1)]);
        let last = history.log().next().unwrap().unwrap().id;
        let absent = dflat::history::StepId(last.0 + 1);
        let refused = [log[1], last, absent].map(|id| history.undo_step(id).unwrap_err().kind());
        let (argument, missing) = (ErrorKind::InvalidArgument, ErrorKind::NotFound);
        assert_eq!(refused, [argument, argument, missing]);
        history.redo().unwrap().unwrap();
        assert_eq!(rank(&workspace, "b"), Some(1));
        assert_eq!(steps(&path).len(), 5);
    });
}

#[test]
fn undo_inside_a_handler_would_deadlock() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        let inside = workspace
            .perform_changes_blocking([Item::TABLE], |_| workspace.history().undo().map(drop));
        assert_eq!(inside.unwrap_err().kind(), ErrorKind::WouldDeadlock);
        workspace.shutdown().unwrap();
        let after = workspace.history().undo();
        assert_eq!(after.unwrap_err().kind(), ErrorKind::ShutDown);
    });
}

#[test]
fn creation_that_was_undone_can_be_made_again() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        workspace.history().undo().unwrap().unwrap();
        let created = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::creation(data("a", 2)))
        });
        let UpdatedObject::Inserted(item) = created.unwrap() else {
            panic!("the object exists");
        };
        assert_eq!(item.row_id().0, 2);
        assert_eq!(workspace.history().redo().unwrap(), None);
    });
}
