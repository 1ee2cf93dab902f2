//! Counts the instructions of reading against those of a plainer way to do the same.
//!
//! ```text
//! cargo bench -p dflat-engine            instructions of each, counted by callgrind
//! cargo bench -p dflat-engine -- --quick the same with fewer rounds
//! ```
//!
//! Conditions on rows are compared with the same written by hand, and each shortcut of the engine
//! with the code that it replaces. Both sides read the same rows. The program fails if ours takes
//! more instructions than a contest allows, so that a shortcut that no longer saves any is noticed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops at the first failure"
)]

#[path = "../../../dflat-codegen/benches/codec/callgrind.rs"]
mod callgrind;

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use callgrind::{Work, does_work, instructions};
use dflat_engine::fetch::{Control, Total, fetch};
use dflat_engine::object::{Origin, TableView, Writer};
use dflat_engine::query::Condition;
use dflat_engine::storage::{
    Backend, Durability, EntryValues, IndexEntry, MemoryBackend, RowWrite, View,
};
use dflat_model::{
    Comparison, Expression, Field, FieldKind, Predicate, Query, RowId, Scalar, Step, Table, Value,
    ValueRef,
};
use dflat_schema::{MemoryLoader, Options, compile, describe};

const RANK: u16 = 4;
const RATIO: u16 = 6;
const NAME: u16 = 8;
const INNER: u16 = 10;

/// Our code, a plainer way to do the same, and the instructions that ours may take for ten of the
/// plainer way.
struct Contest {
    name: &'static str,
    sides: [Work; 2],
    allowed: u64,
}

const CONTESTS: [Contest; 8] = [
    Contest {
        name: "an integer",
        sides: [
            |rounds| {
                ours(
                    rounds,
                    &compare(RANK, I32, Comparison::Greater, Value::Int(50)),
                )
            },
            |rounds| by_hand(rounds, |root| rank(root) > 50),
        ],
        allowed: 17,
    },
    Contest {
        name: "a range",
        sides: [
            |rounds| ours(rounds, &range()),
            |rounds| by_hand(rounds, |root| (20..70).contains(&rank(root))),
        ],
        allowed: 17,
    },
    Contest {
        name: "a float",
        sides: [
            |rounds| {
                ours(
                    rounds,
                    &compare(RATIO, F64, Comparison::Less, Value::Float(9.5)),
                )
            },
            |rounds| {
                by_hand(rounds, |root| {
                    root.scalar::<f64>(RATIO).unwrap().unwrap_or(0.0) < 9.5
                })
            },
        ],
        allowed: 40,
    },
    Contest {
        name: "a string",
        sides: [
            |rounds| {
                let wanted = Value::text("number 77");
                ours(
                    rounds,
                    &compare(NAME, FieldKind::Text, Comparison::Equal, wanted),
                );
            },
            |rounds| by_hand(rounds, |root| root.text(NAME).unwrap() == Some("number 77")),
        ],
        allowed: 27,
    },
    Contest {
        name: "a nested integer",
        sides: [
            |rounds| ours(rounds, &nested()),
            |rounds| {
                by_hand(rounds, |root| {
                    let inner = root.table(INNER).unwrap();
                    inner.is_some_and(|inner| rank(&inner) > 50)
                });
            },
        ],
        allowed: 24,
    },
    // `object/text.rs`, against the check of the standard library.
    Contest {
        name: "a short text",
        sides: [
            |rounds| by_hand(rounds, |root| root.text(NAME).unwrap() == Some("number 77")),
            |rounds| {
                by_hand(rounds, |root| {
                    let text = root.text_bytes(NAME).unwrap().map(str::from_utf8);
                    text.transpose().unwrap() == Some("number 77")
                });
            },
        ],
        allowed: 6,
    },
    // `fetch/lookup.rs`, against a plan: a conjunction of one part is no look-up.
    Contest {
        name: "a look-up",
        sides: [
            |rounds| look_up(rounds, |wanted| wanted),
            |rounds| look_up(rounds, |wanted| Predicate::And(vec![wanted])),
        ],
        allowed: 8,
    },
    // `fetch/total.rs`, against additions that round: the price of a sum that no plan changes.
    Contest {
        name: "an exact sum",
        sides: [
            |rounds| {
                let mut total = Total::default();
                sum(rounds, |value| total.add(ValueRef::Float(value)));
            },
            |rounds| {
                let mut total = 0.0;
                sum(rounds, |value| total = black_box(total + value));
            },
        ],
        allowed: 80,
    },
];

const SIDES: [&str; 2] = ["ours", "plainer"];
const I32: FieldKind = FieldKind::Scalar(Scalar::I32);
const F64: FieldKind = FieldKind::Scalar(Scalar::F64);

fn rank(table: &TableView<'_>) -> i32 {
    table.scalar(RANK).unwrap().unwrap_or(0)
}

fn field(steps: &[Step], kind: FieldKind) -> Expression {
    Expression::Field(Field {
        name: "field".into(),
        steps: steps.to_vec().into(),
        kind,
        default: Value::Int(0),
    })
}

fn compare(voffset: u16, kind: FieldKind, operator: Comparison, value: Value) -> Predicate {
    Predicate::Compare {
        left: field(&[Step::Field(voffset)], kind),
        operator,
        right: value.into(),
    }
}

