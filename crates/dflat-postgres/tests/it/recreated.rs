//! Tables that an administrator removes, and that are made again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dflat::{ErrorKind, Subscription, Workspace};
use dflat_testkit::fixture::{bounded, until};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use crate::engines::{engine, is_skipped};
use crate::server::{new_schema, server, sql};

fn put(workspace: &Workspace, id: &str) -> dflat::Result<()> {
    workspace.perform_changes_blocking([Item::TABLE], |tx| {
        let id = id.to_owned();
        let data = ItemData {
            id,
            ..ItemData::default()
        };
        tx.submit(ItemChangeRequest::upsert(data)).map(drop)
    })
}

/// The ids of a live query.
type Latest = Arc<Mutex<Vec<String>>>;

fn follow(workspace: &Workspace) -> (Subscription, Latest) {
    let latest = Latest::default();
    let noted = Arc::clone(&latest);
    let list = workspace.fetch::<Item>().order_by(Item::ID.ascending());
    let subscription = workspace.subscribe(list, move |update| {
        let ids = update.unwrap();
        let ids = ids.result().iter().map(|item| item.id().to_owned());
        *noted.lock().unwrap() = ids.collect();
    });
    (subscription.unwrap(), latest)
}

/// Waits until a live query has these ids.
fn await_ids(latest: &Latest, ids: &[&str]) {
    until(|| {
        std::thread::sleep(Duration::from_millis(1));
        *latest.lock().unwrap() == ids
    });
}

#[test]
fn live_query_gets_the_objects_of_tables_that_were_made_again() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let (writer, reader) = (engine(&schema), engine(&schema));
        put(&writer, "old").unwrap();
        let (own, others) = (follow(&writer), follow(&reader));
        await_ids(&own.1, &["old"]);
        await_ids(&others.1, &["old"]);
        let recreate = format!("DROP SCHEMA \"{schema}\" CASCADE; CREATE SCHEMA \"{schema}\"");
        sql(server().unwrap(), &recreate).unwrap();
        // The connection of the writer goes on, so its number is in the same record as before.
        until(|| put(&writer, "new").is_ok());
        await_ids(&own.1, &["new"]);
        await_ids(&others.1, &["new"]);
        put(&writer, "next").unwrap();
        await_ids(&own.1, &["new", "next"]);
        await_ids(&others.1, &["new", "next"]);
    });
}

#[test]
fn live_query_gets_the_objects_of_tables_that_have_more_commits() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let (schema, other) = (new_schema(), new_schema());
        let (writer, reader) = (engine(&schema), engine(&schema));
        put(&writer, "old").unwrap();
        let (own, others) = (follow(&writer), follow(&reader));
        await_ids(&own.1, &["old"]);
        await_ids(&others.1, &["old"]);
        for id in ["a", "b", "c"] {
            put(&engine(&other), id).unwrap();
        }
        // No state between the old tables and the new ones is seen.
        let replace = format!(
            "BEGIN; ALTER SCHEMA \"{schema}\" RENAME TO \"{schema} old\"; \
             ALTER SCHEMA \"{other}\" RENAME TO \"{schema}\"; COMMIT"
        );
        sql(server().unwrap(), &replace).unwrap();
        await_ids(&own.1, &["a", "b", "c"]);
        await_ids(&others.1, &["a", "b", "c"]);
    });
}

#[test]
fn transaction_that_has_read_removed_tables_is_not_committed() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let (schema, other) = (new_schema(), new_schema());
        let writer = engine(&schema);
        put(&writer, "old").unwrap();
        put(&engine(&other), "new").unwrap();
        // As if the same connection had written to both.
        let same = ["control", "log"].map(|table| {
            format!(
                "UPDATE \"{other}\".dflat__{table} SET engine = \
                 (SELECT engine FROM \"{schema}\".dflat__control)"
            )
        });
        let same = same.join("; ");
        let replace = format!(
            "BEGIN; {same}; ALTER SCHEMA \"{schema}\" RENAME TO \"{schema} old\"; \
             ALTER SCHEMA \"{other}\" RENAME TO \"{schema}\"; COMMIT"
        );
        let mut read = Vec::new();
        let written = writer.perform_changes_blocking_retrying([Item::TABLE], |tx| {
            read.push(tx.fetch::<Item>().all()?[0].id().to_owned());
            if read.len() == 1 {
                sql(server().unwrap(), &replace).unwrap();
            }
            let id = format!("after {}", read[read.len() - 1]);
            let data = ItemData {
                id,
                ..ItemData::default()
            };
            tx.submit(ItemChangeRequest::upsert(data)).map(drop)
        });
        written.unwrap();
        assert_eq!(read, ["old", "new"]);
        let other = engine(&schema);
        let all = other.fetch::<Item>().order_by(Item::ID.ascending());
        let all = all.all().unwrap();
        let ids: Vec<_> = all.iter().map(|item| item.id()).collect();
        assert_eq!(ids, ["after new", "new"]);
    });
}

#[test]
fn program_that_only_writes_goes_on_after_its_schema_is_removed() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let writer = engine(&schema);
        put(&writer, "old").unwrap();
        remove(&schema);
        // The first call finds out, and the next one looks again.
        let failed = put(&writer, "new").unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Busy, "{failed:?}");
        put(&writer, "new").unwrap();
        assert_eq!(writer.fetch::<Item>().count().unwrap(), 1);
    });
}

#[test]
fn program_that_only_reads_snapshots_goes_on_after_its_schema_is_removed() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let reader = engine(&schema);
        put(&engine(&schema), "old").unwrap();
        let count = || reader.snapshot()?.fetch::<Item>().count();
        assert_eq!(count().unwrap(), 1);
        remove(&schema);
        let failed = count().unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Busy, "{failed:?}");
        assert_eq!(count().unwrap(), 0);
    });
}

fn remove(schema: &str) {
    let remove = format!("DROP SCHEMA \"{schema}\" CASCADE");
    sql(server().unwrap(), &remove).unwrap();
}

#[test]
fn deleted_records_let_an_idle_program_read_nothing_again() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let (schema, server) = (new_schema(), server().unwrap());
        put(&engine(&schema), "a").unwrap();
        let address = format!("{} application_name=idle", server.address());
        let reader = Workspace::server(&address).schema(&schema).open().unwrap();
        let (_subscription, latest) = follow(&reader);
        await_ids(&latest, &["a"]);
        let of_reader = "FROM pg_stat_activity WHERE application_name = 'idle'";
        let is_followed = || {
            let asks = format!("SELECT 1 {of_reader} AND query ~ 'advisory|pg_notify'");
            !sql(server, &asks).unwrap().is_empty()
        };
        until(is_followed);
        sql(server, &format!("DELETE FROM \"{schema}\".dflat__log")).unwrap();
        for _ in 0..2 {
            let end = format!("SELECT pg_terminate_backend(pid, 30000) {of_reader}");
            sql(server, &end).unwrap();
            until(|| reader.fetch::<Item>().count().is_ok());
            until(is_followed);
        }
        assert_eq!(reader.stats().renewals, 0);
    });
}
