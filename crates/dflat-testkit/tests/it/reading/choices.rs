//! The cost of a choice among several indexes, and of windows behind many objects.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use dflat_engine::fetch::{self, Control};
use dflat_engine::object::Origin;
use dflat_engine::storage::{Indexes, KeyScan, Row, ScanPlan, Snapshot, StateId};
use dflat_engine::{ErrorKind, Result};
use dflat_model::{Direction, Expression, Nulls, Order, Predicate, Query, Table, Value, ValueRef};
use dflat_testkit::schema::{Item, Task};

use crate::reading::costs::{Costs, by, cost, filtered};

fn condition(condition: &dflat::Predicate<Task>) -> Predicate {
    Predicate::from_bytes(&condition.to_bytes().unwrap()).unwrap()
}

fn field(compared: &dflat::Predicate<Task>) -> Expression {
    match condition(compared) {
        Predicate::Compare { left, .. } => left,
        other => panic!("{other} is no comparison"),
    }
}

fn of(compared: &dflat::Predicate<Task>) -> Query {
    Query {
        predicate: Some(condition(compared)),
        ..Query::default()
    }
}

fn ordered(query: &Query, key: Expression) -> Query {
    Query {
        order: vec![Order {
            key,
            direction: Direction::Ascending,
            nulls: Nulls::Smallest,
        }],
        ..query.clone()
    }
}

/// Selected values, and the rows and entries that were read for them.
fn selected(costs: &Costs, query: &Query, fields: &[Expression]) -> (Vec<Value>, usize, usize) {
    let mut snapshot = costs.counting();
    let read = &mut |row: Row<'_>| Ok(fetch::value_of(&row, &fields[0])?.to_value());
    let control = Control::default();
    let found = fetch::select(&mut snapshot, &Task::TABLE, query, fields, &control, read);
    (found.unwrap(), snapshot.rows, snapshot.entries)
}

#[test]
fn index_with_more_of_the_condition_or_the_order_is_used_without_a_choice() {
    let costs = Costs::of_tasks();
    // Of the hundred tasks of a list, twenty are due at each day.
    let mut snapshot = costs.counting();
    let soon = of(&(Task::LIST.eq(1) & Task::DUE.lt(1)));
    let control = Control::default();
    let count = fetch::count(&mut snapshot, &Task::TABLE, &soon, &control).unwrap();
    assert_eq!((count, snapshot.rows, snapshot.entries), (20, 0, 20));
    let (due, title) = (field(&Task::DUE.eq(0)), field(&Task::TITLE.eq("")));
    let list = of(&Task::LIST.eq(1));
    for key in [due, title] {
        let first = Query {
            limit: Some(1),
            ..ordered(&list, key.clone())
        };
        let (found, rows, entries) = selected(&costs, &first, &[key]);
        assert_eq!((found.len(), rows, entries), (1, 0, 1));
    }
}

#[test]
fn index_that_has_the_wanted_values_is_used_whatever_was_declared_first() {
    let costs = Costs::of_tasks();
    let list = of(&Task::LIST.eq(1));
    let (due, title) = (field(&Task::DUE.eq(0)), field(&Task::TITLE.eq("")));
    for key in [&due, &title] {
        let fields = [key.clone(), field(&Task::LIST.eq(0))];
        let (found, rows, entries) = selected(&costs, &list, &fields);
        assert_eq!((found.len(), rows, entries), (100, 0, 100));
        let mut snapshot = costs.counting();
        let (control, mut count) = (Control::default(), 0);
        let fold = &mut |_: ValueRef<'_>| count += 1;
        fetch::aggregate(&mut snapshot, &Task::TABLE, &list, key, &control, fold).unwrap();
        assert_eq!((count, snapshot.rows, snapshot.entries), (100, 0, 100));
    }
    // No index has both.
    let (found, rows, _) = selected(&costs, &list, &[due, title]);
    assert_eq!((found.len(), rows), (100, 100));
}

