//! Laws of indexes over several fields, and of indexes with a condition.

use dflat::{ChangeRequest, ErrorKind, IndexState, Object, Order, Predicate, Result, Workspace};

use crate::fixture::{Fixture, Open};
use crate::random::Random;
use crate::schema::{Place, State, Task, TaskChangeRequest, TaskData};

fn task(id: i32, random: &mut Random) -> TaskData {
    let text = |random: &mut Random| {
        (!random.one_in(4)).then(|| ["", "a", "b", "é"][random.below(4)].to_owned())
    };
    TaskData {
        id,
        list: random.below(4) as i32,
        // Unique together with the list, unless it is missing.
        title: (!random.one_in(4)).then(|| format!("title {id}")),
        due: (!random.one_in(3)).then(|| random.below(6) as i64),
        state: *random.pick(&State::ALL),
        rank: random.below(5) as i32,
        slug: (!random.one_in(4)).then(|| format!("slug {id}")),
        place: (!random.one_in(3)).then(|| Place {
            city: text(random),
            street: text(random),
        }),
    }
}

/// A condition with a number.
type Ask = fn(i64) -> Predicate<Task>;
/// Whether a task meets the condition.
type Test = fn(&Task, i64) -> bool;
/// The sort keys of an order.
type Sort = fn(&Task) -> (i64, String);

fn open_tasks(n: i64) -> Predicate<Task> {
    Task::STATE.eq(State::Open) & Task::DUE.le(n)
}

/// Conditions, and the same conditions in Rust.
const CONDITIONS: [(Ask, Test); 12] = [
    (
        |n| Task::LIST.eq(n as i32),
        |task, n| i64::from(task.list()) == n,
    ),
    (
        |n| Task::LIST.eq(1) & Task::DUE.gt(n),
        |task, n| task.list() == 1 && task.due().is_some_and(|due| due > n),
    ),
    (
        |n| Task::LIST.eq(2) & Task::DUE.is_null() & Task::RANK.ge(n as i32),
        |task, n| task.list() == 2 && task.due().is_none() && i64::from(task.rank()) >= n,
    ),
    (
        |n| Task::LIST.in_([0, n as i32]) & Task::DUE.eq(3),
        |task, n| [0, n].contains(&i64::from(task.list())) && task.due() == Some(3),
    ),
    (open_tasks, |task, n| {
        task.state() == State::Open && task.due().is_some_and(|due| due <= n)
    }),
    (
        |n| Task::DUE.le(n),
        |task, n| task.due().is_some_and(|due| due <= n),
    ),
    (
        |n| Task::STATE.eq(State::Doing) & Task::LIST.eq(n as i32) & Task::TITLE.gt("title 2"),
        |task, n| {
            let after = task.title().is_some_and(|title| title > "title 2");
            task.state() == State::Doing && i64::from(task.list()) == n && after
        },
    ),
    (
        |n| Task::LIST.eq(1) & Task::DUE.is_not_null() & Task::RANK.eq(n as i32),
        |task, n| task.list() == 1 && task.due().is_some() && i64::from(task.rank()) == n,
    ),
    (
        |n| Task::LIST.eq(1) & Task::DUE.gt(2) & Task::RANK.lt(n as i32),
        |task, n| {
            let later = task.due().is_some_and(|due| due > 2);
            task.list() == 1 && later && i64::from(task.rank()) < n
        },
    ),
    (
        |n| {
            let street = Task::PLACE.street();
            street.eq("a") & Task::RANK.ge(n as i32) & Task::STATE.ne(State::Doing)
        },
        |task, n| {
            let street = task.place().and_then(|place| place.street());
            let other = task.state() != State::Doing;
            street == Some("a") && i64::from(task.rank()) >= n && other
        },
    ),
    (
        |n| Task::SLUG.eq(format!("slug {n}")) & Task::STATE.ne(State::Done),
        |task, n| task.slug() == Some(&format!("slug {n}")) && task.state() != State::Done,
    ),
    (
        |n| open_tasks(n) | (Task::LIST.eq(3) & Task::DUE.eq(n)),
        |task, n| {
            let open = task.state() == State::Open && task.due().is_some_and(|due| due <= n);
            open || (task.list() == 3 && task.due() == Some(n))
        },
    ),
];

