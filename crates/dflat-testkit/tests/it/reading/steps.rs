//! The cost of queries by each plan.

use dflat_engine::fetch::{self, Control, PROBE_MAX};
use dflat_engine::storage::Row;
use dflat_model::{
    Comparison, Cursor, Direction, Expression, Nulls, Order, Predicate, Query, RowId, Value,
    ValueRef,
};
use dflat_testkit::schema::{Item, Task};

use crate::reading::costs::{COUNT, Costs, by, cost, filtered, plain, reached_max};

#[test]
fn limit_ends_the_scan() {
    let costs = Costs::new();
    let limited = |query: Query| Query {
        limit: Some(10),
        ..query
    };
    assert_eq!(costs.fetch(&limited(Query::default())), cost(10, 10, 0));
    // Every hundredth object has this size.
    assert_eq!(
        costs.fetch(&limited(filtered(&Item::SIZE.eq(3)))),
        cost(10, 904, 0)
    );
    assert_eq!(
        costs.fetch(&limited(filtered(&Item::RANK.eq(3)))),
        cost(10, 10, 0)
    );
    for direction in [Direction::Ascending, Direction::Descending] {
        let by_index = Query {
            order: vec![by(&Item::NAME.eq(""), direction)],
            limit: Some(10),
            ..Query::default()
        };
        assert_eq!(costs.fetch(&by_index), cost(10, 10, 0));
        let by_none = Query {
            order: vec![by(&Item::NICK.eq(""), direction)],
            ..by_index
        };
        assert_eq!(costs.fetch(&by_none), cost(10, 2000, 0));
    }
}

#[test]
fn page_reads_only_its_own_rows() {
    let costs = Costs::new();
    // In the middle of twenty equal ranks.
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut page = Query {
            order: vec![by(&Item::RANK.eq(0), direction)],
            limit: Some(25),
            ..Query::default()
        };
        page.after = Some(Cursor {
            order: page.order_fingerprint(),
            keys: vec![Value::Int(50)],
            row_id: RowId(1052),
        });
        assert_eq!(costs.fetch(&page), cost(25, 25, 0));
    }
    let inserted = Query {
        after: Some(Cursor {
            order: Query::default().order_fingerprint(),
            keys: Vec::new(),
            row_id: RowId(1900),
        }),
        ..Query::default()
    };
    assert_eq!(costs.fetch(&inserted), cost(100, 100, 0));
}

#[test]
fn range_reads_only_its_own_rows() {
    let costs = Costs::new();
    assert_eq!(costs.fetch(&filtered(&Item::ID.eq("00007"))), cost(1, 1, 0));
    assert_eq!(
        costs.fetch(&filtered(&Item::RANK.between(3, 4))),
        cost(40, 40, 0)
    );
    assert_eq!(
        costs.fetch(&filtered(&Item::NAME.starts_with("49"))),
        cost(40, 40, 0)
    );
    let either = Item::RANK.eq(1) | Item::RANK.gt(98);
    assert_eq!(costs.fetch(&filtered(&either)), cost(40, 40, 0));
    let keys = Item::ID.in_((0..10_000).map(|n| format!("{n:05}")));
    // All objects have one of these keys: after some hundreds of look-ups the query reads all rows.
    let spent = costs.fetch(&filtered(&keys));
    assert_eq!(spent.found, 2000);
    assert!(spent.rows <= 2000 + reached_max(2000), "{spent:?}");
    assert_eq!(
        costs.fetch(&filtered(&(Item::RANK.gt(5) & Item::RANK.lt(2)))),
        cost(0, 0, 0)
    );
}