#[test]
fn choice_for_a_few_objects_counts_few_entries() {
    let costs = Costs::new();
    // The ranges have 1,000 and 2,000 entries.
    let query = filtered(&(Item::RANK.lt(50) & Item::NAME.ge("0")));
    let first = Query {
        limit: Some(1),
        ..query
    };
    let spent = costs.count(&first);
    assert_eq!(spent.found, 1);
    assert!(spent.rows <= 4 && spent.entries <= 200, "{spent:?}");
    let spent = costs.fetch(&first);
    assert_eq!(spent.found, 1);
    assert!(spent.rows <= 4 && spent.entries <= 200, "{spent:?}");
    // A range of four entries is found to be small before the other one is counted.
    let few = filtered(&(Item::RANK.ge(0) & Item::NAME.eq("049")));
    assert_eq!(costs.fetch(&few), cost(4, 4, 17 + 4));
}

#[test]
fn first_objects_are_read_before_entries_are_counted() {
    let costs = Costs::new();
    let first = |limit, query: Query| Query {
        limit: Some(limit),
        ..query
    };
    // In order of row id, nine of ten objects meet the condition.
    let most = filtered(&(Item::RANK.ge(10) & Item::NAME.ge("0")));
    assert_eq!(costs.fetch(&first(10, most.clone())), cost(10, 20, 0));
    // The objects of an index entry, of which all meet the condition.
    let of_rank = filtered(&(Item::RANK.eq(7) & Item::NAME.ge("0")));
    assert_eq!(costs.fetch(&first(3, of_rank)), cost(3, 3, 0));
    // At most four objects for each wanted one are read in vain, and 64 in all.
    let few = filtered(&(Item::RANK.ge(0) & Item::NAME.ge("499")));
    assert_eq!(
        costs.fetch(&first(5, few.clone())),
        cost(4, 20 + 4, 17 + 2 * 4)
    );
    assert_eq!(
        costs.fetch(&first(16, few.clone())),
        cost(4, 64 + 4, 17 + 2 * 4)
    );
    assert_eq!(costs.fetch(&first(65, few)), cost(4, 4, 17 + 2 * 4));
    // Many wanted objects are looked for when all ranges turn out to have more.
    let spent = costs.fetch(&first(100, most));
    assert_eq!((spent.found, spent.rows), (100, 120));
    assert!(spent.entries <= 2 * (17 + 65 + 257), "{spent:?}");
}

#[test]
fn large_objects_are_not_read_in_vain() {
    let costs = Costs::of_large_items(400, 40_000);
    let late = Item::NAME.eq("99") & Item::SIZE.ge(300);
    let query = Query {
        limit: Some(10),
        order: vec![by(&Item::RANK.eq(0), Direction::Ascending)],
        ..filtered(&late)
    };
    // Each object takes ten pages, so that four of them count as 40 small ones.
    let spent = costs.fetch(&query);
    assert!(spent.found == 1 && spent.rows <= 4 + 4, "{spent:?}");
}

#[test]
fn values_without_objects_count_when_a_plan_is_chosen() {
    let costs = Costs::new();
    let absent: Vec<String> = (0..200).map(|n| format!("none {n}")).collect();
    let query = Query {
        limit: Some(10),
        ..filtered(&(Item::RANK.eq(7) & Item::NAME.in_(absent)))
    };
    let (control, origin) = (Control::default(), Origin::default());
    let mut snapshot = costs.counting();
    let found = fetch::fetch(&mut snapshot, &Item::TABLE, &query, &control, origin);
    assert_eq!(found.unwrap().len(), 0);
    assert!(snapshot.rows <= 2 * 20, "{}", snapshot.rows);
    assert!(snapshot.scans < 40, "{}", snapshot.scans);
    let mut snapshot = costs.counting();
    let found = fetch::count(&mut snapshot, &Item::TABLE, &query, &control);
    assert_eq!(found.unwrap(), 0);
    assert!(snapshot.scans < 60, "{}", snapshot.scans);
}

