//! Laws of queries that several indexes could serve.

use std::cmp::Ordering;

use dflat::{ChangeRequest, Cursor, Fetch, Order, Predicate};

use crate::fixture::{Fixture, Open};
use crate::random::Random;
use crate::schema::{State, Task, TaskData};

fn task(id: i32, random: &mut Random) -> TaskData {
    TaskData {
        id,
        list: random.below(4) as i32,
        title: (!random.one_in(4)).then(|| format!("title {id}")),
        due: (!random.one_in(3)).then(|| random.below(6) as i64),
        state: *random.pick(&State::ALL),
        rank: random.below(5) as i32,
        slug: (!random.one_in(4)).then(|| format!("slug {id}")),
        ..TaskData::default()
    }
}

/// A condition, and the same condition in Rust.
type Condition = (fn() -> Predicate<Task>, fn(&Task) -> bool);

const OPEN: [State; 2] = [State::Open, State::Doing];

fn is_soon(task: &Task) -> bool {
    task.due().is_some_and(|due| due == 1 || due > 3)
}

const CONDITIONS: [Condition; 9] = [
    (|| Predicate::all([]), |_| true),
    (|| Task::LIST.eq(1), |t| t.list() == 1),
    (
        || Task::LIST.eq(1) & Task::RANK.ne(2),
        |t| t.list() == 1 && t.rank() != 2,
    ),
    (
        || Task::LIST.in_([1, 3]) & Task::DUE.eq(2),
        |t| [1, 3].contains(&t.list()) && t.due() == Some(2),
    ),
    (
        || Task::LIST.in_([3, 1, 0]) & (Task::DUE.is_null() | Task::DUE.in_([4, 1])),
        |t| [0, 1, 3].contains(&t.list()) && matches!(t.due(), None | Some(1 | 4)),
    ),
    (
        || Task::LIST.in_([2, 1]) & (Task::DUE.eq(1) | Task::DUE.gt(3)),
        |t| [1, 2].contains(&t.list()) && is_soon(t),
    ),
    (
        || Task::STATE.in_(OPEN) & Task::LIST.in_([0, 2]) & Task::TITLE.ge("title 2"),
        |t| {
            let after = t.title().is_some_and(|title| title >= "title 2");
            OPEN.contains(&t.state()) && [0, 2].contains(&t.list()) && after
        },
    ),
    (
        || Task::STATE.eq(State::Open) & Task::LIST.eq(2) & (Task::DUE.eq(1) | Task::DUE.gt(3)),
        |t| t.state() == State::Open && t.list() == 2 && is_soon(t),
    ),
    (
        || Task::LIST.eq(1) & Task::DUE.is_not_null() & Task::RANK.in_([1, 3]),
        |t| t.list() == 1 && t.due().is_some() && [1, 3].contains(&t.rank()),
    ),
];

/// An order, and the same order in Rust.
type Sorting = (fn() -> Vec<Order<Task>>, fn(&Task, &Task) -> Ordering);

const SORTINGS: [Sorting; 7] = [
    (Vec::new, |_, _| Ordering::Equal),
    (|| vec![Task::DUE.ascending()], |a, b| a.due().cmp(&b.due())),
    (
        || vec![Task::DUE.descending().nulls_first()],
        |a, b| (b.due().is_none(), b.due()).cmp(&(a.due().is_none(), a.due())),
    ),
    (
        || vec![Task::LIST.descending(), Task::DUE.descending()],
        |a, b| (b.list(), b.due()).cmp(&(a.list(), a.due())),
    ),
    (
        || vec![Task::LIST.ascending(), Task::DUE.ascending().nulls_last()],
        |a, b| {
            let key = |t: &Task| (t.list(), t.due().is_none(), t.due());
            key(a).cmp(&key(b))
        },
    ),
    (
        || vec![Task::STATE.ascending(), Task::LIST.ascending(), Task::TITLE.ascending()],
        |a, b| (a.state(), a.list(), a.title()).cmp(&(b.state(), b.list(), b.title())),
    ),
    (
        || vec![Task::RANK.descending(), Task::TITLE.descending()],
        |a, b| (b.rank(), b.title()).cmp(&(a.rank(), a.title())),
    ),
];

/// Offsets and limits.
const WINDOWS: [(usize, Option<usize>); 7] = [
    (0, None),
    (0, Some(1)),
    (0, Some(7)),
    (9, Some(4)),
    (40, Some(40)),
    (3, None),
    (500, Some(3)),
];

/// A query by each condition, order and window gives what reading all objects gives.
fn agree<'w>(fetch: &dyn Fn() -> Fetch<'w, Task>) {
    let all: Vec<Task> = fetch().all().unwrap().iter().cloned().collect();
    for (condition, test) in CONDITIONS {
        let met: Vec<Task> = all.iter().filter(|task| test(task)).cloned().collect();
        totals_agree(&|| fetch().filter(condition()), &met);
        for (order, compare) in SORTINGS {
            let mut sorted = met.clone();
            // In the order of row ids before, and the sort is stable.
            sorted.sort_by(compare);
            let fetch = || order().into_iter().fold(fetch().filter(condition()), Fetch::order_by);
            for (offset, limit) in WINDOWS {
                let fetch = || limit.into_iter().fold(fetch().offset(offset), Fetch::limit);
                let rest = sorted.iter().skip(offset).take(limit.unwrap_or(usize::MAX));
                window_agrees(&fetch, &rest.cloned().collect::<Vec<_>>());
            }
            pages_agree(&fetch, &sorted);
        }
    }
}

