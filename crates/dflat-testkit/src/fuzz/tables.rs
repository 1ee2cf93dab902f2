//! Files whose tables were changed by SQL: those of objects, of indexes, and of the library.
//!
//! The answers are not compared, because SQL can forge the marks by which the library recognises
//! its own indexes. Each call must return a value or an error.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use dflat::{Dictionary, Workspace};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::file::{sane, use_type};
use super::{mutate, question};
use crate::fixture::bounded;
use crate::random::Random;
use crate::schema::{Sample, Task, TaskChangeRequest, TaskData};

/// The number of tasks in the file.
const TASKS: i32 = 90;

/// Runs a seed.
pub fn run_seed(seed: u64) {
    bounded(move || {
        let mut random = Random::new(seed);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("changed.db");
        fs::write(&path, sound()).unwrap();
        for _ in 0..1 + random.below(4) {
            change(&path, &mut random);
        }
        use_all(&path, &mut random);
        use_all(&path, &mut random);
        let saved = directory.path().join("saved.db");
        sane(Workspace::salvage(
            &path,
            saved,
            [Task::TABLE, Sample::TABLE],
        ));
    });
}

fn task(id: i32) -> TaskData {
    TaskData {
        id,
        list: id % 3,
        title: Some(format!("title{id}")),
        due: (id % 2 == 0).then_some(i64::from(id)),
        rank: id % 5,
        slug: Some(format!("slug{id}")),
        ..TaskData::default()
    }
}

/// A file with indexes of all kinds, and values of the dictionary.
fn sound() -> &'static [u8] {
    static SOUND: OnceLock<Vec<u8>> = OnceLock::new();
    SOUND.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sound.db");
        let workspace = Workspace::open(&path).unwrap();
        let created = workspace.perform_changes([Task::TABLE, Dictionary::TABLE], |tx| {
            for id in 0..TASKS {
                tx.submit(TaskChangeRequest::creation(task(id)))?;
            }
            (0..9).try_for_each(|n| tx.dictionary().set(&format!("key{n}"), n))
        });
        created.wait().unwrap();
        workspace.shutdown().unwrap();
        fs::read(&path).unwrap()
    })
}

/// Makes one kind of damage. Statements that fail change nothing.
fn change(path: &Path, random: &mut Random) {
    let connection = Connection::open(path).unwrap();
    let triggers = DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
    let enabled = random.one_in(3);
    connection.set_db_config(triggers, enabled).unwrap();
    let objects = objects(&connection);
    let Some((kind, name, sql)) = (!objects.is_empty()).then(|| random.pick(&objects)) else {
        return;
    };
    let value = *random.pick(&VALUES);
    let statement = match (kind.as_str(), random.below(8)) {
        ("trigger", 0) => format!("DROP TRIGGER {name}"),
        // A trigger with the name of a trigger of this library and another body.
        ("trigger", 1..=4) => {
            let body = random.pick(&BODIES);
            let head = sql.rsplit_once("WHEN").map_or("", |(head, _)| head);
            format!("DROP TRIGGER {name}; {head} BEGIN /* dflat 2 */ {body}; END")
        }
        ("index", 0..=3) => format!("DROP INDEX {name}"),
        ("table", 0) => format!("DROP TABLE {name}"),
        ("table", 1) => format!("DROP TABLE {name}; {}", sql.replace(" INTEGER", " TEXT")),
        ("table", 2) => format!("DROP TABLE {name}; {}", shape(name, random)),
        ("table", 3) => format!("ALTER TABLE {name} RENAME TO {name}_{value}", value = 7),
        ("table", 4 | 5) => {
            let columns = columns(&connection, name);
            if columns.is_empty() {
                return;
            }
            let column = random.pick(&columns);
            let some = *random.pick(&["", "WHERE rowid % 3 = 0"]);
            format!("UPDATE OR IGNORE {name} SET {column} = {value} {some}")
        }
        ("table", 6) => format!("DELETE FROM {name} WHERE rowid % 2 = 0"),
        ("table", _) => format!("INSERT OR REPLACE INTO {name} SELECT * FROM {name} LIMIT 3"),
        // The text of the SQL schema itself is changed.
        _ => {
            let from = *random.pick(&["INTEGER", "PRIMARY KEY", "NOT NULL", "dflat 2", "_", "ON"]);
            let to = *random.pick(&["", "BLOB", "dflat 3", "__", "COLLATE NOCASE"]);
            format!(
                "PRAGMA writable_schema = ON;
                 UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}') \
                 WHERE name = '{name}'"
            )
        }
    };
    let _ = connection.execute_batch(&statement);
    change_bytes(&connection, random);
}

