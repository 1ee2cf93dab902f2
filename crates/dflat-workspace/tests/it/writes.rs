//! Transactions with the dictionary, savepoints, writes by query and table copies.

use std::num::NonZeroUsize;
use std::thread;

use dflat_engine::dictionary::{TABLE as DICTIONARY, Value as Item};
use dflat_engine::engine::{PerformOptions, Subject};
use dflat_engine::observe::DeliveryOptions;
use dflat_engine::transaction::Change;
use dflat_workspace::{Error, ErrorKind, FileOptions, Operation, TableCopy, Workspace};

use crate::posts::{below, fetch, fill, insert, payload, perform, table, title, titles};

#[test]
fn a_savepoint_that_fails_is_undone_with_its_values_in_the_dictionary() {
    let (workspace, table) = (Workspace::in_memory(), table("1"));
    let done = workspace.perform_blocking(
        [table.clone(), DICTIONARY],
        PerformOptions::default(),
        |tx| {
            let keys = tx.keys(tx.dictionary());
            insert(&tx, &table, "kept", 1)?;
            keys.set("kept", Some(&Item::I64(1)))?;
            let undone = tx.nested(|| {
                insert(&tx, &table, "undone", 2)?;
                keys.set("undone", Some(&Item::I64(2)))?;
                Err::<(), _>(Error::new(ErrorKind::User, "undo it"))
            });
            assert_eq!(undone.unwrap_err().kind(), ErrorKind::User);
            Ok(())
        },
    );
    done.unwrap();
    assert_eq!(titles(&workspace, &table), ["kept"]);
    let dictionary = workspace.dictionary();
    assert_eq!(dictionary.get("kept").unwrap(), Some(Item::I64(1)));
    assert_eq!(dictionary.get("undone").unwrap(), None);
}

#[test]
fn a_handler_that_fails_releases_its_keys_and_changes_nothing() {
    let (workspace, table) = (Workspace::in_memory(), table("1"));
    let failed = perform(&workspace, &table, |tx, table| {
        insert(tx, table, "undone", 1)?;
        Err(Error::new(ErrorKind::User, "undo all"))
    });
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::User);
    assert_eq!(titles(&workspace, &table), [""; 0]);
}

#[test]
fn writes_by_query_change_all_objects_or_none() {
    let (workspace, table) = (Workspace::in_memory(), table("1"));
    fill(&workspace, &table, 600);
    let rename = |to: fn(&str) -> String| {
        perform(&workspace, &table, move |tx, table| {
            let written = tx.write_each(table, below(table, 300), |base| {
                let payload = payload(&to(title(base.object())), 1000);
                let change = Change::Update {
                    base,
                    payload: &payload,
                    lacking: None,
                };
                tx.transaction().submit(table, change).map(drop)
            });
            // A refused change undoes the others, and the transaction goes on.
            written.map(|count| assert_eq!(count, 300))
        })
    };
    let error = rename(|_| "the same for all".to_owned()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(titles(&workspace, &table)[1], "post 1");
    rename(|title| format!("new {title}")).unwrap();
    assert_eq!(titles(&workspace, &table)[299], "new post 299");
    assert_eq!(titles(&workspace, &table)[300], "post 300");

    let deleted = workspace.perform_blocking([table.clone()], PerformOptions::default(), |tx| {
        tx.delete_where(&table, below(&table, 1000))
    });
    assert_eq!(deleted.unwrap(), 300);
    assert_eq!(titles(&workspace, &table).len(), 300);
}

/// The second table has a row with the same id.
#[test]
fn objects_of_another_table_are_refused() {
    let workspace = Workspace::in_memory();
    let (first, second) = (table("1"), table("2"));
    fill(&workspace, &first, 1);
    fill(&workspace, &second, 1);
    let other = fetch(&workspace, &first).all().unwrap().objects[0].clone();
    let done = workspace.perform_blocking(
        [first.clone(), second.clone()],
        PerformOptions::default(),
        |tx| {
            let refused = |error: Error, operation: &str| {
                assert_eq!(error.kind(), ErrorKind::InvalidArgument);
                let message = format!("cannot {operation} Post: the object is of another type");
                assert_eq!(error.to_string(), message);
            };
            let payload = payload("new", 1);
            let update = Operation::Update {
                base: &other,
                payload: &payload,
            };
            let delete = || Operation::Delete { base: &other };
            refused(tx.submit(&second, update, None).unwrap_err(), "look up");
            refused(tx.submit(&second, delete(), None).unwrap_err(), "look up");
            let create = Operation::Create { payload: &payload };
            let optimistic = tx.submit(&second, create, Some(&other));
            refused(optimistic.unwrap_err(), "look up");
            let base = tx.transaction().latest(&first, &other)?.unwrap();
            let delete = tx.transaction().submit(&second, Change::Delete { base });
            refused(delete.unwrap_err(), "delete");
            Ok(())
        },
    );
    done.unwrap();
    let subscribed = workspace.engine().observe(
        &second,
        Subject::Object(other),
        DeliveryOptions::default(),
        Box::new(|_| {}),
    );
    let error = subscribed.map(drop).unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot subscribe to Post: the object is of another type"
    );
    assert_eq!(titles(&workspace, &first), ["post 0"]);
    assert_eq!(titles(&workspace, &second), ["post 0"]);
}