fn range() -> Predicate {
    let from = compare(RANK, I32, Comparison::GreaterOrEqual, Value::Int(20));
    from.and(compare(RANK, I32, Comparison::Less, Value::Int(70)))
}

fn nested() -> Predicate {
    Predicate::Compare {
        left: field(&[Step::Field(INNER), Step::Field(RANK)], I32),
        operator: Comparison::Greater,
        right: Value::Int(50).into(),
    }
}

/// A hundred rows of one table.
fn rows() -> Vec<Vec<u8>> {
    let row = |number: i32| {
        let mut writer = Writer::new();
        let root = writer.begin();
        assert!(writer.begin_table(root));
        writer.scalar(RATIO, f64::from(number) / 8.0);
        writer.scalar(RANK, number);
        let (name, inner) = (writer.slot(NAME), writer.slot(INNER));
        writer.end_table();
        writer.text(name, &format!("number {number}"));
        writer.leave();
        assert!(writer.begin_table(inner));
        writer.scalar(RANK, number);
        writer.end_table();
        writer.leave();
        writer.finish().unwrap().to_vec()
    };
    (1..=100).map(row).collect()
}

/// A table whose objects are the rows, with an index on their rank.
fn indexed_table() -> Table {
    let text = "table Row { id: int (primary); rank: int (indexed); } root_type Row;";
    let loader = MemoryLoader::new().with_file("row.fbs", text);
    let compilation = compile(&["row.fbs".to_owned()], &loader, &Options::default());
    let schema = compilation.schema.unwrap();
    Table::new(describe(&schema, schema.files[0].root.unwrap()))
}

/// Fetches each of a hundred objects by its rank.
fn look_up(rounds: u64, query: impl Fn(Predicate) -> Predicate) {
    let table = indexed_table();
    let index = &table.indexes[0].fields[0];
    let backend = MemoryBackend::new();
    let mut transaction = Arc::clone(&backend).begin(Durability::default()).unwrap();
    transaction.create(&table).unwrap();
    let mut writer = Writer::new();
    for rank in 1..=100_i32 {
        let root = writer.begin();
        assert!(writer.begin_table(root));
        writer.scalar(4, rank);
        writer.scalar(6, rank);
        writer.end_table();
        writer.leave();
        let entry = IndexEntry {
            index: 0,
            values: EntryValues::One(ValueRef::Int(rank.into())),
        };
        let row = RowWrite {
            key: Some(&[ValueRef::Int(rank.into())]),
            payload: writer.finish().unwrap(),
            entries: &[entry],
        };
        let row_id = RowId(rank.into());
        transaction.restore(&table, row_id, &row).unwrap();
    }
    transaction.commit().unwrap();
    let queries = (1..=100).map(|rank| Query {
        predicate: Some(query(Predicate::Compare {
            left: Expression::Field(index.clone()),
            operator: Comparison::Equal,
            right: Value::Int(rank).into(),
        })),
        ..Query::default()
    });
    let queries: Vec<Query> = queries.collect();
    let mut snapshot = backend.snapshot(View::Pinned).unwrap();
    let control = Control::default();
    for _ in 0..rounds {
        for query in &queries {
            let found = fetch(&mut *snapshot, &table, query, &control, Origin::default());
            assert_eq!(found.unwrap().len(), 1);
        }
    }
}

/// Adds a hundred numbers.
fn sum(rounds: u64, mut add: impl FnMut(f64)) {
    for _ in 0..rounds {
        (1..=100).for_each(|number| add(black_box(f64::from(number) / 8.0)));
    }
}

fn ours(rounds: u64, predicate: &Predicate) {
    let condition = Condition::new(predicate);
    each_row(rounds, |row| condition.holds(row).unwrap() == Some(true));
}

fn by_hand(rounds: u64, qualifies: impl Fn(&TableView<'_>) -> bool) {
    each_row(rounds, |row| qualifies(&TableView::root(row).unwrap()));
}

/// Looks at all rows in each round.
fn each_row(rounds: u64, qualifies: impl Fn(&[u8]) -> bool) {
    let rows = rows();
    for _ in 0..rounds {
        let found = rows.iter().filter(|row| qualifies(black_box(row))).count();
        assert!((1..100).contains(&found), "{found} of the rows qualify");
        black_box(found);
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let find = |work: &str, side: &str| {
        let contest = CONTESTS.iter().find(|contest| contest.name == work)?;
        let side = SIDES.iter().position(|name| *name == side)?;
        Some(contest.sides[side])
    };
    if does_work(&words, find) {
        return ExitCode::SUCCESS;
    }
    let rounds = if words.contains(&"--quick") {
        10
    } else {
        1_000
    };
    let mut within = true;
    let [ours, plainer] = SIDES;
    println!("{:<18}{ours:>10}{plainer:>10}  for 100 rows", "");
    for Contest { name, allowed, .. } in CONTESTS {
        let [ours, plainer] = SIDES.map(|side| instructions(name, side, rounds, |_, _| true));
        println!(
            "{name:<18}{ours:>10}{plainer:>10}{:>8.2}",
            ours as f64 / plainer as f64
        );
        within &= ours * 10 <= plainer * allowed;
    }
    if within {
        ExitCode::SUCCESS
    } else {
        println!("ours takes more instructions than allowed");
        ExitCode::FAILURE
    }
}