#[test]
fn counts_and_extremes_read_no_objects() {
    let costs = Costs::new();
    assert_eq!(
        costs.count(&filtered(&Item::RANK.lt(50))),
        cost(1000, 0, 1000)
    );
    assert_eq!(costs.count(&Query::default()), cost(2000, 0, 2000));
    let first = Query {
        limit: Some(1),
        ..filtered(&Item::RANK.lt(50))
    };
    assert_eq!(costs.count(&first), cost(1, 0, 1));
    assert_eq!(
        costs.count(&filtered(&Item::SIZE.lt(50))),
        cost(1000, 2000, 0)
    );
    let largest = Query {
        order: vec![by(&Item::RANK.eq(0), Direction::Descending)],
        limit: Some(1),
        ..filtered(&Item::RANK.is_not_null())
    };
    assert_eq!(costs.fetch(&largest), cost(1, 1, 0));
}

#[test]
fn index_serves_the_values_of_its_field() {
    let costs = Costs::new();
    let rank: Expression = by(&Item::RANK.eq(0), Direction::Ascending).key;
    let size: Expression = by(&Item::SIZE.eq(0), Direction::Ascending).key;
    let sum = |query: &Query, of: &Expression| {
        let (mut snapshot, mut sum) = (costs.counting(), 0);
        let control = Control::default();
        let add = &mut |value: ValueRef<'_>| match value {
            ValueRef::Int(number) => sum += number,
            other => panic!("{other} is no rank"),
        };
        fetch::aggregate(&mut snapshot, &Item::TABLE, query, of, &control, add).unwrap();
        (sum, snapshot.rows, snapshot.entries)
    };
    let low = filtered(&Item::RANK.lt(10));
    assert_eq!(sum(&Query::default(), &rank), (99_000, 0, 2000));
    assert_eq!(sum(&low, &rank), (900, 0, 200));
    // These have no index, or another one.
    assert_eq!(sum(&Query::default(), &size), (99_000, 2000, 0));
    assert_eq!(sum(&low, &size), (900, 200, 0));
    let select = |query: &Query, of: &Expression| {
        let mut snapshot = costs.counting();
        let (control, of) = (Control::default(), std::slice::from_ref(of));
        let read = &mut |row: Row<'_>| Ok(fetch::value_of(&row, &of[0])?.to_value());
        let found = fetch::select(&mut snapshot, &Item::TABLE, query, of, &control, read);
        (found.unwrap().len(), snapshot.rows, snapshot.entries)
    };
    assert_eq!(select(&low, &rank), (200, 0, 200));
    assert_eq!(select(&low, &size), (200, 200, 0));
    let largest = Query {
        order: vec![by(&Item::RANK.eq(0), Direction::Descending)],
        limit: Some(30),
        ..Query::default()
    };
    assert_eq!(select(&largest, &rank), (30, 0, 30));
}

#[test]
fn index_over_several_fields_serves_the_values_of_each() {
    let costs = Costs::of_tasks();
    let field = |condition: &dflat::Predicate<Task>| {
        let bytes = condition.to_bytes().unwrap();
        match Predicate::from_bytes(&bytes).unwrap() {
            Predicate::Compare { left, .. } => left,
            other => panic!("{other} is no comparison"),
        }
    };
    let (list, due) = (field(&Task::LIST.eq(0)), field(&Task::DUE.eq(0)));
    let (title, rank) = (field(&Task::TITLE.eq("")), field(&Task::RANK.eq(0)));
    let by = |key: &Expression| Order {
        key: key.clone(),
        direction: Direction::Ascending,
        nulls: Nulls::Smallest,
    };
    let of_list = Predicate::from_bytes(&Task::LIST.eq(1).to_bytes().unwrap()).unwrap();
    let select = |query: &Query, fields: &[&Expression]| {
        let mut snapshot = costs.counting();
        let fields: Vec<Expression> = fields.iter().copied().cloned().collect();
        let read = &mut |row: Row<'_>| {
            let values = fields.iter().map(|field| fetch::value_of(&row, field));
            values.map(|value| Ok(value?.to_value())).collect()
        };
        let control = Control::default();
        let found: Vec<Vec<Value>> =
            fetch::select(&mut snapshot, &Task::TABLE, query, &fields, &control, read).unwrap();
        (found, snapshot.rows, snapshot.entries)
    };
    let by_due = Query {
        predicate: Some(of_list),
        order: vec![by(&due)],
        limit: Some(30),
        ..Query::default()
    };
    let (found, rows, entries) = select(&by_due, &[&due, &list]);
    let expected = (0..30).map(|n| vec![Value::Int(n / 20), Value::Int(1)]);
    assert_eq!(found, expected.collect::<Vec<_>>());
    assert_eq!((rows, entries), (0, 30));
    // No index with this order has both fields.
    let (found, rows, entries) = select(&by_due, &[&due, &rank]);
    assert_eq!((found.len(), rows, entries), (30, 30, 0));
    let by_title = Query {
        order: vec![by(&title)],
        ..by_due
    };
    let (found, rows, entries) = select(&by_title, &[&list, &title]);
    assert_eq!(found[0], [Value::Int(1), Value::text("701")]);
    assert_eq!((found.len(), rows, entries), (30, 0, 30));
}

