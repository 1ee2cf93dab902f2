//! Laws of many changes at once.

use dflat::{ChangeRequest, ErrorKind, Object, Result, TransactionContext, UpdatedObject, Workspace};

use crate::conformance::samples::item;
use crate::diary::{Entry, EntryChangeRequest, EntryData, Event, EventChangeRequest, EventData};
use crate::fixture::Open;
use crate::line::{Line, LineChangeRequest, LineData};
use crate::random::Random;
use crate::schema::{Item, ItemChangeRequest, ItemData};

/// An outcome to compare: what was made, with its values; or the error, with the conflict.
fn shown<T: Object + std::fmt::Debug>(outcome: &Result<UpdatedObject<T>>) -> String
where
    T::Data: std::fmt::Debug,
{
    match outcome {
        Ok(UpdatedObject::Inserted(object)) => format!("inserted {:?}", object.to_data()),
        Ok(UpdatedObject::Updated(object)) => format!("updated {:?}", object.to_data()),
        Ok(UpdatedObject::Identity(object)) => format!("identity {:?}", object.to_data()),
        Ok(UpdatedObject::Deleted(_)) => "deleted".to_owned(),
        Ok(other) => format!("{other:?}"),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => error.to_string(),
        Err(error) => format!("{:?}", error.kind()),
    }
}

/// Makes requests, and carries them out at once, or one by one if they are to be the model's.
fn outcomes<T: Object + std::fmt::Debug>(
    workspace: &Workspace,
    is_model: bool,
    requests: impl Fn(&TransactionContext) -> Result<Vec<ChangeRequest<T>>>,
) -> (Vec<String>, Vec<String>)
where
    T::Data: std::fmt::Debug,
{
    let outcomes = workspace.perform_changes_blocking([T::TABLE], |tx| {
        let requests = requests(tx)?;
        let outcomes: Vec<_> = match is_model {
            true => requests.into_iter().map(|request| tx.submit(request)).collect(),
            false => tx.submit_many(requests),
        };
        Ok(outcomes.iter().map(shown).collect())
    });
    let all = workspace.fetch::<T>().all().unwrap();
    let all = all.iter().map(|object| format!("{:?}", object.to_data()));
    (outcomes.unwrap(), all.collect())
}

/// Carries out requests in a workspace and in the model. Returns the outcomes.
fn check<T: Object + std::fmt::Debug>(
    workspace: &Workspace,
    model: &Workspace,
    requests: impl Fn(&TransactionContext) -> Result<Vec<ChangeRequest<T>>>,
    seed: u64,
) -> Vec<String>
where
    T::Data: std::fmt::Debug,
{
    let together = outcomes(workspace, false, &requests);
    assert_eq!(together, outcomes(model, true, &requests), "seed {seed}");
    together.0
}

fn items(tx: &TransactionContext, random: &mut Random) -> Result<Vec<ChangeRequest<Item>>> {
    let mut requests = Vec::new();
    for _ in 0..random.below(24) {
        let data = ItemData {
            code: random.below(3).checked_sub(1).map(|_| format!("code {}", random.below(9))),
            name: Some(format!("name {}", random.below(3))),
            ..item(&format!("item {}", random.below(12)), i32::try_from(random.below(5)).unwrap())
        };
        let found = tx.get::<Item>(&data.id)?;
        let request = match (random.below(6), found) {
            (0 | 1, _) => Some(ItemChangeRequest::creation(data)),
            (2 | 3, _) => Some(ItemChangeRequest::upsert(data)),
            (4, Some(found)) if random.one_in(2) => Some(ItemChangeRequest::restoration(&found)),
            (4, Some(found)) => ItemChangeRequest::change(tx, &found)?.map(|mut request| {
                request.rank = data.rank;
                request.code = data.code;
                if random.one_in(4) {
                    request.id = format!("item {}", random.below(12));
                }
                match random.one_in(4) {
                    true => request.if_unchanged(&found),
                    false => request,
                }
            }),
            (_, Some(found)) => ItemChangeRequest::deletion(tx, &found)?,
            _ => None,
        };
        requests.extend(request);
    }
    Ok(requests)
}

