//! An index that an older program removes while other programs know it.

use dflat::{ErrorKind, Workspace};
use dflat_testkit::fixture::{bounded, until};
use dflat_testkit::shelf::{v1, v2};

use crate::engines::{engine, is_skipped};
use crate::server::{new_schema, server, sql};

/// Writes a book with the indexes of the newer schema.
fn put_newer(workspace: &Workspace) -> dflat::Result<()> {
    workspace.perform_changes_blocking([v2::library::Book::TABLE], |tx| {
        let data = v2::library::BookData {
            id: 1,
            pages: 7,
            ..Default::default()
        };
        let request = v2::library::BookChangeRequest::creation(data);
        tx.submit(request).map(drop)
    })
}

/// Writes a book without an index, which removes those that the table has.
fn put_older(workspace: &Workspace) -> dflat::Result<()> {
    workspace.perform_changes_blocking([v1::library::Book::TABLE], |tx| {
        let data = v1::library::BookData {
            id: 2,
            ..Default::default()
        };
        let request = v1::library::BookChangeRequest::creation(data);
        tx.submit(request).map(drop)
    })
}

#[test]
fn removal_of_an_index_waits_for_a_snapshot_that_reads_the_index() {
    if is_skipped() {
        return;
    }
    bounded(|| {
        let schema = new_schema();
        let (newer, older, third) = (engine(&schema), engine(&schema), engine(&schema));
        put_newer(&newer).unwrap();
        let long = || v2::library::Book::PAGES.gt(0);
        let count = |workspace: &Workspace| {
            let books = workspace.fetch::<v2::library::Book>();
            books.filter(long()).count()
        };
        assert_eq!(count(&third).unwrap(), 1);
        let snapshot = newer.snapshot().unwrap();
        let books = snapshot.fetch::<v2::library::Book>();
        assert_eq!(books.filter(long()).count().unwrap(), 1);
        std::thread::scope(|scope| {
            let removing = scope.spawn(|| put_older(&older));
            let waits = format!(
                "SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation \
                 WHERE NOT l.granted AND c.relnamespace = '\"{schema}\"'::regnamespace"
            );
            until(|| !sql(server().unwrap(), &waits).unwrap().is_empty());
            assert!(!removing.is_finished());
            drop(snapshot);
            removing.join().unwrap().unwrap();
        });
        // This program knows the index, and finds out that it is gone.
        if let Err(error) = count(&third) {
            assert_eq!(error.kind(), ErrorKind::Busy, "{error:?}");
        }
        assert_eq!(count(&third).unwrap(), 1);
    });
}
