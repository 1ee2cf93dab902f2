//! A program is killed while it builds indexes, again and again.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use dflat::{ChangeRequest, Fetch, Workspace};
use dflat_testkit::random::Random;
use dflat_testkit::shelf::{v1::library as v1, v2::library as v2};
use rusqlite::Connection;

/// The variable with the path of the file of the killed program.
const PATH: &str = "DFLAT_KILL_BUILDING_PATH";

/// The variable with the number of kills, if it differs from that of the usual tests.
const KILLS: &str = "DFLAT_KILLS";

/// The number of books in the file for each kill: some batches.
const BOOKS_A_KILL: i32 = 2000;

/// The line that the program prints when it is done.
const READY: &str = "indexes ready";

fn pages(id: i32) -> i32 {
    id % 7
}

/// The id and the pages of the book that a transaction between the batches writes.
fn written(number: i32, books: i32) -> (i32, i32) {
    (number * 37 % books, 1000 + number)
}

/// Not a test by itself: the program that the test below starts and kills.
#[test]
fn index_building_program() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let workspace = Workspace::open(Path::new(&path)).unwrap();
    let books = i32::try_from(workspace.fetch::<v2::Book>().count().unwrap()).unwrap();
    let all = workspace
        .fetch::<v2::Book>()
        .filter(v2::Book::PAGES.ge(1000));
    let mut number = i32::try_from(all.count().unwrap()).unwrap();
    workspace.build_indexes([v2::Book::TABLE]).unwrap();
    // The test harness does not capture this output.
    let say = |text: &str| writeln!(std::io::stdout(), "\n{text}").unwrap();
    let built = workspace.indexes_ready();
    let (done, ready) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(built.wait()));
    loop {
        if let Ok(outcome) = ready.try_recv() {
            outcome.unwrap();
            say(READY);
            return;
        }
        let (id, pages) = written(number, books);
        let write = workspace.perform_changes([v2::Book::TABLE], move |tx| {
            let data = v2::BookData {
                id,
                pages,
                weight: 9,
                ..v2::BookData::default()
            };
            tx.submit(ChangeRequest::<v2::Book>::upsert(data)).map(drop)
        });
        write.wait().unwrap();
        number += 1;
        say(&format!("written {number}"));
    }
}

fn start(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "faults::kill_building::index_building_program",
            "--nocapture",
        ])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How far the index is filled.
fn reach(path: &Path) -> i64 {
    let sql = Connection::open(path).unwrap();
    let count = "SELECT count(*) FROM sqlite_schema WHERE name = 'library__book__f8'";
    if sql
        .query_row(count, [], |row| row.get::<_, i64>(0))
        .unwrap()
        == 0
    {
        return 0;
    }
    let reach = "SELECT coalesce(max(rowid), 0) FROM library__book__f8";
    sql.query_row(reach, [], |row| row.get(0)).unwrap()
}

/// A query that the partial index serves.
fn heavy(workspace: &Workspace, pages: i32) -> Fetch<'_, v2::Book> {
    let fetch = workspace.fetch::<v2::Book>();
    fetch.filter(v2::Book::PAGES.eq(pages) & v2::Book::WEIGHT.gt(3))
}

/// Checks that all acknowledged changes are stored, that queries by index are right, and that the
/// indexes are sound.
fn compare(path: &Path, books: i32, acknowledged: i32) {
    let workspace = Workspace::open(path).unwrap();
    let all = workspace.fetch::<v2::Book>().all().unwrap();
    let mut model: Vec<i32> = (0..books).map(pages).collect();
    let last = all.iter().map(|book| book.pages()).max().unwrap();
    // The transaction that was running may be stored or not.
    let count = (last - 999).max(0);
    assert!(
        (acknowledged..=acknowledged + 1).contains(&count),
        "{count} of {acknowledged}"
    );
    for number in 0..count {
        let (id, pages) = written(number, books);
        model[usize::try_from(id).unwrap()] = pages;
    }
    let found: Vec<i32> = all.iter().map(|book| book.pages()).collect();
    assert!(found == model, "other books after {count}");
    for wanted in (0..7).chain([1000, last]) {
        let by_index = workspace
            .fetch::<v2::Book>()
            .filter(v2::Book::PAGES.eq(wanted));
        let expected = model.iter().filter(|pages| **pages == wanted).count();
        assert_eq!(by_index.count().unwrap(), expected, "of {wanted} pages");
        // Only the books that were written later are heavy.
        let expected = if wanted < 1000 { 0 } else { expected };
        let found = heavy(&workspace, wanted).count().unwrap();
        assert_eq!(found, expected, "heavy, of {wanted} pages");
    }
    let report = workspace.check([v2::Book::TABLE]).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
    workspace.shutdown().unwrap();
}

// Promise: durability#D2
#[test]
fn index_building_survives_kills_and_finishes() {
    let kills: i32 = std::env::var(KILLS).map_or(20, |text| text.parse().unwrap());
    // With more kills, comparing the file would take longer than building.
    let kills = (kills / 4).clamp(1, 50);
    // Fewer books would all be indexed before the first kill.
    let books = kills.max(5) * BOOKS_A_KILL;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("killed.db");
    let workspace = Workspace::open(&path).unwrap();
    let created = workspace.perform_changes([v1::Book::TABLE], move |tx| {
        for id in 0..books {
            tx.submit(ChangeRequest::<v1::Book>::creation(v1::BookData {
                id,
                pages: pages(id),
                ..v1::BookData::default()
            }))?;
        }
        Ok(())
    });
    created.wait().unwrap();
    workspace.shutdown().unwrap();

    let mut random = Random::new(11);
    let (mut acknowledged, mut last_reach, mut midway) = (0, 0, 0);
    loop {
        let mut child = start(&path);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut is_ready = false;
        let mut hear = |lines: &mut dyn Iterator<Item = std::io::Result<String>>| {
            let line = lines.next()?.ok()?;
            if let Some(number) = line.strip_prefix("written ") {
                acknowledged = number.parse().unwrap();
            }
            is_ready |= line == READY;
            Some(())
        };
        if midway < kills {
            for _ in 0..4 + random.below(6) {
                hear(&mut lines);
            }
            child.kill().unwrap();
        }
        // The rest of the program's lines, up to its end.
        while hear(&mut lines).is_some() {}
        let status = child.wait().unwrap();
        assert!(status.success() || midway < kills, "{status}");
        compare(&path, books, acknowledged);
        let reached = reach(&path);
        assert!(reached >= last_reach, "{reached} after {last_reach}");
        midway += i32::from(reached > last_reach && reached < i64::from(books));
        last_reach = reached;
        if is_ready {
            break;
        }
    }
    assert!(midway > 0, "it was never killed midway");
    assert_eq!(last_reach, i64::from(books));
    let workspace = Workspace::open(&path).unwrap();
    let fetch = workspace.fetch::<v2::Book>().filter(v2::Book::PAGES.eq(1));
    let plan = fetch.explain().unwrap().to_string();
    assert!(plan.contains("index on pages"), "{plan}");
    let plan = heavy(&workspace, 1).explain().unwrap().to_string();
    assert!(plan.contains("where weight > 3"), "{plan}");
}
