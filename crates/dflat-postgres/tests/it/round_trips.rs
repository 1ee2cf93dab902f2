//! The round trips of operations, which a proxy counts.

use std::time::Duration;

use dflat::{Object, Result, TransactionContext, Workspace};
use dflat_engine::storage::{Backend, Durability, RowWrite};
use dflat_model::RowId;
use dflat_testkit::fixture::{bounded, until};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};
use futures::executor::block_on;
use futures::future::join_all;

use crate::engines::{engine, is_skipped};
use crate::proxy::Proxy;
use crate::server::{backend, new_schema, server, sql};

/// The delay of every answer, longer than a client takes to send what it sends without waiting.
const DELAY: Duration = Duration::from_millis(30);

fn data(rank: i32) -> ItemData {
    ItemData {
        id: format!("item {rank}"),
        rank,
        ..ItemData::default()
    }
}

/// A workspace behind a slow network, the proxy between, and a workspace beside the server. The
/// type is known, and 200 objects are stored.
fn distant() -> (Workspace, Proxy, Workspace) {
    let schema = new_schema();
    let near = engine(&schema);
    let created = near.perform_changes([Item::TABLE], |tx| {
        (0..200).try_for_each(|rank| tx.submit(ItemChangeRequest::creation(data(rank))).map(drop))
    });
    created.wait().unwrap();
    let proxy = Proxy::slow(&server().unwrap().socket(), DELAY);
    let distant = Workspace::server(&proxy.address())
        .schema(&schema)
        .open()
        .unwrap();
    (distant, proxy, near)
}

/// The number of round trips of a transaction, when it is made again. The first time, statements
/// are prepared. Of three others the fewest count, because a busy machine may send late.
fn round_trips(
    (workspace, proxy): (&Workspace, &Proxy),
    mut handler: impl FnMut(&TransactionContext) -> Result<()>,
) -> u64 {
    workspace
        .perform_changes_blocking([Item::TABLE], &mut handler)
        .unwrap();
    let counts = (0..3).map(|_| {
        let before = proxy.round_trips();
        workspace
            .perform_changes_blocking([Item::TABLE], &mut handler)
            .unwrap();
        proxy.round_trips() - before
    });
    counts.min().unwrap()
}

#[test]
fn updates_and_deletions_of_many_objects_take_few_round_trips() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let (distant, proxy, near) = distant();
        let mut rank = 1_000;
        let trips = round_trips((&distant, &proxy), |tx| {
            rank += 1;
            let count = tx.update_where(Item::RANK.ge(0), |item| item.rank = rank)?;
            assert_eq!(count, 200);
            Ok(())
        });
        assert!(trips < 20, "{trips} round trips");
        let changed = near.fetch::<Item>().filter(Item::RANK.eq(rank));
        assert_eq!(changed.count().unwrap(), 200);

        // Nothing that was sent later was sent in another order.
        let trips = round_trips((&distant, &proxy), |tx| {
            for item in tx.fetch::<Item>().all()?.iter() {
                let mut request = ItemChangeRequest::change(tx, item)?.unwrap();
                request.rank += 1;
                tx.submit(request)?;
                let mut request = ItemChangeRequest::change(tx, item)?.unwrap();
                request.rank += 1;
                tx.submit(request)?;
            }
            let item = tx.get::<Item>("item 7")?.unwrap();
            assert_eq!(item.rank() % 2, rank % 2);
            tx.submit(ItemChangeRequest::deletion(tx, &item)?.unwrap())?;
            assert!(tx.get::<Item>("item 7")?.is_none());
            tx.submit(ItemChangeRequest::creation(data(7)))?;
            let item = tx.get::<Item>("item 7")?.unwrap();
            let mut request = ItemChangeRequest::change(tx, &item)?.unwrap();
            request.rank = rank + 2;
            tx.submit(request).map(drop)
        });
        assert!(trips < 20, "{trips} round trips");
        assert_eq!(near.fetch::<Item>().count().unwrap(), 200);

        let deleted = distant.perform_changes_blocking([Item::TABLE], |tx| {
            let count = tx.delete_where(Item::RANK.ge(0))?;
            assert_eq!(tx.fetch::<Item>().count()?, 0);
            Ok(count)
        });
        assert_eq!(deleted.unwrap(), 200);
        assert_eq!(near.fetch::<Item>().count().unwrap(), 0);
    });
}

