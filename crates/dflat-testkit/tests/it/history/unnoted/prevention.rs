//! Programs that write to versioned types and prevent the notes of that.

use std::path::Path;

use rusqlite::params;

use super::super::files::{payload, sql};

const NOTES: &str = "dflat__history_item";

/// How a program prevents the notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prevention {
    /// The triggers are dropped.
    Dropped,
    /// One trigger is dropped: that of the change.
    OneDropped,
    /// The triggers are replaced by others that do nothing.
    Replaced,
    /// The triggers are dropped, and made again after the change.
    MadeAgain,
    /// As before, and then the file is vacuumed.
    Vacuumed,
    /// The table of the notes is dropped and made again after the change.
    NotesLost,
}

pub(crate) const PREVENTIONS: [Prevention; 6] = [
    Prevention::Dropped,
    Prevention::OneDropped,
    Prevention::Replaced,
    Prevention::MadeAgain,
    Prevention::Vacuumed,
    Prevention::NotesLost,
];

/// The names and definitions of the triggers.
pub(crate) fn triggers(path: &Path) -> Vec<(String, String)> {
    let sql = sql(path);
    let find = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'item' \
                AND name GLOB 'dflat__history_item:*' ORDER BY rowid";
    let mut found = sql.prepare(find).unwrap();
    let found = found.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    found.unwrap().map(|row| row.unwrap()).collect()
}

/// Runs a statement while no trigger notes its changes.
pub(crate) fn unnoted(
    path: &Path,
    prevention: Prevention,
    (statement, bytes): (&str, Option<&[u8]>),
) {
    let made = triggers(path);
    let sql = sql(path);
    let drop = |(name, _): &(String, String)| {
        sql.execute_batch(&format!("DROP TRIGGER \"{name}\""))
            .unwrap();
    };
    match prevention {
        Prevention::OneDropped => {
            let kind = statement.split(' ').next().unwrap().to_lowercase();
            let is_of = |name: &str| match kind.as_str() {
                "insert" => name.ends_with(":inserted") || name.ends_with(":replaces"),
                "update" => name.ends_with(":updated") || name.ends_with(":moves"),
                _ => name.ends_with(":deleted"),
            };
            made.iter().filter(|(name, _)| is_of(name)).for_each(drop);
        }
        Prevention::NotesLost => {}
        _ => made.iter().for_each(drop),
    }
    if prevention == Prevention::Replaced {
        for (name, definition) in &made {
            let (head, _) = definition.split_once(" BEGIN ").unwrap();
            let empty = format!("{head} BEGIN SELECT 1; END");
            sql.execute_batch(&empty)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    match bytes {
        Some(bytes) => sql.execute(statement, params![bytes]).unwrap(),
        None => sql.execute(statement, []).unwrap(),
    };
    match prevention {
        Prevention::MadeAgain | Prevention::Vacuumed => {
            for (_, definition) in &made {
                sql.execute_batch(definition).unwrap();
            }
        }
        Prevention::NotesLost => {
            let find = format!("SELECT sql FROM sqlite_schema WHERE name = '{NOTES}'");
            let definition: String = sql.query_row(&find, [], |row| row.get(0)).unwrap();
            let again = format!("DROP TABLE {NOTES}; {definition}");
            sql.execute_batch(&again).unwrap();
        }
        _ => {}
    }
    if prevention == Prevention::Vacuumed {
        sql.execute_batch("VACUUM").unwrap();
    }
}

pub(crate) fn update(path: &Path, prevention: Prevention, id: &str, rank: i32) {
    let statement = format!("UPDATE item SET p = ? WHERE __pk0 = '{id}'");
    unnoted(path, prevention, (&statement, Some(&payload(id, rank))));
}

pub(crate) fn insert(path: &Path, prevention: Prevention, id: &str, rank: i32) {
    let statement = format!("INSERT INTO item (__pk0, p) VALUES ('{id}', ?)");
    unnoted(path, prevention, (&statement, Some(&payload(id, rank))));
}

pub(crate) fn remove(path: &Path, prevention: Prevention, id: &str) {
    let statement = format!("DELETE FROM item WHERE __pk0 = '{id}'");
    unnoted(path, prevention, (&statement, None));
}
