//! Copies commits from one file to another, as a pull does, by the parts below the protocol.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use dflat::history::{Commit, CommitId};
use dflat::{Object, Result, Workspace};
use dflat_engine::engine::{Engine, EngineOptions, PerformOptions};
use dflat_engine::history::KeepHistory;
use dflat_engine::storage::{NamedTable, WriteTransaction};
use dflat_engine::transaction::Transaction;
use dflat_history::commits::{self, Content, store_commit};
use dflat_history::compare::ObjectDiff;
use dflat_history::keeper::Keeper;
use dflat_history::received::{PartWriter, delete_parts, put_part};
use dflat_model::Table;
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::schema::{Item, Other};

use super::super::super::files::sql;

/// The tables of both files.
pub(super) fn tables() -> [Table; 2] {
    [Item::TABLE, Other::TABLE]
}

/// An engine on a file, as another process has one. Its first write makes the types versioned.
pub(super) fn engine(path: &Path) -> Result<Engine> {
    let options = SqliteOptions {
        // A device that may fail meets the calls of all connections then.
        io_stats: true,
        ..SqliteOptions::default()
    };
    let backend = SqliteBackend::open(path, options)?;
    let keeper = Keeper::default();
    for table in tables() {
        keeper.want(&table, true);
    }
    let options = EngineOptions {
        history: Some(Arc::new(keeper)),
        ..EngineOptions::default()
    };
    Ok(Engine::new(backend as Arc<_>, options))
}

/// Writes to the history of a file, in one transaction.
pub(super) fn write<R>(
    engine: &Engine,
    write: impl FnOnce(&mut dyn WriteTransaction) -> Result<R>,
) -> Result<R> {
    write_to(engine, &tables(), write)
}

/// As [`write`], where only these types are versioned.
fn write_to<R>(
    engine: &Engine,
    tables: &[Table],
    write: impl FnOnce(&mut dyn WriteTransaction) -> Result<R>,
) -> Result<R> {
    let options = PerformOptions { write_first: true };
    let handler = |transaction: &Rc<Transaction>| {
        // Makes the types versioned.
        for table in tables {
            transaction.write_history(table, |_| Ok(()))?;
        }
        transaction.write_history(&tables[0], write)
    };
    engine.perform_here(tables.iter().cloned(), options, handler, |_| ())
}

/// The commits of a file, each after its parents.
pub(super) fn commits(path: &Path) -> Vec<Commit> {
    let engine = engine(path).unwrap();
    let named = named(path, "dflat__commits").into_iter();
    let load = |(name, _): (Vec<u8>, Vec<u8>)| {
        let id = CommitId::from_bytes(name.try_into().unwrap());
        engine
            .read_history(|snapshot| commits::load(snapshot, id))
            .unwrap()
    };
    named.map(load).collect()
}

/// The rows of a table of named bytes.
fn named(path: &Path, table: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let sql = sql(path);
    let text = format!("SELECT name, bytes FROM {table} ORDER BY id");
    let mut rows = sql.prepare(&text).unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(|row| row.unwrap()).collect()
}

/// The changes of a commit from its first parent, in parts.
pub(super) fn parts(path: &Path, commit: &Commit, rows_of_part: usize) -> Vec<Vec<u8>> {
    let engine = engine(path).unwrap();
    let (mut parts, mut writer, mut rows) = (Vec::new(), PartWriter::new(), 0);
    for table in tables() {
        let content = Content::of(&table);
        let states = (commit.parents.first().copied(), commit.id);
        for change in ObjectDiff::since(&engine, &tables(), &table, states).unwrap() {
            let change = change.unwrap();
            let after = change.after.map(|(row_id, payload)| {
                let bytes = content.bytes(row_id, &payload);
                bytes.unwrap()
            });
            if rows == rows_of_part || writer.is_full() {
                parts.push(std::mem::take(&mut writer).finish(false));
                rows = 0;
            }
            writer.push(&table.name, &change.key, after.as_deref());
            rows += 1;
        }
    }
    parts.push(writer.finish(true));
    parts
}

/// Copies all commits of a file that another one lacks, with their trees, and notes the branches of
/// the file as those of a remote. Returns the new commits.
pub(super) fn pull(from: &Path, to: &Path, remote: &str) -> Result<Vec<CommitId>> {
    pull_types(from, (to, &tables()), remote)
}

/// As [`pull`], into a file where only these types are versioned.
pub(super) fn pull_types(
    from: &Path,
    (to, types): (&Path, &[Table]),
    remote: &str,
) -> Result<Vec<CommitId>> {
    let engine = engine(to)?;
    let chunks = named(from, "dflat__chunks");
    write_to(&engine, types, |writer| {
        for (name, bytes) in &chunks {
            writer.put_named(NamedTable::Chunks, name, bytes)?;
        }
        Ok(())
    })?;
    let mut new = Vec::new();
    for commit in commits(from) {
        let is_there = engine.read_history(|snapshot| commits::has(snapshot, &[commit.id]))?;
        if is_there == [true] {
            continue;
        }
        let parts = parts(from, &commit, 3);
        write_to(&engine, types, |writer| {
            delete_parts(writer, commit.id)?;
            for (part, number) in parts.iter().zip(0..) {
                put_part(writer, commit.id, number, part)?;
            }
            store_commit(writer, &commit)
        })?;
        new.push(commit.id);
    }
    let branches: BTreeMap<String, Vec<u8>> = named(from, "dflat__refs")
        .into_iter()
        .filter_map(|(name, bytes)| {
            let name = String::from_utf8(name).unwrap();
            Some((name.strip_prefix("branch/")?.to_owned(), bytes))
        })
        .collect();
    write_to(&engine, types, |writer| {
        branches.iter().try_for_each(|(branch, commit)| {
            let commit = CommitId::from_bytes(commit.as_slice().try_into().unwrap());
            commits::put_remote(writer, (remote, branch), commit)
        })
    })?;
    Ok(new)
}

/// The values of all objects, by type and key.
pub(super) type Copy = BTreeSet<(&'static str, String, String)>;

/// The objects of a workspace.
pub(super) fn copy(workspace: &Workspace) -> Copy {
    let items = workspace.fetch::<Item>().all().unwrap();
    let items = items.iter().map(|item| {
        let values = format!("{:?}", item.to_data());
        ("item", item.id().to_owned(), values)
    });
    let others = workspace.fetch::<Other>().all().unwrap();
    let others = others.iter().map(|other| {
        let values = format!("{:?}", other.to_data());
        ("other", other.id().to_string(), values)
    });
    items.chain(others).collect()
}
