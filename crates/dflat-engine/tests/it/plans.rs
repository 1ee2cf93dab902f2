//! The access paths that queries are planned with.

mod orders;

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

use dflat_engine::Result;
use dflat_engine::fetch::{AccessPath, KeyAccess, KeyRange, Plan, Probe, RowOrder, view_for};
use dflat_engine::storage::{IndexState, View};
use dflat_model::{
    Comparison, Direction, Field, FieldKind, Nulls, Order, Predicate, Query, Scalar, Step, Table,
    TextTest, Value,
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

/// A plan as a line of text.
fn describe(table: &Table, plan: &Plan) -> String {
    let parts = |parts: &[KeyAccess]| {
        let parts: Vec<String> = parts.iter().map(|part| describe_key(table, part)).collect();
        parts.join(" and ")
    };
    let mut text = match &plan.access {
        AccessPath::Nothing => "nothing".to_owned(),
        AccessPath::Rows(None) => "scan of all rows".to_owned(),
        AccessPath::Rows(Some(row_id)) => format!("scan of the rows behind {row_id}"),
        AccessPath::Key(access) => describe_key(table, access),
        AccessPath::Union(of) => format!("union of {}", parts(of)),
        AccessPath::Intersection(of) => format!("intersection of {}", parts(of)),
    };
    if let Some(residual) = &plan.residual {
        text += &format!(", check {residual}");
    }
    match plan.order {
        RowOrder::Sorted => text,
        RowOrder::Any => text + ", sort",
        RowOrder::Presorted(keys) => text + &format!(", sort within {keys}"),
    }
}

fn describe_key(table: &Table, access: &KeyAccess) -> String {
    let name = access.name(table);
    let is_value = |range: &KeyRange| {
        matches!(
            (&range.lower, &range.upper),
            (Bound::Unbounded, Bound::Unbounded)
        )
    };
    match access.ranges.as_slice() {
        [range] if range.prefix.is_empty() && is_value(range) => format!("all of {name}"),
        ranges if ranges.iter().all(is_value) => {
            format!("look-up of {} values in {name}", ranges.len())
        }
        [_] => format!("range of {name}"),
        ranges => format!("{} ranges of {name}", ranges.len()),
    }
}

/// Ranges of these numbers of rows.
struct Sizes<F>(F);

impl<F: FnMut(&KeyAccess) -> Option<usize>> Probe for Sizes<F> {
    fn size(&mut self, access: &KeyAccess, max: usize) -> Result<Option<usize>> {
        Ok(self.0(access).filter(|rows| *rows <= max))
    }

    fn has_enough(&mut self, _: (&AccessPath, RowOrder), _: usize, _: usize) -> Result<bool> {
        Ok(false)
    }
}

struct Setting {
    table: Table,
    states: Vec<IndexState>,
    /// The numbers of rows reported for ranges of these keys; other ranges have too many to count.
    rows: HashMap<&'static str, usize>,
}

impl Setting {
    fn new(state: IndexState) -> Self {
        Self {
            table: table(SCHEMA),
            states: vec![state; 2],
            rows: HashMap::new(),
        }
    }

    fn field(&self, name: &str) -> Field {
        let indexes = self.table.indexes.iter();
        let indexed = indexes.flat_map(|index| index.fields.iter());
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
        let mut sizes =
            Sizes(|access: &KeyAccess| self.rows.get(access.name(&self.table).as_str()).copied());
        let plan = Plan::new(&self.table, query, &self.states, &mut sizes);
        describe(&self.table, &plan.unwrap())
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
        "look-up of 1 values in the index on u, check n == 1"
    );
    assert_eq!(s.of(n.clone()), "look-up of 1 values in the index on n");
    assert_eq!(s.of(a), "look-up of 1 values in the primary key, sort");
    assert_eq!(s.of(b), "scan of all rows, check b == 1");
    assert_eq!(s.of(n.negate()), "scan of all rows, check !(n == 1)");
}

#[test]
fn an_index_that_is_not_ready_is_not_used() {
    for state in [
        IndexState::Missing,
        IndexState::Incomplete(dflat_model::RowId(5)),
    ] {
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
    assert_eq!(s.of(both), "range of the index on n, check plain < 0, sort");
    let ordered = Query {
        predicate: Some(above),
        order: vec![Order {
            key: s.field("n").into(),
            direction: Direction::Descending,
            nulls: Nulls::Smallest,
        }],
        ..Query::default()
    };
    assert_eq!(s.plan(&ordered), "range of the index on n");
}

#[test]
fn condition_that_is_never_true_scans_nothing() {
    let s = Setting::new(IndexState::Ready);
    assert_eq!(s.of(s.equal("plain", Value::Null)), "nothing");
    assert_eq!(s.of(Predicate::Constant(false)), "nothing");
    let none = Predicate::In {
        operand: s.field("n").into(),
        values: Arc::default(),
    };
    assert_eq!(s.of(none), "nothing");
}

#[test]
fn parts_of_a_composite_key_narrow_it_one_after_the_other() {
    let s = Setting::new(IndexState::Ready);
    let a = || s.equal("a", Value::text("x"));
    let b = || s.compare("b", Comparison::Greater, Value::Int(1));
    assert_eq!(s.of(a().and(b())), "range of the primary key, sort");
    let key = |name, direction| Order {
        key: s.field(name).into(),
        direction,
        nulls: Nulls::Smallest,
    };
    let by = |order| Query {
        predicate: Some(a()),
        order,
        ..Query::default()
    };
    let look_up = "look-up of 1 values in the primary key";
    for direction in [Direction::Ascending, Direction::Descending] {
        let whole = by(vec![key("a", direction), key("b", Direction::Ascending)]);
        assert_eq!(
            s.plan(&whole),
            look_up,
            "the first part is the same for all"
        );
        assert_eq!(s.plan(&by(vec![key("b", Direction::Ascending)])), look_up);
    }
    let several = Predicate::In {
        operand: s.field("a").into(),
        values: [Value::text("y"), Value::text("x")].into(),
    };
    assert_eq!(s.of(several.and(b())), "2 ranges of the primary key, sort");
}

#[test]
fn values_of_several_parts_of_a_key_are_combined() {
    let s = Setting::new(IndexState::Ready);
    let among = |name, values: Vec<Value>| Predicate::In {
        operand: s.field(name).into(),
        values: values.into(),
    };
    let texts = |count: i64| (0..count).map(|n| Value::text(&format!("{n:03}")));
    let numbers = |count| (0..count).map(Value::Int).collect();
    let a = |count| among("a", texts(count).collect());
    assert_eq!(
        s.of(a(2).and(s.equal("b", Value::Int(7)))),
        "look-up of 2 values in the primary key, sort"
    );
    assert_eq!(
        s.of(a(4).and(among("b", numbers(8)))),
        "look-up of 32 values in the primary key, sort"
    );
    // Too many values to look up without need.
    let many = s.of(a(4).and(among("b", numbers(9))));
    assert!(many.starts_with("look-up of 4 values"), "{many}");
    assert!(many.contains(", check b in"), "{many}");
    // A single value of another part adds none.
    assert_eq!(
        s.of(a(300).and(s.equal("b", Value::Int(7)))),
        "look-up of 300 values in the primary key, sort"
    );
    // The ranges come in the order of the key.
    let key = |name| Order {
        key: s.field(name).into(),
        direction: Direction::Descending,
        nulls: Nulls::Smallest,
    };
    let ordered = Query {
        predicate: Some(a(2).and(among("b", numbers(2)))),
        order: vec![key("a"), key("b")],
        ..Query::default()
    };
    assert_eq!(s.plan(&ordered), "look-up of 4 values in the primary key");
}

#[test]
fn each_side_of_a_disjunction_uses_its_own_index() {
    let mut s = Setting::new(IndexState::Ready);
    let (n, u) = (s.equal("n", Value::Int(1)), s.equal("u", Value::text("y")));
    let either = n.clone().or(u.clone());
    assert_eq!(
        s.of(either.clone()),
        "scan of all rows, check (n == 1 || u == \"y\")"
    );
    s.rows
        .extend([("the index on n", 100), ("the index on u", 1)]);
    assert_eq!(
        s.of(either.clone()),
        "union of look-up of 1 values in the index on n and look-up of 1 values in the index on u"
    );
    // A side that its key does not decide.
    let part = u.and(s.equal("plain", Value::Int(0)));
    assert_eq!(
        s.of(n.clone().or(part)),
        "union of look-up of 1 values in the index on n and look-up of 1 values in the index on u, \
         check (n == 1 || (u == \"y\" && plain == 0))"
    );
    let plain = either.or(s.equal("plain", Value::Int(0)));
    assert!(s.of(plain).starts_with("scan of all rows"));
    let same = n.or(s.compare("n", Comparison::Greater, Value::Int(7)));
    assert_eq!(s.of(same), "2 ranges of the index on n, sort");
}

#[test]
fn ranges_with_many_rows_are_intersected() {
    let mut s = Setting::new(IndexState::Ready);
    let above = |name, value| s.compare(name, Comparison::Greater, value);
    let both = above("n", Value::Int(1)).and(above("u", Value::text("y")));
    let both = both.and(above("plain", Value::Int(0)));
    assert_eq!(
        s.of(both.clone()),
        "range of the index on n, check (u > \"y\" && plain > 0), sort"
    );
    s.rows
        .extend([("the index on n", 500), ("the index on u", 900)]);
    assert_eq!(
        s.of(both.clone()),
        "intersection of range of the index on n and range of the index on u, check plain > 0"
    );
    s.rows.insert("the index on u", 9000);
    assert_eq!(
        s.of(both.clone()),
        "range of the index on n, check (u > \"y\" && plain > 0), sort"
    );
    s.rows.insert("the index on u", 3);
    assert_eq!(
        s.of(both),
        "range of the index on u, check (n > 1 && plain > 0), sort"
    );
}

#[test]
fn a_prefix_of_a_string_is_a_range() {
    let s = Setting::new(IndexState::Ready);
    let starts = |pattern: &str| Predicate::Text {
        operand: s.field("u").into(),
        test: TextTest::StartsWith,
        pattern: pattern.to_owned().into(),
        ignore_case: false,
    };
    assert_eq!(s.of(starts("ab")), "range of the index on u, sort");
    assert_eq!(s.of(starts("\u{10FFFF}")), "range of the index on u, sort");
}

#[test]
fn queries_that_may_take_several_scans_see_one_state() {
    let s = Setting::new(IndexState::Ready);
    let place = |a: &str, b| {
        s.equal("a", Value::text(a))
            .and(s.equal("b", Value::Int(b)))
    };
    let plain = |value| s.equal("plain", Value::Int(value));
    let either = place("x", 1).or(place("y", 2));
    let several = s
        .equal("a", Value::text("x"))
        .or(s.equal("a", Value::text("y")));
    let mut seen = Vec::new();
    for predicate in [
        either.clone(),
        plain(3).and(either.clone()),
        either.or(plain(4)),
        several.and(plain(3)),
        s.equal("n", Value::Int(1)).or(place("x", 1)),
        place("x", 1),
        plain(3),
    ] {
        let query = Query {
            predicate: Some(predicate),
            ..Query::default()
        };
        let view = view_for(&s.table, &query);
        for rows in [None, Some(0), Some(1000)] {
            let plan = Plan::new(
                &s.table,
                &query,
                &s.states,
                &mut Sizes(|_: &KeyAccess| rows),
            )
            .unwrap();
            let one = plan.scan_count() <= 1;
            let named = describe(&s.table, &plan);
            assert!(
                one || view == View::Pinned,
                "{named} of {query} with {rows:?}"
            );
        }
        seen.push(view);
    }
    let (latest, pinned) = (View::Latest, View::Pinned);
    assert_eq!(
        seen,
        [pinned, pinned, pinned, pinned, pinned, latest, latest]
    );
}

#[test]
fn conjuncts_beyond_the_bound_are_checked_row_by_row() {
    let s = Setting::new(IndexState::Ready);
    let other = |n| s.compare("n", Comparison::NotEqual, Value::Int(n));
    let mut query = Query {
        predicate: Some(Predicate::And((0..2000).map(other).collect())),
        order: vec![Order {
            key: s.field("n").into(),
            direction: Direction::Ascending,
            nulls: Nulls::Smallest,
        }],
        limit: Some(5),
        ..Query::default()
    };
    let plan = |query: &Query| {
        Plan::new(&s.table, query, &s.states, &mut Sizes(|_: &KeyAccess| None)).unwrap()
    };
    let ordered = plan(&query);
    assert!(ordered.scan_count() < 1000 && ordered.residual.is_some());
    // The narrowest conjunct is used at any position.
    let conditions = (0..2000).map(other).chain([s.equal("n", Value::Int(-1))]);
    query.predicate = Some(Predicate::And(conditions.collect()));
    assert_eq!(plan(&query).scan_count(), 1);
}

#[test]
fn a_union_of_too_many_rows_is_not_used() {
    let mut s = Setting::new(IndexState::Ready);
    s.rows
        .extend([("the index on n", 9000), ("the index on u", 9000)]);
    let sides = |count| {
        let side = |at| match at % 2 {
            0 => s.compare("n", Comparison::Greater, Value::Int(at)),
            _ => s.compare("u", Comparison::Greater, Value::text(&at.to_string())),
        };
        s.of(Predicate::Or((0..count).map(side).collect()))
    };
    assert!(sides(4).starts_with("union of"));
    assert!(sides(10_000).starts_with("scan of all rows"));
}