/// Queries that indexes can serve give what reading all objects gives.
fn agree(w: &Fixture) {
    let all: Vec<Task> = w.fetch::<Task>().all().unwrap().iter().cloned().collect();
    let ids = |tasks: &[Task]| -> Vec<i32> { tasks.iter().map(Task::id).collect() };
    for (condition, test) in CONDITIONS {
        for n in 0..5 {
            let expected: Vec<Task> = all.iter().filter(|t| test(t, n)).cloned().collect();
            let fetch = || w.fetch::<Task>().filter(condition(n));
            let plan = || fetch().explain().unwrap().to_string();
            assert_eq!(ids(&fetch().all().unwrap()), ids(&expected), "{}", plan());
            assert_eq!(fetch().count().unwrap(), expected.len(), "{}", plan());
            // Orders that an index has, orders that a part of an index has, and others.
            let orders: [(Order<Task>, Sort); 4] = [
                (Task::DUE.ascending(), |task| {
                    (task.due().unwrap_or(i64::MIN), String::new())
                }),
                (Task::DUE.descending(), |task| {
                    (-task.due().unwrap_or(-9), String::new())
                }),
                (Task::TITLE.ascending(), |task| {
                    let title = task.title().map(|title| format!("+{title}"));
                    (0, title.unwrap_or_default())
                }),
                (Task::RANK.descending(), |task| {
                    (-i64::from(task.rank()), String::new())
                }),
            ];
            for (order, key) in orders {
                let fetch = || fetch().order_by(order.clone()).limit(4);
                let mut sorted = expected.clone();
                sorted.sort_by_key(|task| (key(task), task.row_id()));
                sorted.truncate(4);
                let plan = fetch().explain().unwrap().to_string();
                assert_eq!(ids(&fetch().all().unwrap()), ids(&sorted), "{plan}");
            }
        }
    }
}

/// Creates, changes and deletes tasks, in transactions some of which are aborted.
fn work(w: &Fixture, random: &mut Random, next: &mut i32) {
    let tasks: Vec<Task> = w.fetch::<Task>().all().unwrap().iter().cloned().collect();
    let mut seed = Random::new(random.number());
    let first = *next;
    *next += 10;
    let is_kept = !random.one_in(4);
    let done = w.perform_changes([Task::TABLE], move |tx| {
        for step in 0..10 {
            let made = task(first + step, &mut seed);
            if tasks.is_empty() || seed.one_in(3) {
                tx.submit(ChangeRequest::<Task>::creation(made))?;
                continue;
            }
            let chosen = seed.pick(&tasks);
            if seed.one_in(5) {
                if let Some(request) = ChangeRequest::deletion(tx, chosen)? {
                    tx.submit(request)?;
                }
            } else if let Some(mut request) = ChangeRequest::change(tx, chosen)? {
                let id = request.id;
                match seed.below(3) {
                    0 => *request = TaskData { id, ..made },
                    1 => request.state = made.state,
                    _ => (request.due, request.list) = (made.due, made.list),
                }
                tx.submit(request)?;
            }
        }
        if !is_kept {
            tx.abort();
        }
        Ok(())
    });
    let outcome = done.wait().map_err(|error| error.kind());
    // A title that is moved to another list may be taken there.
    let refused = [ErrorKind::Aborted, ErrorKind::AlreadyExists];
    assert!(outcome.is_ok() || refused.contains(&outcome.unwrap_err()));
}

pub fn queries_served_by_declared_indexes_agree_with_reading_all(open: Open) {
    let w = open();
    let (mut random, mut next) = (Random::new(11), 0);
    for _ in 0..12 {
        work(&w, &mut random, &mut next);
        agree(&w);
    }
    Workspace::settle(&w).unwrap();
    agree(&w);
}

fn create(w: &Fixture, id: i32, list: i32, title: Option<&str>) -> Result<Task> {
    let title = title.map(str::to_owned);
    let done = w.perform_changes([Task::TABLE], move |tx| {
        let made = TaskData {
            id,
            list,
            title,
            ..TaskData::default()
        };
        let made = tx.submit(ChangeRequest::<Task>::creation(made))?;
        Ok(made.into_object().unwrap())
    });
    done.wait()
}

