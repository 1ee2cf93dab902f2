//! Windows in an order of several keys, of which an index gives the first ones only.

use dflat_engine::fetch::{self, Control, cursor_of};
use dflat_engine::object::{Object, Origin};
use dflat_model::{Direction, Expression, Nulls, Order, Predicate, Query, RowId, Table, Value};
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, State, Task};

use crate::reading::costs::{Costs, by, cost, filtered};

fn expression<R: dflat::Object>(compared: &dflat::Predicate<R>) -> Expression {
    match Predicate::from_bytes(&compared.to_bytes().unwrap()).unwrap() {
        Predicate::Compare { left, .. } => left,
        other => panic!("{other} is no comparison"),
    }
}

/// The order of an indexed field, whose values four items each have, then of another field.
fn by_name_and_size() -> Query {
    Query {
        order: vec![
            by(&Item::NAME.eq(""), Direction::Ascending),
            by(&Item::SIZE.eq(0), Direction::Descending),
        ],
        limit: Some(10),
        ..Query::default()
    }
}

#[test]
fn first_rows_of_an_index_are_enough_for_an_order_by_its_field_and_another() {
    let costs = Costs::new();
    // Twelve objects have the first three names. The next one shows that no other is wanted.
    assert_eq!(costs.fetch(&by_name_and_size()), cost(10, 13, 0));
    let checked = Query {
        predicate: filtered(&Item::SIZE.ge(0)).predicate,
        ..by_name_and_size()
    };
    assert_eq!(costs.fetch(&checked), cost(10, 13, 0));
    let range = Query {
        predicate: filtered(&Item::NAME.ge("100")).predicate,
        ..by_name_and_size()
    };
    assert_eq!(costs.fetch(&range), cost(10, 13, 0));
}

#[test]
fn foreign_rows_do_not_make_a_window_read_all_rows() {
    let costs = Costs::new();
    let checked = Query {
        predicate: filtered(&(Item::NAME.ge("0") & Item::SIZE.ge(0))).predicate,
        ..by_name_and_size()
    };
    let by_name = Query {
        order: vec![by(&Item::NAME.eq(""), Direction::Descending)],
        ..checked.clone()
    };
    let row_ids = |query: &Query| -> Vec<RowId> {
        let (control, origin) = (Control::default(), Origin::default());
        let mut snapshot = costs.snapshot();
        let found = fetch::fetch(snapshot.as_mut(), &Item::TABLE, query, &control, origin);
        found.unwrap().iter().map(Object::row_id).collect()
    };
    let before = [row_ids(&checked), row_ids(&by_name)];
    let sql = format!(
        "UPDATE {} SET p = p WHERE rowid IN (5, 900)",
        Item::TABLE.name
    );
    costs.run_sql(&sql, true);
    for (query, before) in [checked, by_name].iter().zip(before) {
        let spent = costs.fetch(query);
        assert!(
            spent.found == 10 && spent.rows <= 2 + 14,
            "{query:?}: {spent:?}"
        );
        assert_eq!(row_ids(query), before, "{query:?}");
    }
}

#[test]
fn pages_of_an_order_by_an_indexed_field_and_another_cost_the_same() {
    let costs = Costs::new();
    let control = Control::default();
    let mut query = by_name_and_size();
    let (mut found, mut last) = (0, None);
    while found < 200 {
        let mut snapshot = costs.counting();
        let table = &Item::TABLE;
        let page = fetch::fetch(&mut snapshot, table, &query, &control, Origin::default());
        let page = page.unwrap();
        assert!(snapshot.rows <= 10 + 2 * 4, "{found}: {}", snapshot.rows);
        let names = page.iter().map(|item| order_of(item, &query.order));
        for next in names {
            assert!(last.as_ref().is_none_or(|last| *last < next), "{next:?}");
            last = Some(next);
        }
        query.after = Some(cursor_of(table, &query, page.last().unwrap()).unwrap());
        found += page.len();
    }
}

/// The name, the negative size and the row id of an item.
fn order_of(item: &Object, order: &[Order]) -> (String, i64, RowId) {
    let value = |order: &Order| {
        let value = dflat_engine::query::compute(&order.key, item.payload());
        value.unwrap().to_value()
    };
    match (value(&order[0]), value(&order[1])) {
        (Value::Text(name), Value::Int(size)) => (name.to_string(), -size, item.row_id()),
        other => panic!("{other:?}"),
    }
}

/// Windows, pages and selected values of random orders and conditions.
struct RandomQueries<'c> {
    costs: &'c Costs,
    table: &'c Table,
    fields: &'c [Expression],
    conditions: &'c [Option<Predicate>],
    random: Random,
}

