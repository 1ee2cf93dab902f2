//! The bytes of change records.

use dflat::Workspace;
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use crate::engines::is_skipped;
use crate::server::{new_schema, server, sql};

/// A deletion has the object in its record, so the records of many are sent in several parts.
#[test]
fn bytes_of_change_records_are_counted_once() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let (server, schema) = (server().unwrap(), new_schema());
        let workspace = Workspace::server(&server.address()).schema(&schema);
        let workspace = workspace.change_log_bytes_max(400_000).open().unwrap();
        let is_counted = || {
            let counted = format!(
                "SELECT log_bytes, (SELECT sum(coalesce(length(record), 0) + 32) \
                 FROM \"{schema}\".dflat__log) FROM \"{schema}\".dflat__control"
            );
            let counted = sql(server, &counted).unwrap().concat();
            assert_eq!(counted[0], counted[1]);
        };
        for _ in 0..2 {
            let filled = workspace.perform_changes_blocking([Item::TABLE], |tx| {
                let requests = (0..3_000).map(|rank| {
                    ItemChangeRequest::creation(ItemData {
                        id: format!("item {rank}"),
                        rank,
                        name: Some("n".repeat(1_000)),
                        ..ItemData::default()
                    })
                });
                let mut made = tx.submit_many(requests).into_iter();
                made.try_for_each(|made| made.map(drop))
            });
            filled.unwrap();
            is_counted();
            let items = workspace.fetch::<Item>().all().unwrap();
            let emptied = workspace.perform_changes_blocking([Item::TABLE], |tx| {
                for item in &items {
                    let deletion = ItemChangeRequest::deletion(tx, item)?.unwrap();
                    tx.submit(deletion)?;
                }
                Ok(())
            });
            emptied.unwrap();
            is_counted();
        }
    });
}
