//! A workload on a file whose indexes are missing: they are built in several batches, between
//! transactions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use dflat::{IndexState, Result, Workspace};
use dflat_sqlite::faults::FaultPlan;

use super::device::Device;
use super::passes::Outcome;
use crate::shelf::{v1::library as v1, v2::library as v2};

/// More than a batch of rows, and fewer than two.
const BOOKS: i32 = 600;

/// The ISBN that two books have.
const TWICE: &str = "twice";

/// The transactions of the workload.
const STEPS: u64 = 3;

/// The pages and the ISBN of a book.
type Values = (i32, Option<String>);

/// The books by id.
type Books = BTreeMap<i32, Values>;

fn pages(id: i32) -> i32 {
    id % 7
}

fn isbn(id: i32) -> Option<String> {
    match id {
        5 | 500 => Some(TWICE.to_owned()),
        id if id % 10 == 0 => Some(format!("isbn{id}")),
        _ => None,
    }
}

/// The stored books after this many transactions.
fn books(commits: u64) -> Books {
    let mut books: Books = (0..BOOKS).map(|id| (id, (pages(id), isbn(id)))).collect();
    if commits >= 1 {
        books.insert(BOOKS, (1, None));
    }
    if commits >= 2 {
        books.insert(3, (99, Some("changed".to_owned())));
        books.remove(&4);
    }
    if commits >= 3 {
        books.insert(BOOKS + 1, (99, None));
    }
    books
}

/// Creates the file, as the version without indexes writes it, on a device without counts and
/// faults.
pub fn prepare_building(device: &Device) {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("books.db");
        let workspace = Workspace::open(&path).unwrap();
        let created = workspace.perform_changes([v1::Book::TABLE], |tx| {
            for id in 0..BOOKS {
                tx.submit(v1::BookChangeRequest::creation(v1::BookData {
                    id,
                    pages: pages(id),
                    isbn: isbn(id),
                    ..v1::BookData::default()
                }))?;
            }
            Ok(())
        });
        created.wait().unwrap();
        workspace.shutdown().unwrap();
        std::fs::read(path).unwrap()
    });
    std::fs::write(device.path(), file).unwrap();
}

/// Writes, builds the indexes and writes again, and ignores errors. Then heals the device, and
/// finishes the workload with the same workspace.
///
/// # Errors
/// An error if an answer is wrong, or if the work fails on the healed device.
pub fn run_building(device: &Device) -> Outcome {
    let Ok(workspace) = device.open() else {
        device.heal();
        return Ok(());
    };
    let step = |number: u64| match perform(&workspace, number) {
        Ok(()) => {
            device.acknowledge(number);
            true
        }
        Err(_) => false,
    };
    let mut commits = u64::from(step(1));
    let _ = build(&workspace);
    answers(&workspace, &books(commits)).map_or(Ok(()), |found| found)?;
    // Each transaction requires the one before, so the number of transactions identifies the state.
    if commits == 1 && step(2) {
        commits = 2;
    }
    answers(&workspace, &books(commits)).map_or(Ok(()), |found| found)?;
    device.heal();
    let go_on = || {
        build(&workspace)?;
        for number in commits + 1..=STEPS {
            perform(&workspace, number)?;
            device.acknowledge(number);
        }
        build(&workspace)
    };
    go_on().map_err(|error| format!("cannot go on: {error}"))?;
    match answers(&workspace, &books(STEPS)) {
        None => return Err("reading fails on a device that is well".to_owned()),
        Some(found) => found?,
    }
    is_ready(&workspace)?;
    workspace
        .shutdown()
        .map_err(|error| format!("cannot shut down: {error}"))
}

fn build(workspace: &Workspace) -> Result<()> {
    workspace.build_indexes([v2::Book::TABLE])?;
    workspace.indexes_ready().wait()
}

/// Performs the transaction with a number. The first is performed by the version without indexes.
fn perform(workspace: &Workspace, number: u64) -> Result<()> {
    if number == 1 {
        let created = workspace.perform_changes([v1::Book::TABLE], |tx| {
            let data = v1::BookData {
                id: BOOKS,
                pages: 1,
                ..v1::BookData::default()
            };
            tx.submit(v1::BookChangeRequest::creation(data)).map(drop)
        });
        return created.wait();
    }
    let written = workspace.perform_changes([v2::Book::TABLE], move |tx| {
        let (id, isbn) = match number {
            2 => (3, Some("changed".to_owned())),
            _ => (BOOKS + 1, None),
        };
        tx.submit(v2::BookChangeRequest::upsert(v2::BookData {
            id,
            pages: 99,
            isbn,
            ..v2::BookData::default()
        }))?;
        if number == 2
            && let Some(book) = tx.get::<v2::Book>(4)?
            && let Some(deletion) = v2::BookChangeRequest::deletion(tx, &book)?
        {
            tx.submit(deletion)?;
        }
        Ok(())
    });
    written.wait()
}