pub fn random_changes_at_once_have_the_outcomes_of_single_ones(open: Open) {
    let (w, model) = (open(), Workspace::in_memory());
    let mut refused = 0;
    for seed in 0..60 {
        let requests = |tx: &TransactionContext| items(tx, &mut Random::new(seed));
        let outcomes = check(&w, &model, requests, seed);
        refused += outcomes.iter().filter(|outcome| outcome.starts_with("cannot")).count();
    }
    assert!(refused > 20, "{refused}");
}

fn entries(random: &mut Random) -> Vec<ChangeRequest<Entry>> {
    let requests = (0..random.below(12)).map(|_| {
        let data = EntryData {
            id: assigned_or_below(20, random),
            slug: Some(format!("slug {}", random.below(40))),
            ..EntryData::default()
        };
        match random.one_in(3) {
            true => EntryChangeRequest::upsert(data),
            false => EntryChangeRequest::creation(data),
        }
    });
    requests.collect()
}

fn lines(random: &mut Random) -> Vec<ChangeRequest<Line>> {
    let requests = (0..random.below(12)).map(|_| {
        let id = assigned_or_below(200, random);
        let data = LineData { id, text: Some(format!("text {}", random.below(3))) };
        match random.one_in(3) {
            true => LineChangeRequest::upsert(data),
            false => LineChangeRequest::creation(data),
        }
    });
    requests.collect()
}

/// A key, or 0 for one that the library assigns.
fn assigned_or_below(end: usize, random: &mut Random) -> u64 {
    match random.one_in(4) {
        true => random.below(end) as u64 + 1,
        false => 0,
    }
}

pub fn keys_are_assigned_to_many_objects_as_to_single_ones(open: Open) {
    let (w, model) = (open(), Workspace::in_memory());
    for seed in 0..30 {
        let requests = |_: &TransactionContext| Ok(entries(&mut Random::new(seed)));
        check(&w, &model, requests, seed);
        let requests = |_: &TransactionContext| Ok(lines(&mut Random::new(seed)));
        check(&w, &model, requests, seed);
    }
    let largest = i64::MAX as u64;
    let requests = |_: &TransactionContext| {
        let line = |id| LineChangeRequest::creation(LineData { id, text: None });
        Ok([0, largest - 2, 0, 0, 0, 0, 5].map(line).into())
    };
    let outcomes = check(&w, &model, requests, 0);
    assert!(outcomes[4].contains("KeysExhausted"), "{outcomes:?}");
    let events = w.perform([Event::TABLE], |tx| {
        let events = (0..20).map(|_| EventChangeRequest::creation(EventData::default()));
        let outcomes = tx.submit_many(events).into_iter();
        outcomes.map(|made| Ok(made?.into_object())).collect::<Result<Vec<_>>>()
    });
    let keys: std::collections::BTreeSet<_> =
        events.iter().flatten().map(|event| event.id().to_owned()).collect();
    assert_eq!((keys.len(), keys.contains("")), (20, false));
}

pub fn thousands_of_objects_are_created_at_once(open: Open) {
    let w = open();
    w.create::<Item>([item("item 777", 1)]);
    let refused = w.perform([Item::TABLE], |tx| {
        let data = (0..3_000).map(|rank| item(&format!("item {rank}"), rank));
        let outcomes = tx.submit_many(data.map(ItemChangeRequest::creation));
        assert_eq!(tx.fetch::<Item>().count()?, 3_000);
        let refused = outcomes.iter().enumerate().filter(|(_, outcome)| outcome.is_err());
        Ok(refused.map(|(position, _)| position).collect::<Vec<_>>())
    });
    assert_eq!(refused, [777]);
    let found = w.fetch::<Item>().filter(Item::RANK.ge(1_000)).all().unwrap();
    assert_eq!(found.len(), 2_000);
    let changed = w.perform([Item::TABLE], |tx| {
        let data = (1_500..3_500).map(|rank| item(&format!("item {rank}"), rank % 7));
        let outcomes = tx.submit_many(data.map(ItemChangeRequest::upsert));
        let updated = outcomes.iter().filter(|made| matches!(made, Ok(UpdatedObject::Updated(_))));
        Ok((updated.count(), outcomes.len()))
    });
    assert_eq!(changed, (1_500, 2_000));
    assert_eq!(w.fetch::<Item>().count().unwrap(), 3_500);
    assert_eq!(w.fetch::<Item>().filter(Item::RANK.ge(1_000)).count().unwrap(), 500);
}

