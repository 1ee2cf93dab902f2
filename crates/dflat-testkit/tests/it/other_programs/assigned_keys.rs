//! A file with keys that the library assigned, in the hands of Dflat for Swift.
//!
//! Dflat for Swift cannot run here. A file that it wrote shows its definitions of tables and
//! indexes; its statements, and the types that it binds, are known. So this file holds the two
//! halves of the promise: the tables hold nothing that Dflat for Swift would not write itself, and
//! its statements find, change and add such objects.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dflat::{Milliseconds, Object, Payload, Result, TransactionContext, Workspace};
use dflat_testkit::diary::{
    Entry, EntryChangeRequest, EntryData, Event, EventChangeRequest, EventData, Id,
};
use dflat_testkit::fixture::bounded;
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use serde_json::Value as Json;

use super::auto_keys::start;
use crate::files::original;

/// The number of processes that insert at once.
const PROCESSES: usize = 2;

/// A file whose keys were assigned in several processes at once, closed.
fn file(directory: &Path) -> PathBuf {
    let path = directory.join("diary.db");
    let children: Vec<_> = (0..PROCESSES).map(|_| start(&path)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let workspace = Workspace::open(&path).unwrap();
    let types = [Entry::TABLE, Event::TABLE];
    workspace
        .perform_changes_blocking_retrying(types, |tx| (0..5).try_for_each(|n| insert(tx, n)))
        .unwrap();
    workspace.shutdown().unwrap();
    path
}

fn insert(tx: &TransactionContext, n: i64) -> Result<()> {
    let entry = tx.submit(EntryChangeRequest::creation(EntryData {
        slug: Some(format!("slug {n}")),
        author: Some(Id { high: 1, low: 2 }),
        created: Milliseconds::new(1_000 + n),
        ..EntryData::default()
    }))?;
    let event = EventData {
        entry: entry.object().map_or(0, Entry::id),
        ..EventData::default()
    };
    tx.submit(EventChangeRequest::creation(event)).map(drop)
}

fn rows(sql: &Connection, query: &str) -> Vec<Vec<Value>> {
    let mut statement = sql.prepare(query).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|at| row.get(at)).collect());
    rows.unwrap().map(rusqlite::Result::unwrap).collect()
}

fn number(sql: &Connection, query: &str) -> i64 {
    sql.query_row(query, [], |row| row.get(0)).unwrap()
}

/// Everything in the schema of a file that is about these tables, without the library's own
/// tables and triggers: kind, name, table and definition.
fn definitions(sql: &Connection, tables: &[&str]) -> Vec<[String; 4]> {
    let query = "SELECT type, name, tbl_name, IFNULL(sql, '') FROM sqlite_schema \
                 WHERE name NOT LIKE 'dflat!_!_%' ESCAPE '!' AND name <> 'sqlite_sequence'";
    let mut found: Vec<[String; 4]> = rows(sql, query)
        .into_iter()
        .map(|row| {
            let texts = row.into_iter().map(|value| match value {
                Value::Text(text) => text,
                other => panic!("{other:?}"),
            });
            texts.collect::<Vec<_>>().try_into().unwrap()
        })
        .filter(|[_, _, table, _]: &[String; 4]| tables.contains(&table.as_str()))
        .collect();
    found.sort();
    found
}

/// The definitions in the file of Dflat for Swift, with other names.
fn renamed(sql: &Connection, table: &str, names: &[(&str, &str)]) -> Vec<[String; 4]> {
    let rename = |text: String| {
        names
            .iter()
            .fold(text, |text, (from, to)| text.replace(from, to))
    };
    let found = definitions(sql, &[table]).into_iter();
    found.map(|row| row.map(rename)).collect()
}

/// The definitions that Dflat for Swift makes for the schema.
fn definitions_of_swift(directory: &Path) -> Vec<[String; 4]> {
    let path = original::copy(original::FILES[0], directory);
    let sql = Connection::open(path).unwrap();
    let monster = "mygame__sample__monster_v1_1";
    let (number, unique) = (format!("{monster}__f6"), format!("{monster}__f26__u2__f4"));
    let mut all = renamed(
        &sql,
        "benchdoc",
        &[("benchdoc", "entry"), ("__pk0 TEXT", "__pk0 INTEGER")],
    );
    all.extend(renamed(&sql, "benchdoc", &[("benchdoc", "event")]));
    all.extend(renamed(&sql, &number, &[(monster, "entry"), ("f6", "f10")]));
    let names = [(monster, "entry"), ("f26__u2__f4", "f6")];
    all.extend(renamed(&sql, &unique, &names));
    all.sort();
    all
}

