//! Indexes of versioned types that are built later.

use std::path::Path;

use dflat::{IndexState, Object, Workspace};
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::bounded;
use dflat_testkit::shelf::v1::library as plain;
use dflat_testkit::shelf::v2::library as indexed;

use super::files::{file, sql, without_history};

/// More than a batch of an index.
const BOOKS: i32 = 1200;

fn open<T: Object>(path: &Path) -> Workspace {
    Workspace::builder(path).versioned::<T>().open().unwrap()
}

/// A file with versioned books without indexes.
fn fill(path: &Path) {
    let workspace = open::<plain::Book>(path);
    let stored = workspace.perform_changes_blocking([plain::Book::TABLE], |tx| {
        (0..BOOKS).try_for_each(|id| {
            let data = plain::BookData {
                id,
                isbn: Some(format!("isbn {id}")),
                pages: id % 7,
                weight: id % 5,
            };
            tx.submit(plain::BookChangeRequest::creation(data))
                .map(drop)
        })
    });
    stored.unwrap();
}

/// Builds the indexes, and checks them.
fn build(workspace: &Workspace) {
    workspace.build_indexes([indexed::Book::TABLE]).unwrap();
    workspace.indexes_ready().wait().unwrap();
    let progress = workspace.index_progress();
    let is_ready = |state: &IndexState| matches!(state, IndexState::Ready);
    assert!(
        progress.iter().all(|index| is_ready(&index.state)),
        "{progress:?}"
    );
    assert!(progress.len() > 2, "{progress:?}");
    let checked = workspace.check([indexed::Book::TABLE]).unwrap();
    assert!(checked.problems.is_empty(), "{:?}", checked.problems);
    let found = workspace
        .fetch::<indexed::Book>()
        .filter(indexed::Book::PAGES.eq(3))
        .all()
        .unwrap();
    let expected = (0..BOOKS).filter(|id| id % 7 == 3).count();
    assert_eq!(found.len(), expected);
}

/// The failure of such a build: it ended with `NewerSchema`, because it kept no history.
#[test]
fn index_that_a_versioned_type_gets_is_built() {
    bounded(|| {
        let (_directory, path) = file();
        fill(&path);
        let workspace = open::<indexed::Book>(&path);
        build(&workspace);
        let steps = workspace.history().log().count();
        assert_eq!(steps, 1);
    });
}

#[test]
fn index_is_built_by_a_program_without_a_history() {
    bounded(|| {
        let (_directory, path) = file();
        fill(&path);
        let backend = SqliteBackend::open(&path, SqliteOptions::default()).unwrap();
        drop(backend);
        build(&without_history(&path));
        // The type is still versioned.
        let workspace = Workspace::open(&path).unwrap();
        let book = workspace.get::<indexed::Book>(3).unwrap().unwrap();
        let deleted = workspace.perform_changes_blocking([indexed::Book::TABLE], |tx| {
            let request = indexed::BookChangeRequest::deletion(tx, &book)?.unwrap();
            tx.submit(request).map(drop)
        });
        deleted.unwrap();
        workspace.history().undo().unwrap().unwrap();
        assert_eq!(workspace.get::<indexed::Book>(3).unwrap(), Some(book));
    });
}

#[test]
fn build_leaves_the_changes_of_other_programs_to_the_history() {
    bounded(|| {
        let (_directory, path) = file();
        fill(&path);
        build(&open::<indexed::Book>(&path));
        let deleted = sql(&path).execute("DELETE FROM library__book WHERE __pk0 >= 1100", []);
        assert_eq!(deleted.unwrap(), 100);
        let workspace = open::<indexed::Book>(&path);
        workspace.build_indexes([indexed::Book::TABLE]).unwrap();
        workspace.indexes_ready().wait().unwrap();
        let history = workspace.history();
        let step = history.log().next().unwrap().unwrap();
        assert_eq!(step.tables[0].deleted, 100);
        history.undo_step(step.id).unwrap().unwrap();
        build(&workspace);
    });
}