/// New objects, some of which have a key or a unique value of another one. Some keys are longer
/// than an index of a server holds.
fn crowd(random: &mut Random) -> Vec<ChangeRequest<Item>> {
    let requests = (0..2_500).map(|rank| {
        let long = if random.one_in(40) { "long ".repeat(600) } else { String::new() };
        // Equal keys and values stand far from one another.
        let id = format!("{long}{}", random.below(40_000));
        let code = random.one_in(2).then(|| format!("code {}", random.below(20_000)));
        ItemChangeRequest::creation(ItemData { code, ..item(&id, rank) })
    });
    requests.collect()
}

pub fn thousands_of_objects_conflict_as_single_ones(open: Open) {
    let (w, model) = (open(), Workspace::in_memory());
    let mut refused = 0;
    for seed in 0..3 {
        let requests = |_: &TransactionContext| Ok(crowd(&mut Random::new(seed)));
        let outcomes = check(&w, &model, requests, seed);
        refused += outcomes.iter().filter(|outcome| outcome.starts_with("cannot")).count();
        let ranks = Item::RANK.ge(2_000);
        let count = |workspace: &Workspace| workspace.fetch::<Item>().filter(ranks.clone()).count();
        assert_eq!(count(&w).unwrap(), count(&model).unwrap());
    }
    assert!(refused > 300, "{refused}");
}

pub fn many_changes_in_an_aborted_transaction_leave_nothing(open: Open) {
    let w = open();
    let requests = || (0..200).map(|rank| ItemChangeRequest::upsert(item(&rank.to_string(), rank)));
    let outcome = w.perform_changes([Item::TABLE], move |tx| {
        let outcomes = tx.submit_many(requests());
        assert!(outcomes.iter().all(Result::is_ok));
        tx.abort();
        let outcomes = tx.submit_many(requests());
        let aborted = |outcome: &Result<UpdatedObject<Item>>| {
            outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::Aborted)
        };
        assert!(outcomes.iter().all(aborted));
        Ok(())
    });
    assert_eq!(outcome.wait().unwrap_err().kind(), ErrorKind::Aborted);
    assert_eq!(w.fetch::<Item>().count().unwrap(), 0);
    let outcome = w.perform_changes([Item::TABLE], move |tx| {
        tx.submit(ItemChangeRequest::creation(item("first", 1)))?;
        let nested = tx.nested(|tx| {
            assert!(tx.submit_many(requests()).iter().all(Result::is_ok));
            tx.submit(ItemChangeRequest::creation(item("first", 1)))
        });
        assert_eq!(nested.unwrap_err().kind(), ErrorKind::AlreadyExists);
        tx.fetch::<Item>().count()
    });
    assert_eq!(outcome.wait().unwrap(), 1);
    // Row ids that were handed out are not used again.
    let made = w.create::<Item>((0..3).map(|rank| item(&rank.to_string(), rank)));
    assert!(made[0].row_id().0 > 200, "{:?}", made[0].row_id());
    let made = w.perform([Item::TABLE], move |tx| {
        let made = tx.submit_many(requests()).pop().unwrap()?;
        Ok(made.into_object().unwrap().row_id())
    });
    let count = w.fetch::<Item>().count().unwrap();
    let last = w.fetch::<Item>().all().unwrap()[count - 1].row_id();
    assert_eq!((count, last), (201, made));
}