const TABLES: [&str; 4] = ["entry", "event", "entry__f6", "entry__f10"];

/// The position of a field in a payload, read as the FlatBuffers format says.
fn field(payload: &[u8], voffset: usize) -> Option<usize> {
    let word = |at: usize| usize::from(u16::from_le_bytes([payload[at], payload[at + 1]]));
    let table = offset(payload, 0);
    let back = i32::from_le_bytes(payload[table..table + 4].try_into().unwrap());
    let vtable = table.checked_add_signed(-(back as isize)).unwrap();
    let position = if voffset < word(vtable) {
        word(vtable + voffset)
    } else {
        0
    };
    (position > 0).then_some(table + position)
}

fn offset(payload: &[u8], at: usize) -> usize {
    at + u32::from_le_bytes(payload[at..at + 4].try_into().unwrap()) as usize
}

fn long(payload: &[u8], voffset: usize) -> Option<i64> {
    let at = field(payload, voffset)?;
    Some(i64::from_le_bytes(payload[at..at + 8].try_into().unwrap()))
}

fn text(payload: &[u8], voffset: usize) -> Option<String> {
    let start = offset(payload, field(payload, voffset)?);
    let len = offset(payload, start) - start;
    let bytes = &payload[start + 4..start + 4 + len];
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

/// Checks the rows of both object tables: row id, key column, payload.
fn check_objects(sql: &Connection) {
    let mut last = 0;
    for row in rows(sql, "SELECT rowid, __pk0, p FROM entry ORDER BY rowid") {
        let [Value::Integer(row_id), Value::Integer(key), Value::Blob(p)] = &row[..] else {
            panic!("{row:?}");
        };
        // Dflat for Swift binds a `ulong` as a positive number of 64 bits.
        assert!(*row_id > last && *key > 0, "{row:?}");
        assert_eq!(long(p, 4), Some(*key));
        last = *row_id;
    }
    for row in rows(sql, "SELECT rowid, __pk0, p FROM event ORDER BY rowid") {
        let [Value::Integer(_), Value::Text(key), Value::Blob(p)] = &row[..] else {
            panic!("{row:?}");
        };
        assert_eq!((key.len(), text(p, 4).as_ref()), (36, Some(key)));
        // A value that equals the default is left out, as Dflat for Swift leaves it out.
        assert_eq!(long(p, 8), None);
    }
    let sequences = rows(
        sql,
        "SELECT name, seq FROM sqlite_sequence WHERE name IN ('entry', 'event') ORDER BY name",
    );
    let last = ["entry", "event"].map(|table| {
        let most = number(sql, &format!("SELECT MAX(rowid) FROM {table}"));
        vec![Value::Text(table.to_owned()), Value::Integer(most)]
    });
    assert_eq!(sequences, last);
}

/// Checks that each object has one row in each index, with the value of its payload.
fn check_indexes(sql: &Connection) {
    for (column, voffset) in [("f6", 6), ("f10", 10)] {
        let query =
            format!("SELECT p, {column} FROM entry LEFT JOIN entry__{column} USING (rowid)");
        for row in rows(sql, &query) {
            let [Value::Blob(p), value] = &row[..] else {
                panic!("{row:?}");
            };
            let expected = match voffset {
                6 => text(p, 6).map_or(Value::Null, Value::Text),
                _ => Value::Integer(long(p, 10).unwrap_or(0)),
            };
            assert_eq!(*value, expected, "{column}");
        }
        // Dflat for Swift uses an index if its last row id is that of the objects.
        let [objects, entries, last_object, last_entry] = ["COUNT", "MAX"]
            .into_iter()
            .flat_map(|of| {
                ["entry".to_owned(), format!("entry__{column}")]
                    .map(|table| number(sql, &format!("SELECT {of}(rowid) FROM {table}")))
            })
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        assert_eq!((objects, last_object), (entries, last_entry), "{column}");
    }
}

/// Checks with Google's `flatc` that it reads each payload by the schema, with the key in it.
fn check_with_flatc(sql: &Connection, directory: &Path) {
    if Command::new("flatc").arg("--version").output().is_err() {
        eprintln!("flatc is absent: payloads are not read by it");
        return;
    }
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/diary.fbs");
    for (table, root) in [("entry", "Entry"), ("event", "Event")] {
        for row in rows(sql, &format!("SELECT __pk0, p FROM {table} LIMIT 20")) {
            let [key, Value::Blob(p)] = &row[..] else {
                panic!("{row:?}");
            };
            fs::write(directory.join("object.bin"), p).unwrap();
            let output = Command::new("flatc")
                .args([
                    "--json",
                    "--strict-json",
                    "--raw-binary",
                    "--root-type",
                    root,
                ])
                .arg(&schema)
                .args(["--", "object.bin"])
                .current_dir(directory)
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            let json = fs::read_to_string(directory.join("object.json")).unwrap();
            let json: Json = serde_json::from_str(&json).unwrap();
            let expected = match key {
                Value::Integer(key) => Json::from(*key),
                Value::Text(key) => Json::from(key.as_str()),
                other => panic!("{other:?}"),
            };
            assert_eq!(json["id"], expected);
        }
    }
}

// Promise: compatibility#P68
#[test]
fn file_with_assigned_keys_holds_only_what_dflat_for_swift_writes() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path());
        let sql = Connection::open(path).unwrap();
        let expected = definitions_of_swift(directory.path());
        assert_eq!(definitions(&sql, &TABLES), expected);
        let others = "SELECT name FROM sqlite_schema WHERE name NOT LIKE '%dflat!_!_%' ESCAPE '!' \
                      AND type = 'table' ORDER BY name";
        let names = [
            "entry",
            "entry__f10",
            "entry__f6",
            "event",
            "sqlite_sequence",
        ];
        let names = names.map(|name| vec![Value::Text(name.to_owned())]);
        assert_eq!(rows(&sql, others), names);
        check_objects(&sql);
        check_indexes(&sql);
        check_with_flatc(&sql, directory.path());
    });
}

