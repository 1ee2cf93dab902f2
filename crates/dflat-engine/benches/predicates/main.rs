//! Conditions on rows against the same written by hand, by instructions.
//!
//! ```text
//! cargo bench -p dflat-engine            instructions of each, counted by callgrind
//! cargo bench -p dflat-engine -- --quick the same with fewer rounds
//! ```
//!
//! Both look at the same rows. It fails if a condition takes more instructions than stated here for
//! each that the code by hand takes.

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

use callgrind::{Work, does_work, instructions};
use dflat_engine::object::{TableView, Writer};
use dflat_engine::query::Condition;
use dflat_model::{Comparison, Expression, Field, FieldKind, Predicate, Scalar, Step, Value};

const RANK: u16 = 4;
const RATIO: u16 = 6;
const NAME: u16 = 8;
const INNER: u16 = 10;

/// What is counted: a condition, the same by hand, and how many instructions the former may take
/// for ten of the latter.
struct Contest {
    name: &'static str,
    sides: [Work; 2],
    allowed: u64,
}

const CONTESTS: [Contest; 5] = [
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
];

const SIDES: [&str; 2] = ["ours", "by hand"];
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
    let [ours, by_hand] = SIDES;
    println!("{:<18}{ours:>10}{by_hand:>10}  for 100 rows", "");
    for Contest { name, allowed, .. } in CONTESTS {
        let [ours, by_hand] = SIDES.map(|side| instructions(name, side, rounds));
        println!(
            "{name:<18}{ours:>10}{by_hand:>10}{:>8.2}",
            ours as f64 / by_hand as f64
        );
        within &= ours * 10 <= by_hand * allowed;
    }
    if within {
        ExitCode::SUCCESS
    } else {
        println!("a condition takes more instructions than stated");
        ExitCode::FAILURE
    }
}
