//! Tests of following, on the records of an invented file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use dflat_model::record::{Part, RecordHead, RecordWriter, TableHead, WrittenRow, empty_record};
use dflat_model::{
    CommitSeq, Element, FieldLayout, RowId, Scalar, Shape, Table, TableDescriptor, TableLayout,
    TypeDescriptor, Value, ValueRef,
};

use super::{Follow, Followed, FollowedCommit};
use crate::change_set::RowChange;
use crate::error::Result;
use crate::object::{TableView, Writer};
use crate::storage::{Indexes, Records, Row, ScanPlan, Snapshot, Source, StateId};

mod documented;
mod keys;
mod noted;
mod parts;

const OTHER: u64 = 7;
const OWN: u64 = 8;

/// A file with one table, the records of its commits, and whether they are complete.
#[derive(Default)]
struct File {
    rows: BTreeMap<i64, Vec<u8>>,
    /// The latest first.
    records: Vec<Vec<u8>>,
    is_broken: bool,
    /// The foreign rows, if another program has committed.
    noted: Option<Vec<RowId>>,
    /// Whether the foreign rows are not known.
    is_unmarked: bool,
}

impl Snapshot for File {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let Source::RowIds(row_ids) = plan.source else {
            panic!("only changed rows are read: {:?}", plan.source);
        };
        for row_id in row_ids {
            let Some(payload) = self.rows.get(&row_id.0) else {
                continue;
            };
            let row = Row {
                row_id: *row_id,
                payload,
                entry: None,
            };
            if visit(row).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn records(
        &mut self,
        _: StateId,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Records> {
        let is_ended = |record: &Vec<u8>| visit(record).is_break();
        let is_broken = self.is_broken || self.records.iter().any(is_ended);
        Ok(match &self.noted {
            _ if is_broken => Records::Broken,
            Some(_) => Records::Noted,
            None => Records::Complete,
        })
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        Ok(Indexes {
            foreign: self.noted.clone().unwrap_or_default(),
            is_noted: !self.is_unmarked,
            ..Indexes::ready(table)
        })
    }
}

fn table(name: &str) -> Table {
    let field = FieldLayout {
        name: "n".into(),
        voffset: 4,
        shape: Shape::Single(Element::Scalar(Scalar::I64)),
        default: Value::Int(0),
        required: false,
    };
    let root = TableLayout {
        name: "Sample".into(),
        fields: vec![field].into(),
        end: 6,
    };
    Table::new(TableDescriptor {
        name: name.to_owned().into(),
        type_name: "Sample".into(),
        primary_key: Vec::new().into(),
        auto_key: None,
        indexes: Vec::new().into(),
        types: vec![TypeDescriptor::Table(root)].into(),
    })
}

fn payload(n: i64) -> Vec<u8> {
    let mut writer = Writer::new();
    let root = writer.begin();
    assert!(writer.begin_table(root));
    writer.scalar(4, n);
    writer.end_table();
    writer.leave();
    writer.finish().unwrap().to_vec()
}

/// A row with its numbers before and after.
type Change = (i64, Option<i64>, Option<i64>);

fn record_of(engine: u64, part: Part, tables: &[(&str, bool, &[Change])]) -> Vec<u8> {
    let head = RecordHead {
        engine,
        part,
        ..RecordHead::default()
    };
    let mut bytes = Vec::new();
    let mut writer = RecordWriter::new(&head, false, &mut bytes);
    for (name, is_foreign, rows) in tables {
        writer.table(&TableHead {
            name,
            descriptor: 0,
            key_columns: 1,
            is_foreign: *is_foreign,
        });
        for (row_id, before, after) in *rows {
            let (before, after) = (before.map(payload), after.map(payload));
            writer.row(&WrittenRow {
                row_id: RowId(*row_id),
                key: &[ValueRef::Int(*row_id)],
                is_foreign: false,
                before: before.as_deref(),
                after: after.as_deref(),
            });
        }
    }
    writer.finish();
    bytes
}

impl File {
    /// Applies and records a transaction of one record.
    fn commit(&mut self, changes: &[Change]) {
        self.apply(changes);
        self.record(record_of(OTHER, Part::Whole, &[("seen", false, changes)]));
    }

    fn apply(&mut self, changes: &[Change]) {
        for (row_id, _, after) in changes {
            match after {
                Some(n) => drop(self.rows.insert(*row_id, payload(*n))),
                None => drop(self.rows.remove(row_id)),
            }
        }
    }

    fn record(&mut self, record: Vec<u8>) {
        self.records.insert(0, record);
    }

    /// The followed commits, of which only the table `seen` is observed.
    fn follow_within(&mut self, bytes_max: usize) -> Option<Vec<FollowedCommit>> {
        match self.followed_within(bytes_max) {
            Followed::Commits { commits, .. } => Some(commits),
            Followed::Rows(_) | Followed::Unknown => None,
        }
    }

    fn followed_within(&mut self, bytes_max: usize) -> Followed {
        let looked_up = RefCell::new(Vec::new());
        let follow = Follow {
            since: StateId::default(),
            record_engine: OWN,
            engine: 1,
            seq: CommitSeq(10),
            observed: &|name| {
                looked_up.borrow_mut().push(name.to_owned());
                (name == "seen").then(|| table(name))
            },
            all_observed: &|| vec![table("seen")],
            listened: &|name| name == "listened",
            bytes_max,
        };
        follow.commits(self).unwrap()
    }

    /// The changes of each followed commit.
    fn follow(&mut self) -> Option<Vec<Vec<Change>>> {
        let commits = self.follow_within(1 << 20)?;
        Some(commits.iter().map(changes_of).collect())
    }
}

fn changes_of(commit: &FollowedCommit) -> Vec<Change> {
    let number = |object: &Option<crate::object::Object>| {
        let root = TableView::root(object.as_ref()?.payload()).unwrap();
        root.scalar(4).unwrap().or(Some(0))
    };
    let rows = commit.tables.iter().flat_map(|table| &table.rows);
    let changes =
        rows.map(|(row_id, RowChange { before, after })| (row_id.0, number(before), number(after)));
    changes.collect()
}

#[test]
fn commits_have_the_states_before_and_after_in_their_order() {
    let mut file = File::default();
    let commits: [&[Change]; 5] = [
        &[
            (1, None, Some(10)),
            (2, None, Some(20)),
            (3, None, Some(30)),
        ],
        &[(1, Some(10), Some(11))],
        &[(1, Some(11), Some(12)), (2, Some(20), None)],
        &[(3, Some(30), Some(31)), (4, None, Some(40))],
        &[(4, Some(40), None)],
    ];
    for commit in commits {
        file.commit(commit);
    }
    assert_eq!(file.follow().unwrap(), commits);
    // Objects are as of their commits.
    let followed = file.follow_within(1 << 20).unwrap();
    let (_, second) = &followed[1].tables[0].rows[0];
    let seq = |object: &Option<crate::object::Object>| object.as_ref().unwrap().origin().seq;
    assert_eq!(
        (seq(&second.before), seq(&second.after)),
        (CommitSeq(11), CommitSeq(12))
    );
}

#[test]
fn only_observed_tables_are_rebuilt_and_all_are_named() {
    let mut file = File::default();
    let unknown = (9, Some(1), Some(2));
    file.commit(&[(1, None, Some(10))]);
    file.record(record_of(
        OTHER,
        Part::Whole,
        &[("unseen", true, &[unknown])],
    ));
    let both: [(&str, bool, &[Change]); 2] = [
        ("unseen", false, &[unknown]),
        ("seen", false, &[(1, Some(10), Some(11))]),
    ];
    file.apply(&[(1, Some(10), Some(11))]);
    file.record(record_of(OTHER, Part::Whole, &both));
    let commits = file.follow_within(1 << 20).unwrap();
    let names: Vec<_> = commits
        .iter()
        .map(|commit| commit.names.join(" "))
        .collect();
    assert_eq!(names, ["seen", "unseen", "unseen seen"]);
    let changes: Vec<_> = commits.iter().map(changes_of).collect();
    assert_eq!(
        changes,
        [
            vec![(1, None, Some(10))],
            vec![],
            vec![(1, Some(10), Some(11))]
        ]
    );
}

#[test]
fn upkeep_and_own_records_are_no_commits() {
    let mut file = File::default();
    file.record(record_of(
        OWN,
        Part::Whole,
        &[("seen", false, &[(1, None, Some(1))])],
    ));
    file.apply(&[(1, None, Some(1))]);
    file.record(empty_record());
    file.commit(&[(1, Some(1), Some(2))]);
    file.record(record_of(OTHER, Part::Whole, &[]));
    assert_eq!(file.follow().unwrap(), [[(1, Some(1), Some(2))]]);
    // A commit of another engine before one of this engine would have been followed.
    file.record(record_of(
        OWN,
        Part::Whole,
        &[("seen", false, &[(2, None, Some(1))])],
    ));
    assert_eq!(file.follow(), None);
}

#[test]
fn records_that_do_not_fit_the_rows_are_not_followed() {
    let wrong: [Change; 4] = [
        // A row that was inserted or updated is missing, and a deleted one exists.
        (3, None, Some(1)),
        (3, Some(1), Some(2)),
        (1, Some(10), None),
        // The object after is missing.
        (4, Some(10), Some(99)),
    ];
    for change in wrong {
        let mut file = File::default();
        file.commit(&[(1, None, Some(10))]);
        file.record(record_of(OTHER, Part::Whole, &[("seen", false, &[change])]));
        assert_eq!(file.follow(), None, "{change:?}");
    }
    let mut file = File::default();
    file.record(record_of(OTHER, Part::Whole, &[("seen", true, &[])]));
    assert_eq!(file.follow(), None, "any row may be foreign");
    let mut file = File::default();
    file.commit(&[(1, None, Some(10))]);
    file.record(vec![1, 2, 3]);
    assert_eq!(file.follow(), None, "a damaged record");
    file.records.remove(0);
    assert!(file.follow().is_some());
    file.is_broken = true;
    assert_eq!(file.follow(), None);
}

#[test]
fn damaged_object_before_an_update_is_not_delivered() {
    let mut file = File::default();
    file.apply(&[(1, None, Some(10))]);
    let head = RecordHead {
        engine: OTHER,
        ..RecordHead::default()
    };
    let mut bytes = Vec::new();
    let mut writer = RecordWriter::new(&head, false, &mut bytes);
    let (name, descriptor, key_columns, is_foreign) = ("seen", 0, 0, false);
    writer.table(&TableHead {
        name,
        descriptor,
        key_columns,
        is_foreign,
    });
    let (before, after) = ([0xFF; 5], payload(10));
    writer.row(&WrittenRow {
        row_id: RowId(1),
        key: &[],
        is_foreign,
        before: Some(&before),
        after: Some(&after),
    });
    writer.finish();
    file.record(bytes);
    assert_eq!(file.follow(), None);
}

#[test]
fn records_beyond_the_limit_are_not_followed() {
    let mut file = File::default();
    file.commit(&[(1, None, Some(10))]);
    let size = file.records[0].len();
    // Records of tables that are not observed do not count.
    let many: Vec<Change> = (1..100).map(|row_id| (row_id, None, Some(1))).collect();
    file.record(record_of(OTHER, Part::Whole, &[("unseen", false, &many)]));
    assert_eq!(
        file.follow_within(size).map(|commits| commits.len()),
        Some(2)
    );
    assert!(file.follow_within(size - 1).is_none());
}