#[test]
fn damaged_object_fails_the_queries_that_may_have_it_and_no_others() {
    let costs = Costs::new();
    // The object is the last one by rank, and has another name.
    let sql = format!(
        "UPDATE {} SET p = x'ffffffff' WHERE rowid = 100",
        Item::TABLE.name
    );
    costs.run_sql(&sql, false);
    for limit in [1, 2, 3, 10] {
        let by_rank = |condition: &dflat::Predicate<Item>| Query {
            limit: Some(limit),
            order: vec![by(&Item::RANK.eq(0), Direction::Descending)],
            ..filtered(condition)
        };
        let others = by_rank(&(Item::NAME.ge("2") & Item::NAME.lt("21")));
        assert_eq!(costs.fetch(&others).found, limit, "{limit}");
        // The object may be one of these.
        let wanted = by_rank(&(Item::NAME.ge("19") & Item::NAME.lt("2")));
        let (control, origin) = (Control::default(), Origin::default());
        let mut snapshot = costs.snapshot();
        let found = fetch::fetch(snapshot.as_mut(), &Item::TABLE, &wanted, &control, origin);
        assert_eq!(found.unwrap_err().kind(), ErrorKind::Corrupt, "{limit}");
    }
}

#[test]
fn foreign_rows_are_read_once_if_following_a_key_is_given_up() {
    let costs = Costs::new();
    let most = filtered(&Item::RANK.gt(30));
    let before = (costs.fetch(&most).found, costs.count(&most).found);
    let name = &Item::TABLE.name;
    let sql = format!("UPDATE {name} SET p = p WHERE rowid % 100 IN (7, 50, 93)");
    costs.run_sql(&sql, true);
    let after = (costs.fetch(&most), costs.count(&most));
    assert_eq!(before, (after.0.found, after.1.found));
    assert!(after.0.rows > 2000, "the key is given up: {after:?}");
}

#[test]
fn order_of_an_index_is_tried_before_many_objects_are_sorted() {
    let costs = Costs::new();
    // A quarter of the objects, which are 500, have such a rank.
    let query = Query {
        limit: Some(60),
        order: vec![by(&Item::NAME.eq(""), Direction::Ascending)],
        ..filtered(&Item::RANK.lt(25))
    };
    let spent = costs.fetch(&query);
    assert!(spent.found == 60 && spent.rows < 500, "{spent:?}");
}

#[test]
fn objects_read_to_choose_a_plan_are_those_of_the_query() {
    let costs = Costs::new();
    let condition = Item::RANK.ge(10) & Item::NAME.ge("0");
    let row_ids = |query: &Query| {
        let (control, origin) = (Control::default(), Origin::default());
        let mut snapshot = costs.snapshot();
        let found = fetch::fetch(snapshot.as_mut(), &Item::TABLE, query, &control, origin);
        let row_ids = found.unwrap().into_iter().map(|object| object.row_id());
        row_ids.collect::<Vec<_>>()
    };
    let all = row_ids(&filtered(&condition));
    assert_eq!(all.len(), 1800);
    for (offset, limit) in [(0, 1), (0, 10), (7, 3), (3, 9), (1795, 10)] {
        let window = Query {
            offset,
            limit: Some(limit),
            ..filtered(&condition)
        };
        let end = (offset + limit).min(all.len());
        assert_eq!(row_ids(&window), all[offset.min(end)..end], "{window:?}");
    }
}

#[test]
fn objects_before_a_window_are_skipped_in_the_index() {
    let costs = Costs::new();
    let window = |query: Query| Query {
        offset: 400,
        limit: Some(20),
        ..query
    };
    for direction in [Direction::Ascending, Direction::Descending] {
        let by_rank = Query {
            order: vec![by(&Item::RANK.eq(0), direction)],
            ..Query::default()
        };
        assert_eq!(costs.fetch(&window(by_rank)), cost(20, 20, 420));
    }
    // The condition has to be checked on each object.
    let checked = Query {
        order: vec![by(&Item::RANK.eq(0), Direction::Ascending)],
        ..filtered(&Item::SIZE.ge(0))
    };
    assert_eq!(costs.fetch(&window(checked)), cost(20, 420, 0));
    // By row id, in an index that has the order and in one that has not.
    let one = Query {
        offset: 10,
        limit: Some(5),
        ..filtered(&Item::RANK.eq(7))
    };
    assert_eq!(costs.fetch(&one), cost(5, 5, 15));
    let tasks = Costs::of_tasks();
    let mut snapshot = tasks.counting();
    let query = Query {
        offset: 60,
        limit: Some(10),
        ..of(&Task::LIST.eq(1))
    };
    let (control, origin) = (Control::default(), Origin::default());
    let found = fetch::fetch(&mut snapshot, &Task::TABLE, &query, &control, origin);
    assert_eq!((found.unwrap().len(), snapshot.rows), (10, 10));
}

