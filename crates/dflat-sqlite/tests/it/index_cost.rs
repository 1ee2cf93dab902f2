//! The pages of 4 KiB that an index adds to a write. These are counts, the same on every machine.
//! The table in `docs/storage-format.md` has these figures.

use std::sync::Arc;

use dflat_engine::storage::{EntryValues, IndexEntry, RowWrite};
use dflat_model::{IndexDescriptor, RowId, Step, Table, TableDescriptor, ValueRef};
use dflat_sqlite::{Durability, FileKind, Operation, Reclaim, SqliteBackend, SqliteOptions};

use crate::sample::{INT, begin, field, table_of};

/// The number of objects before the measurement.
const ROWS: i64 = 10_000;

/// The pages that a commit of one change, and one of 1,000 changes, write on average.
#[derive(Debug, PartialEq)]
struct Pages {
    one: f64,
    thousand: f64,
}

/// A value that is far apart from the values of neighbouring numbers in the index.
const fn spread(n: i64) -> i64 {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) >> 1
}

struct Run {
    backend: Arc<SqliteBackend>,
    table: Table,
    next: i64,
}

impl Run {
    /// A file with objects of 500 bytes. Each index has the given number of fields, and is unique
    /// or not.
    fn new(directory: &std::path::Path, indexes: &[(u16, bool)]) -> Self {
        let options = SqliteOptions {
            durability: Durability::Normal,
            reclaim: Reclaim::Never,
            io_stats: true,
            ..SqliteOptions::default()
        };
        let positions = (0_u16..).zip(indexes);
        let indexes = positions.map(|(position, (fields, unique))| IndexDescriptor {
            fields: (0..*fields)
                .map(|at| field(&[Step::Field(6 + 20 * position + 2 * at)], INT))
                .collect(),
            unique: *unique,
            condition: None,
        });
        let table = TableDescriptor {
            indexes: indexes.collect(),
            ..(*table_of("cost", &[INT], &[])).clone()
        };
        let mut run = Self {
            backend: SqliteBackend::open(directory.join("a.db"), options).unwrap(),
            table: Table::new(table),
            next: 0,
        };
        run.insert(ROWS);
        run
    }

    fn insert(&mut self, count: i64) {
        let mut tx = begin(&self.backend);
        tx.create(&self.table).unwrap();
        for key in self.next..self.next + count {
            let row = RowWrite {
                key: Some(&[ValueRef::Int(key)]),
                payload: &[7; 500],
                entries: &self.entries(spread(key)),
            };
            tx.insert(&self.table, &row).unwrap();
        }
        tx.commit().unwrap();
        self.next += count;
    }

    /// Updates consecutive objects, with or without their indexed values.
    fn update(&mut self, count: i64, values: bool) {
        let mut tx = begin(&self.backend);
        tx.create(&self.table).unwrap();
        for _ in 0..count {
            self.next += 1;
            let entries = match values {
                true => self.entries(spread(self.next)),
                false => Vec::new(),
            };
            let row = RowWrite {
                key: None,
                payload: &[(self.next % 251) as u8; 500],
                entries: &entries,
            };
            let row_id = RowId(1 + self.next % ROWS);
            tx.update(&self.table, row_id, &row).unwrap();
        }
        tx.commit().unwrap();
    }

    fn entries(&self, value: i64) -> Vec<IndexEntry<'static>> {
        let value = ValueRef::Int(value);
        let indexes = self.table.indexes.iter().enumerate();
        let entry = |(index, descriptor): (usize, &IndexDescriptor)| IndexEntry {
            index,
            values: match descriptor.fields.len() {
                1 => EntryValues::One(value),
                fields => EntryValues::Several(vec![value; fields]),
            },
        };
        indexes.map(entry).collect()
    }

    fn pages(&mut self, work: impl Fn(&mut Self, i64)) -> Pages {
        let mut count = |commits: i64, each: i64| {
            let before = self.backend.io_report().unwrap();
            for _ in 0..commits {
                work(self, each);
            }
            let report = self.backend.io_report().unwrap().since(&before);
            let log = report.files.iter().find(|file| file.kind == FileKind::Log);
            let written = log.and_then(|log| log.calls(Operation::Write));
            // Each page in the log has a header, which is less than a hundredth of the page.
            let pages = written.map_or(0, |calls| calls.bytes / 4096);
            pages as f64 / commits as f64
        };
        Pages {
            one: count(100, 1),
            thousand: count(1, 1000),
        }
    }
}

// Promise: storage-format#S19
#[test]
fn index_adds_the_documented_pages_to_a_write() {
    let cost = |indexes: &[(u16, bool)]| {
        let directory = tempfile::tempdir().unwrap();
        let mut run = Run::new(directory.path(), indexes);
        let insert = run.pages(Run::insert);
        let update = run.pages(|run, count| run.update(count, true));
        let same = run.pages(|run, count| run.update(count, false));
        (insert, update, same)
    };
    let none = cost(&[]);
    // The figures of the table in the docs, for an index over one field and for one over two.
    let (single, double) = ([2.1, 55.0, 3.0, 54.0], [2.2, 87.0, 3.1, 84.0]);
    for (indexes, documented) in [
        (&[(1, false)][..], single),
        (&[(1, true)], single),
        (&[(1, false), (1, false)], single),
        (&[(2, false)], double),
        (&[(2, true)], double),
    ] {
        let (insert, update, same) = cost(indexes);
        // The figures must be within a tenth of a page, or within five pages for a thousand
        // changes, of those in the docs.
        let near = |found: f64, base: f64, each: f64, slack: f64| {
            let expected = base + each * indexes.len() as f64;
            assert!((found - expected).abs() <= slack, "{found} for {expected}");
        };
        near(insert.one, none.0.one, documented[0], 0.1);
        near(insert.thousand, none.0.thousand, documented[1], 5.0);
        near(update.one, none.1.one, documented[2], 0.1);
        near(update.thousand, none.1.thousand, documented[3], 5.0);
        // An index whose value is unchanged costs nothing, and neither do the triggers on its
        // table.
        assert_eq!(same, none.2);
    }
}