impl RandomQueries<'_> {
    fn order(&mut self) -> Vec<Order> {
        let count = 1 + self.random.below(3);
        let mut order = |_| Order {
            key: self.fields[self.random.below(self.fields.len())].clone(),
            direction: match self.random.below(2) {
                0 => Direction::Ascending,
                _ => Direction::Descending,
            },
            nulls: match self.random.below(2) {
                0 => Nulls::Smallest,
                _ => Nulls::Largest,
            },
        };
        (0..count).map(&mut order).collect()
    }

    fn fetched(&self, query: &Query) -> Vec<Object> {
        let (control, origin) = (Control::default(), Origin::default());
        let mut snapshot = self.costs.snapshot();
        fetch::fetch(snapshot.as_mut(), self.table, query, &control, origin).unwrap()
    }

    fn selected(&self, query: &Query) -> Vec<RowId> {
        let mut snapshot = self.costs.snapshot();
        let read = &mut |row: dflat_engine::storage::Row<'_>| Ok(row.row_id);
        let first = &self.fields[..1];
        let control = Control::default();
        fetch::select(snapshot.as_mut(), self.table, query, first, &control, read).unwrap()
    }

    /// Compares a window with the same part of the whole result, which is sorted without a limit.
    fn compare(&mut self) {
        let whole = Query {
            predicate: self.conditions[self.random.below(self.conditions.len())].clone(),
            order: self.order(),
            ..Query::default()
        };
        let all = self.fetched(&whole);
        let mut window = Query {
            limit: Some(1 + self.random.below(40)),
            offset: self.random.below(3) * self.random.below(30),
            ..whole.clone()
        };
        let mut start = 0;
        if !all.is_empty() && self.random.below(2) == 0 {
            start = 1 + self.random.below(all.len());
            window.after = Some(cursor_of(self.table, &whole, &all[start - 1]).unwrap());
        }
        let ids = |objects: &[Object]| objects.iter().map(Object::row_id).collect::<Vec<_>>();
        let expected = all.iter().skip(start + window.offset);
        let expected: Vec<Object> = expected.take(window.limit.unwrap()).cloned().collect();
        let expected = ids(&expected);
        assert_eq!(ids(&self.fetched(&window)), expected, "{window:?}");
        assert_eq!(self.selected(&window), expected, "{window:?}");
    }
}

#[test]
fn windows_of_random_orders_are_parts_of_the_whole() {
    compare_windows(&Costs::of_tasks_due(due), 7);
}

#[test]
fn foreign_rows_belong_to_windows_of_random_orders() {
    let costs = Costs::of_tasks_due(due);
    let name = &Task::TABLE.name;
    for part in [150, 40, 7, 2] {
        // The rows move to other row ids and keep their old index entries.
        let sql = format!("UPDATE {name} SET rowid = rowid + 1000 WHERE rowid % {part} = 1");
        costs.run_sql(&sql, true);
        compare_windows(&costs, part);
    }
}

fn due(id: i32) -> Option<i64> {
    (id % 4 > 0).then(|| i64::from(id % 5))
}

/// Compares windows of 600 random queries with the whole results.
fn compare_windows(costs: &Costs, seed: u64) {
    let fields = [
        expression(&Task::DUE.eq(0)),
        expression(&Task::LIST.eq(0)),
        expression(&Task::TITLE.eq("")),
        expression(&Task::STATE.eq(State::Open)),
        expression(&Task::ID.eq(0)),
        expression(&Task::RANK.eq(0)),
    ];
    let conditions = [
        None,
        Some(Task::LIST.eq(1)),
        Some(Task::LIST.in_([0, 2])),
        Some(Task::DUE.ge(2)),
        Some(Task::LIST.eq(1) & Task::DUE.is_not_null()),
        Some(Task::STATE.eq(State::Open)),
        Some(Task::STATE.eq(State::Open) & Task::LIST.lt(2)),
        Some(Task::LIST.in_([0, 1]) & Task::DUE.in_([1, 3])),
        Some(Task::ID.gt(40) & Task::TITLE.lt("900")),
    ];
    let bytes = |condition: dflat::Predicate<Task>| condition.to_bytes().unwrap();
    let conditions = conditions.map(|condition| {
        condition.map(|condition| Predicate::from_bytes(&bytes(condition)).unwrap())
    });
    let mut queries = RandomQueries {
        costs,
        table: &Task::TABLE,
        fields: &fields,
        conditions: &conditions,
        random: Random::new(seed),
    };
    (0..600).for_each(|_| queries.compare());
}
