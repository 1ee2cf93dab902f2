//! The content of a file with a history, by plain SQL.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dflat::{Durability, Object, Reclaim, Result, Workspace};
use dflat_engine::engine::EngineOptions;
use dflat_history::keeper::Keeper;
use dflat_model::record::{Before, Change, ChangeRecord};
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::schema::{
    Item, ItemChangeRequest, ItemData, Other, OtherChangeRequest, OtherData,
};
use rusqlite::Connection;
use tempfile::TempDir;

/// The payloads of a table by row id.
pub(crate) type Rows = BTreeMap<i64, Vec<u8>>;

/// A directory for a file, and the path of the file.
pub(crate) fn file() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    (directory, path)
}

/// A workspace with versioned items.
pub(crate) fn open(path: &Path) -> Workspace {
    Workspace::builder(path).versioned::<Item>().open().unwrap()
}

/// A workspace with versioned items and others.
pub(crate) fn open_both(path: &Path) -> Workspace {
    let builder = Workspace::builder(path).versioned::<Item>();
    builder.versioned::<Other>().open().unwrap()
}

/// A workspace with versioned others.
pub(crate) fn open_others(path: &Path) -> Workspace {
    let builder = Workspace::builder(path).versioned::<Other>();
    builder.open().unwrap()
}

/// A workspace with versioned items on a device that may fail. Each commit waits for the device,
/// and no upkeep runs.
pub(crate) fn open_durable(path: &Path) -> Result<Workspace> {
    Workspace::builder(path)
        .versioned::<Item>()
        .durability(Durability::Full)
        .log_bytes_max(u64::MAX)
        .reclaim(Reclaim::Never)
        // A device of the harness meets the calls of all connections then.
        .io_stats(true)
        .open()
}

pub(crate) fn sql(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

/// The rows of a table; none if there is no such table.
pub(crate) fn rows(path: &Path, table: &str) -> Rows {
    let sql = sql(path);
    let Ok(mut rows) = sql.prepare(&format!("SELECT rowid, p FROM {table}")) else {
        return Rows::new();
    };
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let rows = rows.query_map([], read).unwrap();
    rows.map(|row| row.unwrap()).collect()
}

/// The steps, the first one first: notes and records.
pub(crate) fn steps(path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let sql = sql(path);
    let Ok(mut rows) = sql.prepare("SELECT note, record FROM dflat__steps ORDER BY id") else {
        return Vec::new();
    };
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let rows = rows.query_map([], read).unwrap();
    rows.map(|row| row.unwrap()).collect()
}

pub(crate) fn data(id: impl Into<String>, rank: i32) -> ItemData {
    ItemData {
        id: id.into(),
        rank,
        ..ItemData::default()
    }
}

/// Stores an item, whether it exists or not.
pub(crate) fn put(workspace: &Workspace, id: impl Into<String>, rank: i32) {
    let request = ItemChangeRequest::upsert(data(id, rank));
    let stored = workspace.perform_changes_blocking([Item::TABLE], |tx| tx.submit(request));
    stored.unwrap();
}

/// Stores others with a note in one transaction, whether they exist or not.
pub(crate) fn note_others(workspace: &Workspace, ids: Range<i32>, note: &str) {
    let noted = workspace.perform_changes_blocking([Other::TABLE], |tx| {
        ids.clone().try_for_each(|id| {
            let note = Some(note.to_owned());
            let data = OtherData { id, note };
            tx.submit(OtherChangeRequest::upsert(data)).map(drop)
        })
    });
    noted.unwrap();
}

pub(crate) fn delete(workspace: &Workspace, id: &str) {
    try_delete(workspace, id).unwrap();
}

pub(crate) fn try_delete(workspace: &Workspace, id: &str) -> Result<()> {
    workspace.perform_changes_blocking([Item::TABLE], |tx| {
        let item = tx.get::<Item>(id)?.unwrap();
        let request = ItemChangeRequest::deletion(tx, &item)?.unwrap();
        tx.submit(request).map(drop)
    })
}

/// The rank of an item.
pub(crate) fn rank(workspace: &Workspace, id: &str) -> Option<i32> {
    workspace.get::<Item>(id).unwrap().map(|item| item.rank())
}

/// A workspace on an engine of its own, as another process has one.
pub(crate) fn another(path: &Path) -> Workspace {
    let backend = SqliteBackend::open(path, SqliteOptions::default()).unwrap();
    let options = EngineOptions {
        history: Some(Arc::new(Keeper::default())),
        ..EngineOptions::default()
    };
    Workspace::on_backend(backend as Arc<_>, options)
}

/// A workspace of a program that was built without a history.
pub(crate) fn without_history(path: &Path) -> Workspace {
    let backend = SqliteBackend::open(path, SqliteOptions::default()).unwrap();
    Workspace::on_backend(backend as Arc<_>, EngineOptions::default())
}

/// The bytes of an item.
pub(crate) fn payload(id: &str, rank: i32) -> Vec<u8> {
    let memory = Workspace::in_memory();
    put(&memory, id, rank);
    memory.get::<Item>(id).unwrap().unwrap().to_bytes()
}

/// Goes back over all steps, and checks that they lead from the stored items to none.
pub(crate) fn leads_back(path: &Path) -> std::result::Result<(), String> {
    let mut state = rows(path, "item");
    for (_, record) in steps(path).iter().rev() {
        let record = ChangeRecord::decode(record).map_err(|error| error.to_string())?;
        let items = record.tables.iter();
        for row in items
            .filter(|table| table.table.name == "item")
            .flat_map(|t| t.rows())
        {
            let row = row.map_err(|error| error.to_string())?;
            let after = state.remove(&row.row_id.0);
            let before = match (row.change, after) {
                (Change::Inserted, Some(_)) => None,
                (Change::Updated(Before::Object(before)), Some(_))
                | (Change::Deleted(Some(before)), None) => Some(before.to_vec()),
                (Change::Updated(Before::Difference(difference)), Some(after)) => {
                    let before = difference.apply(&after);
                    Some(before.map_err(|error| error.to_string())?)
                }
                (change, after) => return Err(format!("{change:?} does not fit {after:?}")),
            };
            state.extend(before.map(|before| (row.row_id.0, before)));
        }
    }
    match state.is_empty() {
        true => Ok(()),
        false => Err(format!("the steps lead back to {state:?}")),
    }
}

/// The files beside a file, itself among them, that have a text.
pub(crate) fn having(path: &Path, text: &str) -> Vec<String> {
    let files = std::fs::read_dir(path.parent().unwrap()).unwrap();
    let files = files.map(|file| file.unwrap().path()).filter(|file| {
        let bytes = std::fs::read(file).unwrap();
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    });
    files.map(|file| file.display().to_string()).collect()
}