#[test]
fn count_that_keys_decide_reads_no_objects() {
    let costs = Costs::new();
    // Most objects have another rank than 3. One range is below it, and one above.
    assert_eq!(
        costs.count(&filtered(&Item::RANK.ne(3))),
        cost(1980, 0, 1980)
    );
    assert_eq!(
        costs.count(&filtered(&!Item::RANK.eq(3))),
        cost(1980, 0, 1980)
    );
    // 20 objects have the rank, and four the name.
    let either = Item::RANK.eq(7) | Item::NAME.eq("049");
    let both = costs.count(&filtered(&either));
    // The entries are counted in turns, and then read.
    assert_eq!((both.rows, both.entries), (0, 17 + 2 * 24));
    assert_eq!(both.found, costs.fetch(&filtered(&either)).found);
    // A side whose conjuncts no single key decides.
    let checked = Item::RANK.eq(7) | (Item::NAME.eq("049") & Item::SIZE.gt(0));
    assert_eq!(costs.count(&filtered(&checked)).rows, both.found);
}

/// A snapshot that notes how often ranges were counted by the backend.
struct Tallying {
    inner: Box<dyn Snapshot>,
    tallies: usize,
}

impl Snapshot for Tallying {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.inner.scan(plan, visit)
    }

    fn tally(
        &mut self,
        table: &Table,
        range: (&KeyScan<'_>, usize),
        proceed: &mut dyn FnMut() -> ControlFlow<()>,
        visit: &mut dyn FnMut(&[ValueRef<'_>], usize) -> ControlFlow<()>,
    ) -> Result<bool> {
        self.tallies += 1;
        // The second of several ranges can't be counted.
        Ok(self.tallies != 2 && self.inner.tally(table, range, proceed, visit)?)
    }

    fn pin(&mut self) -> Result<StateId> {
        self.inner.pin()
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        self.inner.indexes(table)
    }
}

#[test]
fn count_of_several_ranges_is_right_if_one_of_them_must_be_visited() {
    let costs = Costs::new();
    let count = |query: &Query, control: &Control| {
        let mut snapshot = Tallying {
            inner: costs.snapshot(),
            tallies: 0,
        };
        let found = fetch::count(&mut snapshot, &Item::TABLE, query, control);
        (found.unwrap(), snapshot.tallies)
    };
    let (free, mut limited) = (Control::default(), Control::default());
    limited.deadline = Some(Instant::now() + Duration::from_secs(3600));
    let ranges = filtered(&(Item::RANK.lt(3) | Item::RANK.eq(50) | Item::RANK.gt(98)));
    assert_eq!(count(&ranges, &free), (100, 2));
    assert_eq!(count(&filtered(&Item::RANK.lt(3)), &limited), (60, 1));
    // SQLite counts all rows in one step. A count with a time limit visits them.
    assert_eq!(count(&Query::default(), &free), (2000, 1));
    assert_eq!(count(&Query::default(), &limited), (2000, 0));
}

#[test]
fn count_of_a_union_ends_when_there_are_enough() {
    let costs = Costs::new();
    let either = Item::RANK.eq(7) | Item::RANK.gt(90) | Item::NAME.eq("049");
    let all = costs.count(&filtered(&either)).found;
    for limit in [1, 3, 25, all, all + 1] {
        let some = Query {
            limit: Some(limit),
            ..filtered(&either)
        };
        let some = costs.count(&some);
        assert_eq!((some.found, some.rows), (limit.min(all), 0), "{limit}");
        if limit < 4 {
            assert!(some.entries <= limit, "{some:?}");
        }
    }
}
