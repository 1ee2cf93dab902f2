//! Earlier states, compared with whole copies.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dflat::history::{StepId, Undone};
use dflat::{ErrorKind, Fetch, Object, Result, Workspace};
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData, Level, Other};

use super::files::{Rows, delete, file, open, put, rank, rows, sql};

/// An item whose values have duplicates.
fn random_data(random: &mut Random, id: String) -> ItemData {
    let small = |random: &mut Random| i32::try_from(random.below(5)).unwrap() - 2;
    ItemData {
        id,
        rank: small(random),
        size: small(random),
        name: random
            .one_in(2)
            .then(|| format!("name {}", random.below(4))),
        nick: random.one_in(2).then(|| "nick".repeat(random.below(3))),
        code: None,
        level: *random.pick(&[Level::Low, Level::Mid, Level::High]),
    }
}

/// Changes some items.
fn change(workspace: &Workspace, random: &mut Random) {
    let changed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
        for _ in 0..1 + random.below(6) {
            let id = format!("item {:02}", random.below(20));
            match (random.below(5), tx.get::<Item>(&id)?) {
                (0, Some(item)) => {
                    let request = ItemChangeRequest::deletion(tx, &item)?.unwrap();
                    tx.submit(request)?;
                }
                (1, Some(item)) => {
                    // The item gets another key, if that is free.
                    let new = format!("item {:02}", random.below(20));
                    if tx.get::<Item>(&new)?.is_none() {
                        let mut request = ItemChangeRequest::change(tx, &item)?.unwrap();
                        request.id = new;
                        tx.submit(request)?;
                    }
                }
                _ => drop(tx.submit(ItemChangeRequest::upsert(random_data(random, id)))?),
            }
        }
        Ok(())
    });
    changed.unwrap();
}

/// A workspace in memory with the items of a copy.
fn copied(copy: &Rows) -> Workspace {
    let memory = Workspace::in_memory();
    memory
        .perform_changes_blocking([Item::TABLE], |tx| {
            for payload in copy.values() {
                let item = Item::from_bytes(payload)?;
                tx.submit(ItemChangeRequest::creation(item.to_data()))?;
            }
            Ok(())
        })
        .unwrap();
    memory.settle().unwrap();
    memory
}

type Ask = Box<dyn Fn(&Workspace) -> Result<Vec<Vec<u8>>>>;

/// The questions that a state is asked. All orders are whole, so that row ids do not matter.
fn questions(random: &mut Random) -> Vec<Ask> {
    let bytes = |items: Fetch<'_, Item>| -> Result<Vec<Vec<u8>>> {
        Ok(items.all()?.iter().map(Object::to_bytes).collect())
    };
    let (rank, limit) = (i32::try_from(random.below(5)).unwrap() - 2, random.below(6));
    let (from, to) = (random.below(20), random.below(20));
    let (from, to) = (format!("item {from:02}"), format!("item {to:02}"));
    vec![
        Box::new(move |w| bytes(w.fetch::<Item>().order_by(Item::ID.ascending()))),
        Box::new(move |w| {
            let items = w.fetch::<Item>().filter(Item::RANK.eq(rank));
            bytes(items.order_by(Item::ID.descending()))
        }),
        Box::new(move |w| {
            let items = w.fetch::<Item>().filter(Item::RANK.gt(rank));
            let items = items.order_by(Item::RANK.descending());
            bytes(items.order_by(Item::ID.ascending()).limit(limit))
        }),
        Box::new(move |w| {
            let items = w.fetch::<Item>().filter(Item::SIZE.lt(rank));
            let items = items.order_by(Item::NAME.ascending());
            bytes(items.order_by(Item::ID.ascending()).offset(limit))
        }),
        Box::new({
            let (from, to) = (from.clone(), to.clone());
            move |w| {
                let range = Item::ID.ge(from.as_str()) & Item::ID.lt(to.as_str());
                bytes(
                    w.fetch::<Item>()
                        .filter(range)
                        .order_by(Item::ID.descending()),
                )
            }
        }),
        Box::new(move |w| {
            let items = w.fetch::<Item>().filter(Item::ID.gt(from.as_str()));
            let items = items.order_by(Item::ID.ascending()).limit(limit);
            let ids = items.select(Item::ID)?;
            Ok(ids.into_iter().map(String::into_bytes).collect())
        }),
        Box::new(move |w| {
            let count = w.fetch::<Item>().filter(Item::RANK.le(rank)).count()?;
            Ok(vec![count.to_le_bytes().to_vec()])
        }),
    ]
}

/// Plain SQL may have deleted the objects.
fn done_or_refused(undone: Result<Option<Undone>>) {
    if let Err(error) = undone {
        assert_eq!(error.kind(), ErrorKind::OutOfDate, "{error}");
    }
}