#[test]
fn a_table_copy_that_was_interrupted_goes_on_where_it_ended() {
    let workspace = Workspace::in_memory();
    let (old, new) = (table("1"), table("2"));
    fill(&workspace, &old, 10);
    let mut copy = TableCopy::new(old.clone(), new.clone());
    copy.set_batch_size(NonZeroUsize::new(4).unwrap());
    let mut reported = Vec::new();
    let failed = copy.run(
        &workspace,
        &mut |object, put| match title(object) {
            "post 6" => Err(Error::new(ErrorKind::User, "stop here")),
            _ => put(object.payload()),
        },
        &mut |progress| reported.push(progress.copied),
    );
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::User);
    assert_eq!((reported, titles(&workspace, &new).len()), (vec![4], 4));

    let again =
        &mut |object: &dflat_engine::object::Object,
              put: &mut dyn FnMut(&[u8]) -> dflat_workspace::Result<()>| {
            put(object.payload())
        };
    let done = copy.run(&workspace, again, &mut |_| {}).unwrap();
    assert_eq!((done.copied, done.present), (6, 4));
    assert_eq!(titles(&workspace, &new), titles(&workspace, &old));
}

/// A copy that gives its objects new keys would copy them again.
#[test]
fn a_table_is_not_copied_into_itself() {
    let workspace = Workspace::in_memory();
    let table = table("1");
    fill(&workspace, &table, 3);
    let mut calls = 0;
    let copied = TableCopy::new(table.clone(), table.clone()).run(
        &workspace,
        &mut |object, put| {
            calls += 1;
            match calls {
                100 => Err(Error::new(ErrorKind::User, "it does not end")),
                _ => put(&payload(&format!("{}'", title(object)), 0)),
            }
        },
        &mut |_| {},
    );
    let error = copied.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert_eq!(titles(&workspace, &table).len(), 3);
}

#[test]
fn transaction_takes_no_key_of_another_workspace() {
    let directory = tempfile::tempdir().unwrap();
    let open = |name: &str| {
        let path = directory.path().join(name);
        Workspace::open(&path, &FileOptions::default()).unwrap()
    };
    let (own, other) = (open("own.db"), open("other.db"));
    let value = Some(Item::I64(7));
    let inside_other = || {
        other.perform_blocking([DICTIONARY], PerformOptions::default(), |tx| {
            let keys = tx.keys(own.dictionary());
            for refused in [keys.get("key").err(), keys.set("key", None).err()] {
                let kind = refused.map(|error| error.kind());
                assert_eq!(kind, Some(ErrorKind::InvalidArgument));
            }
            // Another workspace on the file has the same dictionary.
            let another = open("other.db");
            tx.keys(another.dictionary()).set("another", value.as_ref())
        })
    };
    // The value is not written before the handler of its workspace has ended.
    let written = own.perform_blocking([DICTIONARY], PerformOptions::default(), |_| {
        own.dictionary().set("key", value.clone())?;
        thread::scope(|scope| scope.spawn(inside_other).join().unwrap())
    });
    written.unwrap();
    assert_eq!(other.dictionary().get("another").unwrap(), value);
    own.dictionary().synchronize().unwrap();
    drop(own);
    assert_eq!(open("own.db").dictionary().get("key").unwrap(), value);
}
