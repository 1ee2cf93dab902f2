//! Tests of the transactions that follow an undone one.

use std::borrow::Cow;

use dflat_engine::storage::{Backend, CloseOptions, IndexState};
use dflat_model::{Field, FieldKind, IndexDescriptor, Scalar, Step, TableDescriptor, Value};

use super::super::*;
use crate::backend::SqliteBackend;
use crate::layout::control::ControlStatement;
use crate::layout::sample;
use crate::options::SqliteOptions;

const INDEXES: u16 = 17;

/// A table with many indexes.
fn table(name: &'static str) -> Table {
    let index = |position: u16| IndexDescriptor {
        fields: Cow::Owned(vec![Field {
            name: Cow::Owned(format!("f{position}")),
            steps: Cow::Owned(vec![Step::Field(6 + 2 * position)]),
            kind: FieldKind::Scalar(Scalar::I64),
            default: Value::Int(0),
        }]),
        unique: false,
        condition: None,
    };
    let sample: &TableDescriptor = &sample::table();
    Table::new(TableDescriptor {
        name: Cow::Borrowed(name),
        indexes: Cow::Owned((0..INDEXES).map(index).collect()),
        ..sample.clone()
    })
}

fn open() -> (tempfile::TempDir, Arc<SqliteBackend>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let backend = SqliteBackend::open(path, SqliteOptions::default()).unwrap();
    (directory, backend)
}

/// Begins a transaction that uses the indexes of a table, as the engine does before a write.
fn begin(backend: &Arc<SqliteBackend>, table: &Table) -> Box<dyn WriteTransaction> {
    let mut tx = Arc::clone(backend).begin(backend.durability()).unwrap();
    tx.create(table).unwrap();
    let states = tx.indexes(table).unwrap().states;
    assert!(states.iter().all(|state| *state == IndexState::Ready));
    tx
}

/// The number of statements that the connection for writes has run so far.
fn runs_count(backend: &SqliteBackend) -> u64 {
    let connection = backend.connections().take_writer().unwrap();
    let count = connection.raw.runs_count;
    backend.upkeep().return_writer(Some(connection));
    count
}

/// The number of statements that a committed transaction on the table runs.
fn commit_cost(backend: &Arc<SqliteBackend>, table: &Table) -> u64 {
    let before = runs_count(backend);
    begin(backend, table).commit().unwrap();
    runs_count(backend) - before
}

#[test]
fn an_undone_transaction_makes_the_next_one_look_up_no_index() {
    let (_directory, backend) = open();
    let table = table("page");
    begin(&backend, &table).commit().unwrap();
    let usual = commit_cost(&backend, &table);
    drop(begin(&backend, &table));
    let after = commit_cost(&backend, &table);
    assert!(after < usual + u64::from(INDEXES), "{usual}, then {after}");
}

#[test]
fn a_table_that_an_undone_transaction_created_is_created_again() {
    let (_directory, backend) = open();
    let (kept, undone) = (table("kept"), table("undone"));
    begin(&backend, &kept).commit().unwrap();
    let mut tx = begin(&backend, &undone);
    tx.create(&kept).unwrap();
    drop(tx);
    begin(&backend, &undone).commit().unwrap();
    begin(&backend, &kept).commit().unwrap();
    let mut connection = backend.connections().take_writer().unwrap();
    for name in ["kept", "undone"] {
        assert!(
            connection
                .exists(ControlStatement::FindTable, name)
                .unwrap()
        );
    }
    backend.upkeep().return_writer(Some(connection));
}

#[test]
fn a_table_that_an_undone_transaction_has_checked_is_checked_again() {
    let (directory, backend) = open();
    let table = table("page");
    begin(&backend, &table).commit().unwrap();
    backend.close(CloseOptions::default()).unwrap();

    // A check may empty an index table that can't be trusted, which is undone with the transaction.
    let path = directory.path().join("a.db");
    let backend = SqliteBackend::open(path, SqliteOptions::default()).unwrap();
    drop(begin(&backend, &table));
    let checked = commit_cost(&backend, &table);
    let usual = commit_cost(&backend, &table);
    let least = usual + u64::from(INDEXES);
    assert!(checked > least, "{checked}, then {usual}");
}