fn window_agrees<'w>(fetch: &dyn Fn() -> Fetch<'w, Task>, expected: &[Task]) {
    let plan = || fetch().explain().unwrap().to_string();
    let ids: Vec<i32> = expected.iter().map(Task::id).collect();
    let found: Vec<i32> = fetch().all().unwrap().iter().map(Task::id).collect();
    assert_eq!(found, ids, "{}", plan());
    assert_eq!(fetch().select(Task::ID).unwrap(), ids, "{}", plan());
    let pairs: Vec<_> = expected.iter().map(|t| (t.list(), t.due())).collect();
    let selected = fetch().select((Task::LIST, Task::DUE)).unwrap();
    assert_eq!(selected, pairs, "{}", plan());
    assert_eq!(fetch().count().unwrap(), ids.len(), "{}", plan());
    assert_eq!(fetch().exists().unwrap(), !ids.is_empty(), "{}", plan());
    let sum = expected.iter().filter_map(Task::due).reduce(|a, b| a + b);
    assert_eq!(fetch().sum(Task::DUE).unwrap(), sum, "{}", plan());
}

fn totals_agree<'w>(fetch: &dyn Fn() -> Fetch<'w, Task>, met: &[Task]) {
    let dues = || met.iter().filter_map(Task::due);
    assert_eq!(fetch().min(Task::DUE).unwrap(), dues().min());
    assert_eq!(fetch().max(Task::DUE).unwrap(), dues().max());
    assert_eq!(fetch().max(Task::RANK).unwrap(), met.iter().map(Task::rank).max());
    let groups = fetch().group_by(Task::LIST).sum(Task::DUE).all().unwrap();
    assert_eq!(groups.iter().map(|group| group.count).sum::<usize>(), met.len());
}

/// The pages after each place have the rest, also if the object at that place has changed since.
fn pages_agree<'w>(fetch: &dyn Fn() -> Fetch<'w, Task>, sorted: &[Task]) {
    let mut place: Option<Cursor> = None;
    let mut found = Vec::new();
    loop {
        let page = place.into_iter().fold(fetch().limit(13), Fetch::after);
        let page = page.all().unwrap();
        found.extend(page.iter().map(Task::id));
        match page.end() {
            Some(end) => place = Some(end),
            None => break,
        }
    }
    assert_eq!(found, sorted.iter().map(Task::id).collect::<Vec<_>>());
}

fn filled(open: Open) -> Fixture {
    let w = open();
    let mut random = Random::new(23);
    w.create::<Task>((0..160).map(|id| task(id, &mut random)));
    w
}

pub fn choice_among_several_indexes_changes_no_answer(open: Open) {
    let w = filled(open);
    agree(&|| w.fetch::<Task>());
}

pub fn choice_among_several_indexes_changes_no_answer_in_a_transaction(open: Open) {
    let w = filled(open);
    w.perform([Task::TABLE], |tx| {
        let mut random = Random::new(29);
        for id in 160..200 {
            tx.submit(ChangeRequest::<Task>::creation(task(id, &mut random)))?;
        }
        for id in (0..160).step_by(3) {
            let seen = tx.get::<Task>(id)?.unwrap();
            if id % 2 == 0 {
                let request = ChangeRequest::deletion(tx, &seen)?.unwrap();
                tx.submit(request)?;
                continue;
            }
            let mut request = ChangeRequest::change(tx, &seen)?.unwrap();
            *request = task(id, &mut random);
            tx.submit(request)?;
        }
        agree(&|| tx.fetch::<Task>());
        Ok(())
    });
}

pub fn place_of_a_changed_object_starts_its_page_exactly(open: Open) {
    let w = filled(open);
    let orders: [fn() -> Vec<Order<Task>>; 2] = [
        || vec![Task::LIST.ascending(), Task::DUE.ascending()],
        || vec![Task::LIST.descending(), Task::DUE.descending()],
    ];
    // An earlier query had places whose values are not among those of the later one.
    let places = orders.map(|order| {
        let fetch = order().into_iter().fold(w.fetch::<Task>(), Fetch::order_by);
        let found = fetch.all().unwrap();
        (0..found.len()).filter_map(|at| found.cursor_at(at)).collect::<Vec<_>>()
    });
    for (order, places) in orders.iter().zip(places) {
        for place in places {
            let page = |condition: Predicate<Task>| {
                let fetch = w.fetch::<Task>().filter(condition).after(place.clone());
                let found = order().into_iter().fold(fetch, Fetch::order_by).all().unwrap();
                found.iter().map(Task::id).collect::<Vec<_>>()
            };
            let served = Task::LIST.in_([0, 2, 3]) & Task::DUE.in_([1, 2, 4]);
            let list = (Task::LIST * 1).eq(0) | (Task::LIST * 1).ge(2);
            let due = (Task::DUE * 1).between(1, 2) | (Task::DUE * 1).eq(4);
            assert_eq!(page(served), page(list & due));
        }
    }
}
