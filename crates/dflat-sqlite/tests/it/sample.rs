//! Tables and short functions for tests.

use std::borrow::Cow;
use std::fs;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dflat_engine::Result;
use dflat_engine::storage::{
    Backend, IndexEntry, Key, KeyScan, Row, RowRepair, RowWrite, ScanPlan, Snapshot, Source, View,
    WriteError, WriteTransaction,
};
use dflat_model::{
    Direction, Field, FieldKind, IndexDescriptor, RowId, Scalar, Step, Table, TableDescriptor,
    Value, ValueRef,
};
use dflat_sqlite::{SqliteBackend, SqliteOptions};

pub(crate) const INT: FieldKind = FieldKind::Scalar(Scalar::I64);
pub(crate) const REAL: FieldKind = FieldKind::Scalar(Scalar::F64);
pub(crate) const TEXT: FieldKind = FieldKind::Text;

pub(crate) fn field(steps: &[Step], kind: FieldKind) -> Field {
    Field {
        name: Cow::Borrowed("field"),
        steps: Cow::Owned(steps.to_vec()),
        kind,
        default: Value::Null,
    }
}

pub(crate) fn table_of(name: &str, keys: &[FieldKind], indexes: &[(Field, bool)]) -> Table {
    let keys = keys.iter().enumerate();
    let key_fields: Vec<Field> = keys
        .map(|(i, kind)| field(&[Step::Field(100 + i as u16)], *kind))
        .collect();
    let indexes: Vec<IndexDescriptor> = indexes
        .iter()
        .map(|(field, unique)| IndexDescriptor::plain(field.clone(), *unique))
        .collect();
    Table::new(TableDescriptor {
        name: Cow::Owned(name.to_owned()),
        type_name: Cow::Owned(name.to_owned()),
        primary_key: Cow::Owned(key_fields),
        auto_key: None,
        indexes: Cow::Owned(indexes),
        types: Cow::Borrowed(&[]),
    })
}

/// The table `post`, with a text key, an index on an integer (0) and a unique index on a text (1).
pub(crate) fn post() -> Table {
    let priority = field(&[Step::Field(6)], INT);
    let slug = field(&[Step::Field(8)], TEXT);
    table_of("post", &[TEXT], &[(priority, false), (slug, true)])
}

/// The tables of the files that Dflat for Swift wrote.
pub(crate) fn originals() -> [Table; 3] {
    let monster_indexes = [
        (field(&[Step::Field(6)], INT), false),
        (field(&[Step::Field(26), Step::Tag], INT), false),
        (
            field(&[Step::Field(26), Step::Member(2), Step::Field(4)], TEXT),
            true,
        ),
    ];
    [
        table_of("benchdoc", &[TEXT], &[]),
        table_of(
            "mygame__sample__monster_v1_1",
            &[TEXT, INT],
            &monster_indexes,
        ),
        table_of("dictitem_v_dflat_internal__", &[TEXT, TEXT], &[]),
    ]
}

/// A page cache for tests whose data must not fit into it.
pub(crate) const SMALL_CACHE: u64 = 2 << 20;

pub(crate) fn open(path: &Path) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        page_cache_bytes: SMALL_CACHE,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

pub(crate) fn open_impatient(path: &Path) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        busy_timeout: Duration::from_millis(50),
        readers_max: 2,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

pub(crate) fn open_read_only(path: &Path) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        read_only: true,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

/// Sets a file's time to long ago, so that the next write changes it however coarse the clock is.
pub(crate) fn make_old(path: &Path) {
    let file = fs::File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
}

pub(crate) fn begin(backend: &Arc<SqliteBackend>) -> Box<dyn WriteTransaction> {
    Arc::clone(backend).begin(backend.durability()).unwrap()
}

pub(crate) fn snapshot(backend: &Arc<SqliteBackend>, view: View) -> Box<dyn Snapshot> {
    Arc::clone(backend).snapshot(view).unwrap()
}

/// Inserts a post with a key, a priority and a slug; its payload is the key.
pub(crate) fn insert_post(
    tx: &mut dyn WriteTransaction,
    (key, priority, slug): (&str, i64, Option<&str>),
) -> Result<RowId, WriteError> {
    let row = RowWrite {
        key: Some(&[ValueRef::Text(key)]),
        payload: key.as_bytes(),
        entries: &entries(priority, slug),
    };
    tx.insert(&post(), &row)
}

pub(crate) fn entries(priority: i64, slug: Option<&str>) -> [IndexEntry<'_>; 2] {
    let slug = slug.map_or(ValueRef::Null, ValueRef::Text);
    let priority = ValueRef::Int(priority);
    let entry = |index, value| IndexEntry::one(index, value);
    [entry(0, priority), entry(1, slug)]
}

/// A file with three posts.
pub(crate) fn three_posts(path: &Path) -> Arc<SqliteBackend> {
    let backend = open(path);
    let mut tx = begin(&backend);
    tx.create(&post()).unwrap();
    for row in [("a", 30, Some("x")), ("b", 10, None), ("c", 20, Some("z"))] {
        insert_post(&mut *tx, row).unwrap();
    }
    tx.commit().unwrap();
    backend
}

pub(crate) fn collect(
    snapshot: &mut dyn Snapshot,
    table: &Table,
    source: Source<'_>,
) -> Vec<(i64, Vec<u8>)> {
    let mut rows = Vec::new();
    let plan = ScanPlan {
        table,
        source,
        payload: true,
    };
    snapshot
        .scan(&plan, &mut |row: Row<'_>| {
            rows.push((row.row_id.0, row.payload.to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

/// The row ids of a scan.
pub(crate) fn ids(snapshot: &mut dyn Snapshot, table: &Table, source: Source<'_>) -> Vec<i64> {
    let rows = collect(snapshot, table, source);
    rows.into_iter().map(|(id, _)| id).collect()
}

/// The row ids that a new snapshot sees.
pub(crate) fn latest_ids(backend: &Arc<SqliteBackend>, table: &Table) -> Vec<i64> {
    ids(&mut *snapshot(backend, View::Latest), table, Source::Rows)
}

/// A scan of a whole key, ascending.
pub(crate) fn whole(key: Key) -> Source<'static> {
    Source::Key(KeyScan {
        key,
        prefix: &[],
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
        direction: Direction::Ascending,
        after: None,
    })
}

/// A repair of one row.
pub(crate) fn of_row(row_id: i64, is_foreign: bool, entries: Vec<IndexEntry<'_>>) -> RowRepair<'_> {
    RowRepair {
        row_id: RowId(row_id),
        is_foreign,
        entries,
    }
}