#[test]
fn earlier_states_answer_as_whole_copies_do() {
    bounded(|| {
        for seed in 0..4 {
            let (_directory, path) = file();
            let workspace = open(&path);
            let mut random = Random::new(seed);
            let mut copies: Vec<(StepId, Rows)> = Vec::new();
            for round in 0..40 {
                match random.below(8) {
                    0 if round > 0 => done_or_refused(workspace.history().undo()),
                    1 => done_or_refused(workspace.history().redo()),
                    2 if !copies.is_empty() => {
                        let delete = "DELETE FROM item WHERE rowid % 7 = 3";
                        sql(&path).execute(delete, []).unwrap();
                    }
                    _ => change(&workspace, &mut random),
                }
                let Some(last) = workspace.history().log().next() else {
                    continue;
                };
                let (id, copy) = (last.unwrap().id, rows(&path, "item"));
                // A change without an effect has no step.
                if copies.last().is_none_or(|(last, _)| *last != id) {
                    copies.push((id, copy));
                }
            }
            workspace.settle().unwrap();
            for (id, copy) in copies.iter().step_by(3) {
                let past = workspace.at(*id).unwrap();
                let items = past.fetch::<Item>().all().unwrap();
                let found = items.iter().map(|item| (item.row_id().0, item.to_bytes()));
                assert_eq!(&found.collect::<Rows>(), copy);
                let whole = copied(copy);
                for number in 0..22 {
                    let id = format!("item {number:02}");
                    let (one, other) = (past.get::<Item>(&id), whole.get::<Item>(&id));
                    let bytes = |item: Result<Option<Item>>| item.unwrap().map(|i| i.to_bytes());
                    assert_eq!(bytes(one), bytes(other));
                }
                for ask in questions(&mut random) {
                    assert_eq!(ask(&past).unwrap(), ask(&whole).unwrap());
                }
            }
        }
    });
}

#[test]
fn earlier_state_stays_as_it_was_while_others_write() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        put(&workspace, "b", 1);
        let first = workspace.history().log().last().unwrap().unwrap().id;
        let past = workspace.at(first).unwrap();
        put(&workspace, "a", 2);
        delete(&workspace, "b");
        assert_eq!((rank(&past, "a"), rank(&past, "b")), (Some(1), None));
        // A subscription delivers its first result.
        let live = past.observe(past.fetch::<Item>()).unwrap().watch().unwrap();
        past.settle().unwrap();
        assert_eq!(live.latest().unwrap().unwrap().len(), 1);
    });
}

#[test]
fn earlier_state_cannot_be_changed_and_ends_with_its_workspace() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        let step = workspace.history().log().next().unwrap().unwrap().id;
        let past = workspace.at(step).unwrap();
        let changed = past.perform_changes_blocking([Item::TABLE], |tx| {
            let item = tx.get::<Item>("a")?.unwrap();
            let mut request = ItemChangeRequest::change(tx, &item)?.unwrap();
            request.rank = 5;
            tx.submit(request)
        });
        assert_eq!(changed.unwrap_err().kind(), ErrorKind::ReadOnly);
        let other = past.fetch::<Other>().all().unwrap_err();
        assert_eq!(other.kind(), ErrorKind::InvalidArgument);
        assert!(other.to_string().contains("not versioned"), "{other}");
        let absent = workspace.at(StepId(step.0 + 1)).unwrap_err();
        assert_eq!(absent.kind(), ErrorKind::NotFound);
        workspace.shutdown().unwrap();
        let ended = past.fetch::<Item>().all().unwrap_err();
        assert_eq!(ended.kind(), ErrorKind::ShutDown);
    });
}

#[test]
fn object_of_an_earlier_state_is_changed_as_it_is_now() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        let step = workspace.history().log().next().unwrap().unwrap().id;
        put(&workspace, "a", 2);
        let past = workspace.at(step).unwrap();
        let item = past.get::<Item>("a").unwrap().unwrap();
        let changed = workspace.perform_changes_blocking([Item::TABLE], |tx| {
            let mut request = ItemChangeRequest::change(tx, &item)?.unwrap();
            assert_eq!(request.rank, 2);
            request.size = 7;
            tx.submit(request)
        });
        changed.unwrap();
        let now = workspace.get::<Item>("a").unwrap().unwrap();
        assert_eq!((now.rank(), now.size()), (2, 7));
    });
}

#[test]
fn state_of_a_time_is_that_after_the_last_step_before_it() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        for rank in 0..3 {
            put(&workspace, "a", rank);
        }
        // Steps of one millisecond have one time.
        let times: Vec<SystemTime> = workspace
            .history()
            .log()
            .map(|step| step.unwrap().time)
            .collect();
        let after = workspace.at_time(times[0]).unwrap();
        assert_eq!(rank(&after, "a"), Some(2));
        let before = workspace
            .at_time(times[2] - Duration::from_millis(1))
            .unwrap();
        assert_eq!(rank(&before, "a"), None);
        let never = workspace.at_time(UNIX_EPOCH).unwrap();
        assert_eq!(never.fetch::<Item>().count().unwrap(), 0);
        let later = times[0] + Duration::from_secs(3600);
        assert_eq!(rank(&workspace.at_time(later).unwrap(), "a"), Some(2));
    });
}

#[test]
fn earlier_state_of_many_changed_objects_is_read_without_indexes() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        let fill = |rank: i32| {
            let filled = workspace.perform_changes_blocking([Item::TABLE], |tx| {
                (0..1500).try_for_each(|number| {
                    let data = super::files::data(format!("item {number:04}"), rank);
                    tx.submit(ItemChangeRequest::upsert(data)).map(drop)
                })
            });
            filled.unwrap();
        };
        fill(1);
        let first = workspace.history().log().next().unwrap().unwrap().id;
        fill(2);
        workspace.settle().unwrap();
        let past = workspace.at(first).unwrap();
        let count = |w: &Workspace, rank| w.fetch::<Item>().filter(Item::RANK.eq(rank)).count();
        assert_eq!(count(&past, 1).unwrap(), 1500);
        assert_eq!(count(&past, 2).unwrap(), 0);
        assert_eq!(count(&workspace, 2).unwrap(), 1500);
    });
}