/// Values for a column of any type.
const VALUES: [&str; 10] = [
    "NULL",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "1e308",
    "'text'",
    "''",
    "x''",
    "x'0002ffffffffffffff'",
    "zeroblob(100000)",
];

/// Bodies of triggers.
const BODIES: [&str; 4] = [
    "INSERT INTO dflat__foreign VALUES ('task', NEW.rowid)",
    "DELETE FROM task",
    "INSERT INTO task SELECT * FROM task",
    "SELECT raise(ABORT, 'no')",
];

/// Another kind of schema item with a table's name.
fn shape(name: &str, random: &mut Random) -> String {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    match random.below(6) {
        0 => format!("CREATE VIEW {name} AS {endless}"),
        1 => format!("CREATE TABLE {name} (a, b, c, d, e)"),
        2 => format!("CREATE TABLE {name} (name TEXT PRIMARY KEY) WITHOUT ROWID"),
        3 => format!(
            "CREATE TABLE {name} (rowid INTEGER PRIMARY KEY, name AS (1), up_to AS (rowid), \
             descriptor AS (zeroblob(100000)), p AS (zeroblob(100000)), __pk0 AS (rowid)); \
             INSERT INTO {name} VALUES (1), (2)"
        ),
        4 => format!("CREATE TABLE {name} (up_to CHECK (0), name, row_id, descriptor, p)"),
        _ => format!("CREATE VIRTUAL TABLE {name} USING fts5(name, up_to, descriptor)"),
    }
}

/// The kind, name and definition of each schema item of the file.
fn objects(connection: &Connection) -> Vec<(String, String, String)> {
    let sql = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL";
    let Ok(mut statement) = connection.prepare(sql) else {
        return Vec::new();
    };
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    found.into_iter().flatten().flatten().collect()
}

fn columns(connection: &Connection, table: &str) -> Vec<String> {
    let sql = format!("SELECT * FROM {table} LIMIT 0");
    let Ok(statement) = connection.prepare(&sql) else {
        return Vec::new();
    };
    let names = statement.column_names();
    names.map(str::to_owned).collect()
}

/// Damages the bytes of a descriptor, an object or a value of the dictionary.
fn change_bytes(connection: &Connection, random: &mut Random) {
    let (table, column) = *random.pick(&[
        ("dflat__schema", "descriptor"),
        ("dflat__schema", "descriptor"),
        ("task", "p"),
        ("dictitem_v_dflat_internal__", "p"),
    ]);
    let row = random.below(9);
    let sql = format!(
        "SELECT {column} FROM {table} LIMIT 1 OFFSET {row} % (SELECT count(*) FROM {table})"
    );
    let Ok(mut bytes) = connection.query_row(&sql, [], |row| row.get::<_, Vec<u8>>(0)) else {
        return;
    };
    let before = bytes.clone();
    for _ in 0..1 + random.below(3) {
        mutate::bytes(&mut bytes, random);
    }
    let sql = format!("UPDATE {table} SET {column} = ? WHERE {column} = ?");
    let _ = connection.execute(&sql, (&bytes, &before));
}

fn use_all(path: &Path, random: &mut Random) {
    let Some(workspace) = sane(Workspace::open(path)) else {
        return;
    };
    use_type::<Task>(&workspace, 5, Task::LIST.eq(1) & Task::DUE.ge(20), task(7));
    let open = Task::SLUG.eq("slug8") & Task::LIST.eq(1);
    use_type::<Task>(&workspace, 6, open, task(200));
    let sample = question::sample(random);
    use_type::<Sample>(&workspace, 5, Sample::RANK.le(2), sample);
    let dictionary = workspace.dictionary();
    for key in ["key1", "key2"] {
        sane(dictionary.get::<i64>(key));
        sane(dictionary.set(key, 7_i64));
    }
    sane(dictionary.synchronize());
    let types = || [Task::TABLE, Sample::TABLE];
    sane(workspace.build_indexes(types()));
    sane(workspace.indexes_ready().wait());
    sane(workspace.check(types()));
    sane(workspace.reclaim(3));
    sane(workspace.repair(types()));
    sane(workspace.backup(path.with_extension(format!("copy{}", random.number()))));
    sane(workspace.compact());
    sane(workspace.shutdown());
}