pub fn unique_index_over_several_fields_refuses_equal_combinations(open: Open) {
    let w = open();
    create(&w, 1, 1, Some("a")).unwrap();
    create(&w, 2, 1, Some("b")).unwrap();
    create(&w, 3, 2, Some("a")).unwrap();
    let refused = create(&w, 4, 1, Some("a")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    let message = refused.to_string();
    assert!(
        message.contains("list = 1, title = \"a\""),
        "{message} names the values"
    );
    // If one of the values is missing, nothing is refused.
    create(&w, 5, 1, None).unwrap();
    create(&w, 6, 1, None).unwrap();
    let moved = w.perform_changes([Task::TABLE], |tx| {
        let seen = tx.get::<Task>(3)?.unwrap();
        let mut request = ChangeRequest::change(tx, &seen)?.unwrap();
        request.list = 1;
        let refused = tx.submit(request).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        // The conflict changed nothing, and the transaction goes on.
        let first = tx.get::<Task>(1)?.unwrap();
        let mut request = ChangeRequest::change(tx, &first)?.unwrap();
        request.list = 7;
        tx.submit(request)?;
        let mut request = ChangeRequest::change(tx, &seen)?.unwrap();
        request.list = 1;
        tx.submit(request).map(drop)
    });
    moved.wait().unwrap();
    let of = |list: i32| w.fetch::<Task>().filter(Task::LIST.eq(list)).count().unwrap();
    assert_eq!((of(1), of(2), of(7)), (4, 0, 1));
    let title = w.fetch::<Task>().filter(Task::LIST.eq(1) & Task::TITLE.eq("a"));
    assert_eq!(title.first().unwrap().unwrap().id(), 3);
}

pub fn unique_index_with_a_condition_ignores_other_objects(open: Open) {
    let w = open();
    let made = |id: i32, slug: &str, state: State| {
        let slug = Some(slug.to_owned());
        w.perform_changes([Task::TABLE], move |tx| {
            let made = TaskData {
                id,
                slug,
                state,
                ..TaskData::default()
            };
            tx.submit(ChangeRequest::<Task>::creation(made)).map(drop)
        })
        .wait()
        .map_err(|error| error.kind())
    };
    let becomes = |id: i32, state: State| {
        w.perform_changes([Task::TABLE], move |tx| {
            let seen = tx.get::<Task>(id)?.unwrap();
            let mut request: TaskChangeRequest = ChangeRequest::change(tx, &seen)?.unwrap();
            request.state = state;
            tx.submit(request).map(drop)
        })
        .wait()
        .map_err(|error| error.kind())
    };
    assert_eq!(made(1, "x", State::Done), Ok(()));
    assert_eq!(made(2, "x", State::Done), Ok(()));
    assert_eq!(made(3, "x", State::Open), Ok(()));
    assert_eq!(made(4, "x", State::Doing), Err(ErrorKind::AlreadyExists));
    assert_eq!(becomes(1, State::Open), Err(ErrorKind::AlreadyExists));
    assert_eq!(becomes(3, State::Done), Ok(()));
    assert_eq!(becomes(1, State::Open), Ok(()));
    assert_eq!(becomes(2, State::Doing), Err(ErrorKind::AlreadyExists));
    assert_eq!(made(4, "y", State::Open), Ok(()));
    let open = Task::SLUG.eq("x") & Task::STATE.ne(State::Done);
    let found = w.fetch::<Task>().filter(open).all().unwrap();
    assert_eq!(found.iter().map(Task::id).collect::<Vec<_>>(), [1]);
}

pub fn declared_indexes_are_ready_from_the_first_write(open: Open) {
    let w = open();
    create(&w, 1, 1, Some("a")).unwrap();
    Workspace::settle(&w).unwrap();
    let progress = w.index_progress();
    let built = |state: &IndexState| matches!(state, IndexState::Ready);
    assert!(progress.iter().all(|p| built(&p.state)), "{progress:?}");
    let plan = w.fetch::<Task>().filter(Task::LIST.eq(1) & Task::DUE.gt(3));
    let plan = plan.explain().unwrap().to_string();
    assert!(plan.contains("the index on list, due"), "{plan}");
}

pub fn index_with_a_condition_serves_queries_that_imply_its_condition(open: Open) {
    let w = open();
    let mut random = Random::new(5);
    w.create::<Task>((0..200).map(|id| task(id, &mut random)));
    let plan = |predicate: Predicate<Task>| {
        let fetch = w.fetch::<Task>().filter(predicate);
        fetch.explain().unwrap().to_string()
    };
    let open = || Task::STATE.eq(State::Open);
    assert_eq!(
        plan(open() & Task::DUE.le(3)),
        "range of the index on due where state == 0, sort"
    );
    // The query implies the condition of the index, in different forms.
    assert_eq!(
        plan(!Task::STATE.gt(State::Open) & Task::STATE.ge(State::Open) & Task::DUE.gt(4)),
        "range of the index on due where state == 0, sort"
    );
    // There is no number between one state and the next.
    assert_eq!(
        plan(Task::STATE.ge(State::Open) & Task::STATE.lt(State::Doing) & Task::DUE.le(3)),
        "range of the index on due where state == 0, sort"
    );
    assert_eq!(
        plan(Task::LIST.eq(1) & Task::DUE.ge(0) & Task::RANK.eq(2)),
        "range of the index on rank, title where list == 1 and due is not null, \
         check due >= 0, sort"
    );
    assert_eq!(
        plan(Task::SLUG.eq("slug 7") & Task::STATE.in_([State::Open, State::Doing])),
        "range of the index on slug where state != 2, check state in [0, 1]"
    );
    // An index that lacks some of the query's objects is not used.
    for beyond in [
        Task::DUE.le(3),
        Task::STATE.ne(State::Done) & Task::DUE.le(3),
        Task::STATE.le(State::Doing) & Task::DUE.le(3),
        Task::DUE.le(3) & (open() | Task::RANK.eq(1)),
    ] {
        let plan = plan(beyond);
        assert!(!plan.contains("the index on due"), "{plan}");
    }
}

pub fn index_over_several_fields_serves_their_order(open: Open) {
    let w = open();
    let mut random = Random::new(6);
    w.create::<Task>((0..200).map(|id| task(id, &mut random)));
    let plan = |predicate: Predicate<Task>, order: [Order<Task>; 2]| {
        let fetch = w.fetch::<Task>().filter(predicate).limit(5);
        let fetch = order.into_iter().fold(fetch, dflat::Fetch::order_by);
        fetch.explain().unwrap().to_string()
    };
    let list = || Task::LIST.ascending();
    assert_eq!(
        plan(Task::LIST.eq(1), [list(), Task::DUE.ascending()]),
        "range of the index on list, due"
    );
    assert_eq!(
        plan(Task::LIST.eq(1) & Task::DUE.gt(2), [list(), Task::DUE.descending()]),
        "range of the index on list, due"
    );
    assert_eq!(
        plan(Task::RANK.ge(0), [list(), Task::TITLE.ascending()]),
        "range of the index on list, title, check rank >= 0"
    );
    let mixed = plan(Task::RANK.ge(0), [list(), Task::TITLE.descending()]);
    let within = "range of the index on list, due, check rank >= 0, sort within equal list and keep 5";
    assert_eq!(mixed, within);
    // Each page begins where the page before ended.
    let all = |fetch: dflat::Fetch<'_, Task>| -> Vec<i32> {
        fetch.all().unwrap().iter().map(Task::id).collect()
    };
    let sorted = || {
        let fetch = w.fetch::<Task>().filter(Task::LIST.eq(2));
        fetch.order_by(Task::DUE.descending())
    };
    let (whole, mut paged) = (all(sorted()), Vec::new());
    let mut page = sorted().limit(7).all().unwrap();
    while let Some(end) = page.end() {
        paged.extend(page.iter().map(Task::id));
        page = sorted().after(end).limit(7).all().unwrap();
    }
    assert_eq!(paged, whole);
}
