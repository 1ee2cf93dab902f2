//! Damaged files are checked, repaired and salvaged: no readable row is lost.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use dflat::{Dictionary, ErrorKind, Object, Problem, ProblemKind, Workspace};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::mutate;
use crate::fixture::bounded;
use crate::random::Random;
use crate::schema::{Item, ItemChangeRequest, ItemData};

const ITEMS: i32 = 150;

/// Runs a seed: damage by SQL, which is known exactly, or damage to bytes.
pub fn run_seed(seed: u64) {
    bounded(move || {
        let mut random = Random::new(seed);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("damaged.db");
        fs::write(&path, sound()).unwrap();
        if seed.is_multiple_of(2) {
            damage_by_sql(&path, &mut random);
        } else {
            damage_bytes(&path, &mut random);
        }
    });
}

fn item(number: i32) -> ItemData {
    ItemData {
        id: format!("item{number:03}"),
        rank: number % 7,
        size: number,
        name: Some(format!("name{}", number % 13)),
        nick: Some("n".repeat(usize::try_from(number * 37 % 900).unwrap())),
        code: Some(format!("code{number}")),
        ..ItemData::default()
    }
}

/// A file with objects, indexes and values of the dictionary.
fn sound() -> &'static [u8] {
    static SOUND: OnceLock<Vec<u8>> = OnceLock::new();
    SOUND.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sound.db");
        let workspace = Workspace::open(&path).unwrap();
        let created = workspace.perform_changes([Item::TABLE, Dictionary::TABLE], |tx| {
            for number in 0..ITEMS {
                tx.submit(ItemChangeRequest::creation(item(number)))?;
            }
            (0..20).try_for_each(|n| tx.dictionary().set(&format!("key{n}"), n))
        });
        created.wait().unwrap();
        let report = workspace.check([Item::TABLE]).unwrap();
        assert!(report.is_sound(), "{:?}", report.problems);
        assert_eq!(report.rows, u64::try_from(ITEMS).unwrap() + 20);
        workspace.shutdown().unwrap();
        fs::read(&path).unwrap()
    })
}