/// The connection of a program that makes the statements of Dflat for Swift.
struct Swift(Connection);

impl Swift {
    /// Opens a file and makes its tables, as the first write of a type does.
    fn open(path: &Path, directory: &Path) -> Self {
        let sql = Connection::open(path).unwrap();
        let pragmas = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; \
                       PRAGMA auto_vacuum=incremental; PRAGMA incremental_vaccum(2);";
        sql.execute_batch(pragmas).unwrap();
        let before = (
            definitions(&sql, &TABLES),
            number(&sql, "PRAGMA schema_version"),
        );
        for [_, _, _, definition] in definitions_of_swift(directory) {
            let definition = ["TABLE", "UNIQUE INDEX", "INDEX"]
                .into_iter()
                .find_map(|kind| {
                    let rest = definition.strip_prefix(&format!("CREATE {kind} "))?;
                    Some(format!("CREATE {kind} IF NOT EXISTS {rest}"))
                });
            if let Some(definition) = definition {
                sql.execute(&definition, []).unwrap();
            }
        }
        let after = (
            definitions(&sql, &TABLES),
            number(&sql, "PRAGMA schema_version"),
        );
        assert_eq!(before, after);
        Self(sql)
    }

    /// The row ids and payloads that a query finds.
    fn find(&self, query: &str, value: impl rusqlite::ToSql) -> Vec<(i64, Vec<u8>)> {
        let mut statement = self.0.prepare(query).unwrap();
        let rows = statement.query_map([value], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.unwrap().map(rusqlite::Result::unwrap).collect()
    }

    /// Makes changes as one submission does.
    fn submit(&self, change: impl FnOnce(&Connection)) {
        self.0.execute_batch("BEGIN; SAVEPOINT dflat_txn").unwrap();
        change(&self.0);
        self.0.execute_batch("RELEASE dflat_txn; COMMIT").unwrap();
    }

    fn create(&self, entry: &EntryData) {
        self.submit(|sql| {
            let key = i64::try_from(entry.id).unwrap();
            let insert = "INSERT INTO entry (__pk0, p) VALUES (?1, ?2)";
            let payload = entry.to_bytes().unwrap();
            sql.execute(insert, params![key, payload]).unwrap();
            let row_id = sql.last_insert_rowid();
            let insert = "INSERT INTO entry__f6 (rowid, f6) VALUES (?1, ?2)";
            sql.execute(insert, params![row_id, entry.slug]).unwrap();
            let insert = "INSERT INTO entry__f10 (rowid, f10) VALUES (?1, ?2)";
            sql.execute(insert, params![row_id, entry.created.get()])
                .unwrap();
        });
    }

    fn update(&self, row_id: i64, entry: &EntryData) {
        self.submit(|sql| {
            let key = i64::try_from(entry.id).unwrap();
            let payload = entry.to_bytes().unwrap();
            let replace = "REPLACE INTO entry (__pk0, p, rowid) VALUES (?1, ?2, ?3)";
            sql.execute(replace, params![key, payload, row_id]).unwrap();
            let replace = "REPLACE INTO entry__f6 (rowid, f6) VALUES (?1, ?2)";
            sql.execute(replace, params![row_id, entry.slug]).unwrap();
        });
    }

    fn delete(&self, row_id: i64) {
        self.submit(|sql| {
            for table in ["entry", "entry__f6", "entry__f10"] {
                let delete = format!("DELETE FROM {table} WHERE rowid = ?1");
                assert_eq!(sql.execute(&delete, [row_id]).unwrap(), 1);
            }
        });
    }
}

// Promise: compatibility#P68
#[test]
fn statements_of_dflat_for_swift_find_objects_with_assigned_keys() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path());
        let workspace = Workspace::open(&path).unwrap();
        let swift = Swift::open(&path, directory.path());
        let entries = workspace.fetch::<Entry>().all().unwrap();
        let all = swift.find("SELECT rowid, p FROM entry WHERE ?1 ORDER BY rowid", true);
        assert_eq!(all.len(), entries.len());
        for (object, found) in entries.iter().zip(all) {
            let expected = (object.row_id().0, Object::to_bytes(object));
            assert_eq!(found, expected);
            let key = i64::try_from(object.id()).unwrap();
            let by_key = "SELECT rowid, p FROM entry WHERE __pk0 = ?1 ORDER BY rowid";
            assert_eq!(swift.find(by_key, key), [expected]);
        }
        for event in &workspace.fetch::<Event>().all().unwrap() {
            let by_key = "SELECT rowid, p FROM event WHERE __pk0 = ?1 ORDER BY rowid";
            let expected = (event.row_id().0, Object::to_bytes(event));
            assert_eq!(swift.find(by_key, event.id()), [expected]);
        }
        let by_slug = "SELECT rowid, p FROM entry INNER JOIN entry__f6 USING (rowid) \
                       WHERE f6 = ?1 ORDER BY rowid";
        let [(_, found)] = &swift.find(by_slug, "slug 3")[..] else {
            panic!("not one entry")
        };
        assert_eq!(text(found, 6).as_deref(), Some("slug 3"));
        let since = "SELECT rowid, p FROM entry INNER JOIN entry__f10 USING (rowid) \
                     WHERE f10 > ?1 ORDER BY f10 DESC, rowid LIMIT 2";
        let found = swift.find(since, 1_000);
        let created: Vec<_> = found.iter().map(|(_, p)| long(p, 10)).collect();
        assert_eq!(created, [Some(1_004), Some(1_003)]);
        workspace.shutdown().unwrap();
    });
}

