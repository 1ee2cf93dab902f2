//! Which access a query gets.

use dflat_engine::fetch::Plan;
use dflat_engine::storage::IndexState;
use dflat_model::{
    Comparison, Direction, Field, FieldKind, Nulls, Order, Predicate, Query, Scalar, Step, Table,
    Value,
};

use crate::{field, table};

const SCHEMA: &str = "
    table Doc {
        a: string (primary);
        b: int (primary);
        n: int (indexed);
        u: string (unique);
        plain: int;
    }
    root_type Doc;";

struct Setting {
    table: Table,
    states: Vec<IndexState>,
}

impl Setting {
    fn new(state: IndexState) -> Self {
        Self {
            table: table(SCHEMA),
            states: vec![state; 2],
        }
    }

    fn field(&self, name: &str) -> Field {
        let indexed = self.table.indexes.iter().map(|index| &index.field);
        let found = self
            .table
            .primary_key
            .iter()
            .chain(indexed)
            .find(|f| f.name == name)
            .cloned();
        found.unwrap_or_else(|| {
            let kind = FieldKind::Scalar(Scalar::I32);
            field("plain", &[Step::Field(12)], kind, Value::Int(0))
        })
    }

    fn compare(&self, name: &str, operator: Comparison, value: Value) -> Predicate {
        Predicate::Compare {
            left: self.field(name).into(),
            operator,
            right: value.into(),
        }
    }

    fn equal(&self, name: &str, value: Value) -> Predicate {
        self.compare(name, Comparison::Equal, value)
    }

    fn plan(&self, query: &Query) -> String {
        Plan::new(&self.table, query, &self.states).to_string()
    }

    fn of(&self, predicate: Predicate) -> String {
        self.plan(&Query {
            predicate: Some(predicate),
            ..Query::default()
        })
    }
}

#[test]
fn equalities_choose_the_primary_key_then_unique_then_other_indexes() {
    let s = Setting::new(IndexState::Ready);
    let (a, b) = (s.equal("a", Value::text("x")), s.equal("b", Value::Int(1)));
    let (n, u) = (s.equal("n", Value::Int(1)), s.equal("u", Value::text("y")));
    let whole = n.clone().and(b.clone()).and(a.clone());
    assert_eq!(
        s.of(whole),
        "look-up of 1 values in the primary key, check n == 1"
    );
    assert_eq!(
        s.of(n.clone().and(u)),
        "look-up of 1 values in index 1, check n == 1"
    );
    assert_eq!(s.of(n.clone()), "look-up of 1 values in index 0");
    assert_eq!(s.of(a), "look-up of 1 values in the primary key, sort");
    assert_eq!(s.of(b), "scan of all rows, check b == 1");
    assert_eq!(s.of(n.negate()), "scan of all rows, check !(n == 1)");
}

#[test]
fn an_index_that_is_not_ready_is_not_used() {
    for state in [IndexState::Missing, IndexState::Incomplete] {
        let s = Setting::new(state);
        assert_eq!(
            s.of(s.equal("n", Value::Int(1))),
            "scan of all rows, check n == 1"
        );
    }
}

#[test]
fn comparisons_become_one_range() {
    let s = Setting::new(IndexState::Ready);
    let above = s.compare("n", Comparison::Greater, Value::Int(3));
    let below = s.compare("n", Comparison::LessOrEqual, Value::Int(9));
    let plain = s.compare("plain", Comparison::Less, Value::Int(0));
    let both = above.clone().and(plain).and(below);
    assert_eq!(s.of(both), "range of index 0, check plain < 0, sort");
    let ordered = Query {
        predicate: Some(above),
        order: vec![Order {
            key: s.field("n").into(),
            direction: Direction::Descending,
            nulls: Nulls::Smallest,
        }],
        ..Query::default()
    };
    assert_eq!(s.plan(&ordered), "range of index 0");
}

#[test]
fn what_can_never_be_true_scans_nothing() {
    let s = Setting::new(IndexState::Ready);
    assert_eq!(s.of(s.equal("plain", Value::Null)), "nothing");
    assert_eq!(s.of(Predicate::Constant(false)), "nothing");
    let none = Predicate::In {
        operand: s.field("n").into(),
        values: vec![],
    };
    assert_eq!(s.of(none), "nothing");
}

#[test]
fn a_limit_makes_an_index_worth_its_order() {
    let s = Setting::new(IndexState::Ready);
    let order = vec![Order {
        key: s.field("n").into(),
        direction: Direction::Ascending,
        nulls: Nulls::Smallest,
    }];
    let limited = Query {
        order: order.clone(),
        limit: Some(5),
        ..Query::default()
    };
    assert_eq!(s.plan(&limited), "range of index 0");
    let unlimited = Query {
        order,
        ..Query::default()
    };
    assert_eq!(s.plan(&unlimited), "scan of all rows, sort");
}