#[test]
fn new_objects_and_upserts_of_many_objects_take_few_round_trips() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let (distant, proxy, near) = distant();
        let mut first = 0;
        let trips = round_trips((&distant, &proxy), |tx| {
            first += 3_000;
            let data = (first..first + 3_000).map(data);
            let outcomes = tx.submit_many(data.map(ItemChangeRequest::creation));
            outcomes
                .into_iter()
                .try_for_each(|outcome| outcome.map(drop))
        });
        assert!(trips < 20, "{trips} round trips");
        assert_eq!(near.fetch::<Item>().count().unwrap(), 12_200);
        let trips = round_trips((&distant, &proxy), |tx| {
            first += 100;
            let data = (first..first + 1_000).map(|rank| ItemData {
                size: first,
                ..data(rank)
            });
            let outcomes = tx.submit_many(data.map(ItemChangeRequest::upsert));
            outcomes
                .into_iter()
                .try_for_each(|outcome| outcome.map(drop))
        });
        assert!(trips < 20, "{trips} round trips");
        let changed = near.fetch::<Item>().filter(Item::SIZE.ge(1));
        assert_eq!(changed.count().unwrap(), 1_300);
    });
}

#[test]
fn single_request_takes_at_most_one_round_trip() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let (distant, proxy, near) = distant();
        let mut next = 0;
        let upserts = round_trips((&distant, &proxy), |tx| {
            // Those of the first time are not new.
            next += 150;
            (next..next + 40).try_for_each(|rank| {
                let data = ItemData {
                    size: next,
                    ..data(rank)
                };
                tx.submit(ItemChangeRequest::upsert(data)).map(drop)
            })
        });
        assert!(upserts <= 40 + 10, "{upserts} round trips");
        assert_eq!(near.fetch::<Item>().count().unwrap(), 200 + 3 * 40);
        // The rows are there for the reads of the transaction, and can be changed and deleted.
        let changed = distant.perform_changes_blocking([Item::TABLE], |tx| {
            let made = tx.submit(ItemChangeRequest::upsert(data(9_000)))?;
            let made = made.into_object().unwrap();
            let mut request = ItemChangeRequest::change(tx, &made)?.unwrap();
            request.size = 7;
            tx.submit(request)?;
            let found = tx.get::<Item>("item 9000")?.unwrap();
            assert_eq!(found.size(), 7);
            for rank in 9_001..9_003 {
                let made = tx.submit(ItemChangeRequest::upsert(data(rank)))?;
                let made = made.into_object().unwrap();
                tx.submit(ItemChangeRequest::deletion(tx, &made)?.unwrap())?;
            }
            tx.submit(ItemChangeRequest::upsert(data(9_001))).map(drop)
        });
        changed.unwrap();
        let sizes = near.fetch::<Item>().filter(Item::RANK.ge(9_000)).all();
        let sizes: Vec<_> = sizes
            .unwrap()
            .iter()
            .map(|item| (item.rank(), item.size()))
            .collect();
        assert_eq!(sizes, [(9_000, 7), (9_001, 0)]);
    });
}

/// As many asynchronous reads wait for the network at the same time as connections may read, even
/// if the machine has fewer processors.
#[test]
fn asynchronous_reads_wait_for_the_network_together() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let created = engine(&schema).perform_changes([Item::TABLE], |tx| {
            tx.submit(ItemChangeRequest::creation(data(1))).map(drop)
        });
        created.wait().unwrap();
        let proxy = Proxy::slow(&server().unwrap().socket(), DELAY);
        // Its connections are known by the schema's name.
        let address = format!("{} application_name='{schema}'", proxy.address());
        let distant = Workspace::server(&address).schema(&schema).readers_max(12);
        let distant = distant.open().unwrap();
        let connections = || {
            let count = format!(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{schema}'"
            );
            sql(server().unwrap(), &count).unwrap()[0][0].parse::<usize>()
        };
        // A busy machine may begin the last reads when the first ones have ended.
        until(|| {
            let reads = (0..24).map(|_| distant.get_async::<Item>(&data(1).id));
            let found = block_on(join_all(reads));
            assert!(found.iter().all(|found| found.as_ref().unwrap().is_some()));
            let connections = connections().unwrap();
            assert!(connections <= 12, "{connections}");
            connections == 12
        });
    });
}

/// The engine writes only to rows that it has found. If such a row is missing all the same, nothing
/// of the transaction is kept.
#[test]
fn write_to_a_row_that_is_missing_undoes_the_transaction() {
    if is_skipped() {
        return;
    }
    let schema = new_schema();
    let workspace = engine(&schema);
    let created = workspace.perform_changes([Item::TABLE], |tx| {
        tx.submit(ItemChangeRequest::creation(data(1)))
    });
    let created = created.wait().unwrap().into_object().unwrap();
    let backend = backend(server().unwrap(), &schema);
    for missing in [RowId(99), created.row_id()] {
        let mut writer = backend.clone().begin(Durability::Normal).unwrap();
        let table = &Item::TABLE;
        writer.create(table).unwrap();
        let row = RowWrite {
            key: None,
            payload: b"payload",
            entries: &[],
        };
        writer.delete(table, created.row_id()).unwrap();
        match missing == created.row_id() {
            true => assert!(writer.update(table, missing, &row).is_err()),
            false => {
                writer.update(table, missing, &row).unwrap();
                assert!(writer.commit().is_err());
            }
        }
        assert_eq!(workspace.fetch::<Item>().count().unwrap(), 1);
    }
}