/// Compares the answers of all rows and of each index; `None` if reading failed.
fn answers(workspace: &Workspace, books: &Books) -> Option<Outcome> {
    let found = |predicate: Option<_>| -> Option<Books> {
        let fetch = workspace.fetch::<v2::Book>();
        let fetch = match predicate {
            Some(predicate) => fetch.filter(predicate),
            None => fetch,
        };
        let all = fetch.all().ok()?;
        let book = |book: &v2::Book| {
            let isbn = book.isbn().map(str::to_owned);
            (book.id(), (book.pages(), isbn))
        };
        Some(all.iter().map(book).collect())
    };
    let compare = |what: &str, found: &Books, expected: Books| {
        if *found == expected {
            return Ok(());
        }
        let (found, expected) = (found.len(), expected.len());
        Err(format!(
            "{what}: {found} books, {expected} are expected, or others"
        ))
    };
    let of = |wanted: &dyn Fn(&Values) -> bool| -> Books {
        let wanted = books.iter().filter(|(_, book)| wanted(book));
        wanted.map(|(id, book)| (*id, book.clone())).collect()
    };
    let mut outcome = compare("all", &found(None)?, books.clone());
    for pages in [0, 1, 6, 99] {
        let by_pages = found(Some(v2::Book::PAGES.eq(pages)))?;
        let expected = of(&|book| book.0 == pages);
        outcome = outcome.and_then(|()| compare("by pages", &by_pages, expected));
    }
    for isbn in [TWICE, "changed", "isbn590"] {
        let by_isbn = found(Some(v2::Book::ISBN.eq(isbn)))?;
        let expected = of(&|book| book.1.as_deref() == Some(isbn));
        outcome = outcome.and_then(|()| compare("by ISBN", &by_isbn, expected));
    }
    Some(outcome)
}

/// Checks that queries use both indexes, and that their answers are right.
fn is_ready(workspace: &Workspace) -> Outcome {
    let failed = |error: dflat::Error| error.to_string();
    for index in workspace.index_progress() {
        if !matches!(index.state, IndexState::Ready) {
            return Err(format!("not ready: {index:?}"));
        }
    }
    for predicate in [v2::Book::PAGES.eq(1), v2::Book::ISBN.eq("changed")] {
        let fetch = workspace.fetch::<v2::Book>().filter(predicate);
        let plan = fetch.explain().map_err(failed)?.to_string();
        if !plan.contains("index on") {
            return Err(format!("an index does not serve: {plan}"));
        }
    }
    let report = workspace.check([v2::Book::TABLE]).map_err(failed)?;
    if !report.is_sound() {
        return Err(format!("the check finds {:?}", report.problems));
    }
    Ok(())
}

/// Opens the file on a device without faults, finds out which transaction was committed last,
/// builds the indexes to the end, and compares. Returns the number of that transaction.
///
/// # Errors
/// An error if the file has a state that no transaction left, or if an index gives wrong answers or
/// can't be built.
pub fn check_building(path: &Path) -> std::result::Result<u64, String> {
    let failed = |error: dflat::Error| error.to_string();
    // A plan without faults, which skips the waits for the device.
    let well = FaultPlan::attach(path).map_err(failed)?;
    well.skip_syncs();
    let workspace = Workspace::builder(path).io_stats(true).open();
    let workspace = workspace.map_err(failed)?;
    let right = |commits: u64| matches!(answers(&workspace, &books(commits)), Some(Ok(())));
    let Some(commits) = (0..=STEPS).find(|commits| right(*commits)) else {
        return Err("the file holds what no transaction left".to_owned());
    };
    build(&workspace).map_err(|error| format!("cannot build: {error}"))?;
    answers(&workspace, &books(commits))
        .unwrap_or_else(|| Err("reading fails on a device that is well".to_owned()))?;
    is_ready(&workspace)?;
    workspace.shutdown().map_err(failed)?;
    Ok(commits)
}
