//! The cost of orders that put missing values where an index does not have them.

use std::cmp::Reverse;

use dflat_engine::fetch::{self, Control};
use dflat_engine::object::{Object, Origin, field_value};
use dflat_model::{Direction, Expression, Nulls, Order, Predicate, Query, ValueRef};
use dflat_testkit::schema::{Item, Task};

use crate::reading::costs::{Costs, by, cost, filtered};

/// The day of a task: a quarter of the tasks have none.
fn due(id: i32) -> Option<i64> {
    (id % 4 != 0).then(|| i64::from(id % 7))
}

fn condition(condition: &dflat::Predicate<Task>) -> Predicate {
    Predicate::from_bytes(&condition.to_bytes().unwrap()).unwrap()
}

fn field(compared: &dflat::Predicate<Task>) -> Expression {
    match condition(compared) {
        Predicate::Compare { left, .. } => left,
        other => panic!("{other} is no comparison"),
    }
}

fn ordered(key: &Expression, direction: Direction, nulls: Nulls) -> Order {
    Order {
        key: key.clone(),
        direction,
        nulls,
    }
}

/// The tasks of a query, and the rows that were read for them.
fn fetched(costs: &Costs, query: &Query) -> (Vec<Object>, usize) {
    let mut snapshot = costs.counting();
    let (control, origin) = (Control::default(), Origin::default());
    let found = fetch::fetch(&mut snapshot, &Task::TABLE, query, &control, origin);
    (found.unwrap(), snapshot.rows)
}

fn ids(tasks: &[Object]) -> Vec<i32> {
    let key = &Task::TABLE.primary_key[0];
    let id = |task: &Object| match field_value(task.payload(), key) {
        Ok(ValueRef::Int(id)) => i32::try_from(id).unwrap(),
        other => panic!("{other:?} is no key"),
    };
    tasks.iter().map(id).collect()
}

/// The tasks of list 1 by day, with missing days at one end.
fn expected(direction: Direction, nulls: Nulls) -> Vec<i32> {
    let mut all: Vec<i32> = (0..300).filter(|id| id % 3 == 1).collect();
    let missing_last = (nulls == Nulls::Largest) == (direction == Direction::Ascending);
    all.sort_by_key(|id| {
        let day = due(*id);
        let place = day.is_none() == missing_last;
        match direction {
            Direction::Ascending => (place, day, Reverse(None)),
            Direction::Descending => (place, None, Reverse(day)),
        }
    });
    all
}

#[test]
fn window_of_an_index_with_missing_values_at_either_end_reads_itself() {
    let costs = Costs::of_tasks_due(due);
    let key = field(&Task::DUE.eq(0));
    for direction in [Direction::Ascending, Direction::Descending] {
        for nulls in [Nulls::Smallest, Nulls::Largest] {
            let all = expected(direction, nulls);
            let query = |offset, limit| Query {
                predicate: Some(condition(&Task::LIST.eq(1))),
                order: vec![ordered(&key, direction, nulls)],
                offset,
                limit: Some(limit),
                ..Query::default()
            };
            for (offset, limit) in [(0, 10), (0, 25), (20, 10), (70, 10), (95, 5), (0, 100)] {
                let (found, rows) = fetched(&costs, &query(offset, limit));
                let end = offset + limit;
                assert_eq!(ids(&found), all[offset..end], "{direction:?} {nulls:?}");
                // A window behind at least as many tasks as it has skips them in the index.
                let read = if limit <= offset { limit } else { end };
                assert_eq!(rows, read, "{direction:?} {nulls:?} {offset} {limit}");
            }
            let mut page = query(0, 7);
            let mut paged = Vec::new();
            loop {
                let (found, rows) = fetched(&costs, &page);
                assert_eq!(rows, found.len(), "{direction:?} {nulls:?}");
                paged.extend(ids(&found));
                let Some(last) = found.last() else {
                    break;
                };
                page.after = Some(fetch::cursor_of(&Task::TABLE, &page, last).unwrap());
            }
            assert_eq!(paged, all, "{direction:?} {nulls:?}");
        }
    }
}

#[test]
fn values_that_are_never_missing_are_read_in_the_order_of_their_index() {
    let costs = Costs::new();
    for direction in [Direction::Ascending, Direction::Descending] {
        let limited = |query: Query, key: &dflat::Predicate<Item>| Query {
            order: vec![Order {
                nulls: Nulls::Largest,
                ..by(key, direction)
            }],
            limit: Some(10),
            ..query
        };
        // A number with a default, a string that the condition requires, and any string.
        let rank = limited(Query::default(), &Item::RANK.eq(0));
        assert_eq!(costs.fetch(&rank), cost(10, 10, 0));
        let name = limited(filtered(&Item::NAME.is_not_null()), &Item::NAME.eq(""));
        assert_eq!(costs.fetch(&name), cost(10, 10, 0));
        let name = limited(Query::default(), &Item::NAME.eq(""));
        assert_eq!(costs.fetch(&name), cost(10, 10, 0));
    }
}

#[test]
fn second_field_of_an_order_keeps_the_order_of_the_index_unless_it_may_be_missing() {
    let costs = Costs::of_tasks_due(due);
    let (list, title) = (field(&Task::LIST.eq(0)), field(&Task::TITLE.eq("")));
    let read = |filter: &dflat::Predicate<Task>, nulls| {
        let query = Query {
            predicate: Some(condition(filter)),
            order: vec![
                ordered(&list, Direction::Ascending, Nulls::Largest),
                ordered(&title, Direction::Ascending, nulls),
            ],
            limit: Some(10),
            ..Query::default()
        };
        let (found, rows) = fetched(&costs, &query);
        let first = (0..10).map(|n| 297 - 3 * n);
        assert_eq!(ids(&found), first.collect::<Vec<_>>());
        rows
    };
    let open = || Task::STATE.eq(dflat_testkit::schema::State::Open);
    assert_eq!(read(&open(), Nulls::Smallest), 10);
    assert_eq!(read(&(open() & Task::TITLE.ge("")), Nulls::Largest), 10);
    // Each list may have tasks without a title, so the hundred tasks of the first list are sorted.
    // One more shows the end of the list.
    assert_eq!(read(&open(), Nulls::Largest), 101);
}