/// The stored items, by row id.
fn rows(connection: &Connection) -> BTreeMap<i64, Vec<u8>> {
    let mut statement = connection.prepare("SELECT rowid, p FROM item").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

fn damage_by_sql(path: &Path, random: &mut Random) {
    let connection = Connection::open(path).unwrap();
    // Triggers are off, so that nothing notes the damage.
    let triggers = DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
    connection.set_db_config(triggers, false).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = DELETE")
        .unwrap();
    let indexes: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'item__*'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(!indexes.is_empty());
    let mut unreadable = Vec::new();
    let mut expected = Vec::new();
    for _ in 0..1 + random.below(4) {
        let row = 1 + i64::try_from(random.below(ITEMS as usize)).unwrap();
        let index = random.pick(&indexes);
        let (kind, sql) = match random.below(6) {
            0 => (
                ProblemKind::Payload,
                format!("UPDATE item SET p = x'0011' WHERE rowid = {row}"),
            ),
            1 => (
                ProblemKind::Payload,
                format!("UPDATE item SET p = substr(p, 1, length(p) - 5) WHERE rowid = {row}"),
            ),
            2 => (
                ProblemKind::Key,
                format!("UPDATE item SET __pk0 = 'no{row}' WHERE rowid = {row}"),
            ),
            3 => {
                let column = index.strip_prefix("item__").unwrap();
                let sql =
                    format!("UPDATE {index} SET {column} = {row} + 100000 WHERE rowid = {row}");
                (ProblemKind::Index, sql)
            }
            // Without its last entry the index would look unfinished, which is not damage.
            4 => (
                ProblemKind::Index,
                format!("DELETE FROM {index} WHERE rowid = min({row}, 100)"),
            ),
            _ => (
                ProblemKind::Orphan,
                format!("INSERT OR IGNORE INTO {index} (rowid) VALUES (0)"),
            ),
        };
        connection.execute_batch(&sql).unwrap();
        if matches!(kind, ProblemKind::Payload | ProblemKind::Key) {
            unreadable.push(row);
        }
        expected.push(kind);
    }
    unreadable.sort_unstable();
    unreadable.dedup();
    drop(connection);
    check_repair(path, &unreadable, &format!("{expected:?}"));
}

/// Repairs a file in which these rows, and any index entries, are damaged.
fn check_repair(path: &Path, unreadable: &[i64], damage: &str) {
    let workspace = Workspace::open(path).unwrap();
    let found = workspace.check([Item::TABLE]).unwrap();
    assert!(!found.is_sound());
    let report = workspace.repair([Item::TABLE]).unwrap();
    assert_eq!(report.before.problems, found.problems);
    assert!(
        report.after.is_sound(),
        "{damage}: {:?}",
        report.after.problems
    );
    let mut moved: Vec<i64> = report
        .unreadable
        .iter()
        .map(|p| p.row_id.unwrap().0)
        .collect();
    moved.sort_unstable();
    moved.dedup();
    assert_eq!(moved, unreadable, "{damage}");
    // Every query finds the remaining rows, unchanged.
    let left = |number: &i32| !unreadable.contains(&i64::from(number + 1));
    let expected: Vec<ItemData> = (0..ITEMS).filter(left).map(item).collect();
    let all = workspace.fetch::<Item>().all().unwrap();
    let all: Vec<ItemData> = all.iter().map(Object::to_data).collect();
    assert_eq!(all, expected);
    for data in &expected {
        let code = data.code.clone().unwrap();
        let query = workspace.fetch::<Item>().filter(Item::CODE.eq(code));
        assert_eq!(query.all().unwrap().len(), 1);
    }
    for rank in 0..7 {
        let ranked = workspace.fetch::<Item>().filter(Item::RANK.eq(rank));
        let count = expected.iter().filter(|data| data.rank == rank).count();
        assert_eq!(ranked.all().unwrap().len(), count);
    }
    workspace.shutdown().unwrap();
    let connection = Connection::open(path).unwrap();
    if !unreadable.is_empty() {
        let count = "SELECT count(*) FROM dflat__unreadable WHERE name = 'item'";
        let count: u32 = connection.query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(count as usize, unreadable.len(), "their bytes are kept");
    }
}

fn damage_bytes(path: &Path, random: &mut Random) {
    let mut bytes = fs::read(path).unwrap();
    for _ in 0..1 + random.below(4) {
        match random.below(8) {
            0 => bytes.truncate(bytes.len() - random.below((bytes.len() / 2).max(1))),
            1 => {
                let page = random.below((bytes.len() / 4096).max(1)) * 4096;
                let end = (page + 4096).min(bytes.len());
                bytes[page..end]
                    .iter_mut()
                    .for_each(|byte| *byte = random.below(256) as u8);
            }
            2 => {
                let mut log = path.as_os_str().to_owned();
                log.push("-wal");
                let foreign: Vec<u8> = (0..9000).map(|_| random.below(256) as u8).collect();
                fs::write(log, foreign).unwrap();
            }
            _ => mutate::file(&mut bytes, 4096, random),
        }
    }
    fs::write(path, &bytes).unwrap();
    // Rows that plain SQL can read must not be lost. SQL opens a copy, because it may change it.
    let copy = path.with_extension("oracle");
    fs::write(&copy, &bytes).unwrap();
    let found = Found::read(&copy);
    let readable = &found.sound;
    let saved = path.with_extension("saved");
    match Workspace::salvage(path, &saved, [Item::TABLE]) {
        Ok(report) => {
            check_saved(&saved, readable, report.saved);
            check_kept(&saved, &found.bytes);
        }
        Err(error) => {
            expect_known(error.kind(), &error);
            assert!(
                readable.is_empty(),
                "{error:?}, and {} can be read",
                readable.len()
            );
        }
    }
    // A repair in place gives an error or a sound file.
    let Ok(workspace) = Workspace::open(path) else {
        return;
    };
    if let Err(error) = workspace.check([Item::TABLE]) {
        expect_known(error.kind(), &error);
    }
    match workspace.repair([Item::TABLE]) {
        Ok(report) => assert!(
            !report
                .after
                .problems
                .iter()
                .any(|p| p.kind == ProblemKind::Pages)
        ),
        Err(error) => expect_known(error.kind(), &error),
    }
    let _ = workspace.shutdown();
}

fn expect_known(kind: ErrorKind, error: &dyn std::fmt::Display) {
    let kinds = [
        ErrorKind::Corrupt,
        ErrorKind::NotADatabase,
        ErrorKind::Backend,
        ErrorKind::Io,
        ErrorKind::ReadOnly,
    ];
    assert!(kinds.contains(&kind), "{kind:?}: {error}");
}

/// The payloads that plain SQL reads, row by row.
#[derive(Default)]
struct Found {
    /// The unchanged items.
    sound: Vec<i32>,
    /// The bytes of all rows.
    bytes: Vec<Vec<u8>>,
}

impl Found {
    fn read(path: &Path) -> Self {
        static WRITTEN: OnceLock<BTreeMap<i64, Vec<u8>>> = OnceLock::new();
        let written = WRITTEN.get_or_init(|| {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("sound.db");
            fs::write(&path, sound()).unwrap();
            rows(&Connection::open(&path).unwrap())
        });
        let mut found = Self::default();
        let Ok(connection) = Connection::open(path) else {
            return found;
        };
        for row in 1..=i64::from(ITEMS) {
            let sql = "SELECT p FROM item WHERE rowid = ?";
            let Ok(bytes) = connection.query_row(sql, [row], |row| row.get::<_, Vec<u8>>(0)) else {
                continue;
            };
            if written.get(&row) == Some(&bytes) {
                found.sound.push(i32::try_from(row).unwrap() - 1);
            }
            found.bytes.push(bytes);
        }
        found
    }
}

/// Each row that can be read is an object or was moved to `dflat__unreadable`.
fn check_kept(path: &Path, bytes: &[Vec<u8>]) {
    let connection = Connection::open(path).unwrap();
    let mut kept: HashSet<Vec<u8>> = HashSet::new();
    for table in ["item", "dflat__unreadable"] {
        let Ok(mut statement) = connection.prepare(&format!("SELECT p FROM {table}")) else {
            continue;
        };
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        kept.extend(rows.map(Result::unwrap));
    }
    for bytes in bytes {
        assert!(
            kept.contains(bytes),
            "{bytes:?} were neither saved nor moved to `dflat__unreadable`"
        );
    }
}

fn check_saved(path: &Path, readable: &[i32], saved: u64) {
    let workspace = Workspace::open(path).unwrap();
    let report = workspace.check([Item::TABLE]).unwrap();
    // Damage may take the key out of an object that still decodes.
    let mut problems = report.problems.iter();
    let is_readable = |problem: &Problem| problem.kind == ProblemKind::MissingKey;
    assert!(problems.all(is_readable), "{:?}", report.problems);
    assert_eq!(report.rows, saved);
    let all = workspace.fetch::<Item>().all().unwrap();
    let all: Vec<ItemData> = all.iter().map(Object::to_data).collect();
    for number in readable {
        let data = item(*number);
        assert!(all.contains(&data), "{} can be read, and was lost", data.id);
    }
    workspace.shutdown().unwrap();
}