// Promise: compatibility#P68
#[test]
fn objects_that_dflat_for_swift_adds_and_changes_are_found() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path());
        let workspace = Workspace::open(&path).unwrap();
        let swift = Swift::open(&path, directory.path());
        let entries = workspace.fetch::<Entry>().all().unwrap();
        let [first, .., before_last, last] = &entries[..] else {
            panic!("too few entries")
        };
        let (added, changed) = (
            EntryData {
                id: last.id() + 10,
                slug: Some("added".into()),
                ..EntryData::default()
            },
            EntryData {
                slug: Some("changed".into()),
                ..Object::to_data(last)
            },
        );
        swift.create(&added);
        swift.update(last.row_id().0, &changed);
        swift.delete(before_last.row_id().0);
        let find = |id: u64| workspace.get::<Entry>(id).unwrap();
        assert_eq!(find(added.id).unwrap().slug(), Some("added"));
        assert_eq!(find(last.id()).unwrap().slug(), Some("changed"));
        assert!(find(before_last.id()).is_none());
        let by_slug = |slug: &str| {
            let found = workspace.fetch::<Entry>().filter(Entry::SLUG.eq(slug));
            found
                .all()
                .unwrap()
                .iter()
                .map(Entry::id)
                .collect::<Vec<_>>()
        };
        assert_eq!(by_slug("added"), [added.id]);
        assert_eq!(by_slug("changed"), [last.id()]);
        // The next key is larger than that of Dflat for Swift, and the file is as before again.
        let types = [Entry::TABLE, Event::TABLE];
        workspace
            .perform_changes_blocking_retrying(types, |tx| insert(tx, 9))
            .unwrap();
        assert_eq!(by_slug("slug 9"), [added.id + 1]);
        assert_eq!(find(first.id()).as_ref(), Some(first));
        workspace.shutdown().unwrap();
        check_objects(&swift.0);
        check_indexes(&swift.0);
    });
}