#[test]
fn choice_of_an_index_reads_entries_and_saves_rows() {
    let costs = Costs::new();
    // The ranges have 600 and 800 rows, 240 of them in both. The entries are counted in turns, at
    // first one more than 16, 64 and 256, and then read.
    let both = Item::RANK.lt(30) & Item::NAME.lt("200");
    let spent = costs.fetch(&filtered(&both));
    assert_eq!(spent.entries, 2 * (17 + 65 + 257) + 2 * (600 + 800));
    assert_eq!(spent.rows, spent.found);
    // The ranges have 20 and 4 rows; the query reads the smaller one, once that is known.
    let few = Item::RANK.eq(7) & Item::NAME.eq("049");
    let spent = costs.fetch(&filtered(&few));
    assert_eq!((spent.rows, spent.entries), (4, 17 + 4));
    // Each row of both sides is read once.
    let either = Item::RANK.eq(7) | Item::NAME.eq("049");
    let spent = costs.fetch(&filtered(&either));
    assert_eq!((spent.rows, spent.entries), (spent.found, 17 + 2 * 24));
}

#[test]
fn no_plan_costs_much_more_than_reading_everything() {
    let costs = Costs::new();
    let n = usize::try_from(COUNT).unwrap();
    for condition in [
        Item::RANK.ne(3),
        Item::RANK.ge(0),
        Item::RANK.ge(0) & Item::NAME.ge(""),
        Item::RANK.ge(0) | Item::NAME.ge(""),
        Item::RANK.not_in([1, 2, 3]) & Item::NAME.is_not_null() & Item::ID.gt(""),
    ] {
        for limit in [None, Some(5)] {
            let query = Query {
                order: vec![by(&Item::NICK.eq(""), Direction::Ascending)],
                limit,
                ..filtered(&condition)
            };
            let spent = costs.fetch(&query);
            assert!(spent.rows <= n + reached_max(n), "{condition} {spent:?}");
            // The entries are counted in turns and read once, for at most three keys.
            assert!(
                spent.entries <= 2 * 3 * n.min(PROBE_MAX),
                "{condition} {spent:?}"
            );
        }
    }
}

#[test]
fn condition_without_a_key_reads_each_row_once() {
    let costs = Costs::new();
    let computed = Predicate::Compare {
        left: Expression::Literal(Value::Int(1)),
        operator: Comparison::Equal,
        right: Expression::Literal(Value::Int(1)),
    };
    let query = Query {
        predicate: Some(computed),
        ..Query::default()
    };
    assert_eq!(costs.fetch(&query), cost(2000, 2000, 0));
}

#[test]
fn decoded_condition_must_have_the_defaults_of_the_schema() {
    let read = |default| {
        let mut condition = plain(&Item::RANK.eq(3));
        if let Predicate::Compare { left, .. } = &mut condition
            && let Expression::Field(field) = left
        {
            field.default = default;
        }
        dflat::Predicate::<Item>::from_bytes(&condition.to_bytes())
    };
    assert!(read(Value::Int(0)).is_ok());
    for other in [Value::Int(3), Value::Null, Value::text("0")] {
        let kind = read(other).unwrap_err().kind();
        assert_eq!(kind, dflat::ErrorKind::InvalidArgument);
    }
}
