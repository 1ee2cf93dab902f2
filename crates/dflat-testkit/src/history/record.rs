//! Runs random transactions on several threads and records their reads and deliveries.

use std::collections::HashSet;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dflat::{
    ErrorKind, Result, SubscribedObject, Subscription, Table, TransactionContext, Workspace,
};

use super::clock::Clock;
use super::{Delivery, Event, History, Reading, Register};
use crate::fixture::next;
use crate::random::Random;
use crate::schema::{
    Item, ItemChangeRequest, ItemData, Keyed, KeyedChangeRequest, KeyedData, Other,
    OtherChangeRequest, OtherData,
};

const THREADS: u64 = 4;
const ROUNDS: u64 = 60;

/// Longer than a group waits for a handler.
const SLOW: Duration = Duration::from_millis(4);

const KINDS: usize = 3;
const KEYS: usize = 3;

/// Runs the transactions of a seed in an empty workspace, and records them.
pub fn record(workspace: &Workspace, seed: u64) -> History {
    fill(workspace);
    let recorder = Recorder::new(workspace, Clock::of_process());
    let events = recorder.run(seed, 1);
    let last = last_lists(workspace);
    let deliveries = recorder.end();
    History {
        events,
        deliveries,
        last,
        ..History::default()
    }
}

/// A subscriber to all objects of a workspace, and the maker of random transactions.
pub struct Recorder<'w> {
    workspace: &'w Workspace,
    clock: Clock,
    deliveries: Arc<Mutex<Vec<Delivery>>>,
    subscriptions: Vec<Subscription>,
    is_disturbed: bool,
}

impl<'w> Recorder<'w> {
    /// Subscribes to all objects, which [`fill`] has created.
    #[must_use]
    pub fn new(workspace: &'w Workspace, clock: Clock) -> Self {
        let deliveries: Arc<Mutex<Vec<Delivery>>> = Arc::default();
        let subscriptions = subscribe(workspace, &clock, &deliveries);
        Self {
            workspace,
            clock,
            deliveries,
            subscriptions,
            is_disturbed: false,
        }
    }

    /// Lets transactions and reads fail with any error, because something disturbs the storage.
    #[must_use]
    pub const fn disturbed(mut self) -> Self {
        self.is_disturbed = true;
        self
    }

    /// Runs the transactions of a seed. Their numbers begin with `first`, and there are fewer than
    /// 1,000 of them.
    #[must_use]
    pub fn run(&self, seed: u64, first: u64) -> Vec<Event> {
        let events: Mutex<Vec<Event>> = Mutex::default();
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let events = &events;
                scope.spawn(move || {
                    let random = Random::new(seed * THREADS + thread);
                    let first = first + thread * ROUNDS;
                    let done = run(self, random, first);
                    events.lock().unwrap().extend(done);
                });
            }
        });
        events.into_inner().unwrap()
    }

    /// Ends the subscriptions, and returns their deliveries.
    #[must_use]
    pub fn end(self) -> Vec<Delivery> {
        for subscription in &self.subscriptions {
            subscription.cancel();
            let error = subscription.error();
            assert!(error.is_none(), "{error:?}");
        }
        std::mem::take(&mut *self.deliveries.lock().unwrap())
    }
}

/// The lists as a transaction over all tables reads them.
#[must_use]
pub fn last_lists(workspace: &Workspace) -> Vec<Reading> {
    let read = |tx: &_| registers().map(|at| read(tx, at)).collect();
    let read = workspace.perform_changes(tables(0..KINDS), read);
    read.wait().unwrap()
}

/// The transactions of a thread: up to four run at a time.
fn run(recorder: &Recorder<'_>, mut random: Random, first: u64) -> Vec<Event> {
    let mut pending: Vec<Receiver<Event>> = Vec::new();
    let mut done = Vec::new();
    for round in 0..ROUNDS {
        let id = first + round;
        if random.one_in(6) {
            done.push(look(recorder, &mut random, id));
            continue;
        }
        pending.push(start(recorder, &mut random, id));
        if pending.len() > random.below(4) {
            done.extend(pending.drain(..).map(|event| next(&event)));
        }
    }
    done.extend(pending.into_iter().map(|event| next(&event)));
    done
}

/// The work of a transaction.
struct Work {
    id: u64,
    steps: Vec<(Register, bool)>,
    ending: usize,
    /// Whether other processes write, too, so that a change may fail with `Busy`.
    is_shared: bool,
    /// Whether a change may fail with any error.
    is_disturbed: bool,
}

/// Performs a random transaction, whose event is recorded at its completion.
fn start(recorder: &Recorder<'_>, random: &mut Random, id: u64) -> Receiver<Event> {
    let (workspace, clock) = (recorder.workspace, &recorder.clock);
    let mut kinds: Vec<usize> = (0..=random.below(KINDS))
        .map(|_| random.below(KINDS))
        .collect();
    let steps = (0..=random.below(4)).map(|_| {
        let register = Register {
            kind: *random.pick(&kinds),
            key: random.below(KEYS),
        };
        (register, random.one_in(2))
    });
    let work = Work {
        id,
        steps: steps.collect(),
        ending: random.below(8),
        is_shared: clock.is_shared(),
        is_disturbed: recorder.is_disturbed,
    };
    // A type may be named twice.
    kinds.rotate_left(1);
    let (sender, answered) = mpsc::channel();
    let seen: Arc<Mutex<Event>> = Arc::default();
    let sees = Arc::clone(&seen);
    let clock = clock.clone();
    let caller = thread::current().id();
    let called = clock.now();
    let handler = move |tx: &TransactionContext| work.run(tx, &mut sees.lock().unwrap());
    // In a process that is alone, no handler runs again.
    let performed = match id.is_multiple_of(2) {
        true => workspace.perform_changes_retrying(tables(kinds), handler),
        false => workspace.perform_changes(tables(kinds), handler),
    };
    performed.on_completion(move |outcome| {
        let mut event = std::mem::take(&mut *seen.lock().unwrap());
        (event.id, event.called, event.answered) = (id, called, clock.now());
        event.committed = outcome.is_ok();
        event.in_doubt = outcome.is_err_and(|error| error.kind() == ErrorKind::InDoubt);
        // A transaction that changes nothing has no commit. If it read a state before a commit of
        // another program, a later commit of its own program may be completed first.
        let may_be_late = event.appends.is_empty() && clock.is_shared();
        event.ordered = thread::current().id() != caller && !may_be_late;
        let _ = sender.send(event);
    });
    answered
}

impl Work {
    fn run(&self, tx: &TransactionContext, event: &mut Event) -> Result<()> {
        *event = Event::default();
        let mut changed = HashSet::new();
        for (register, write) in &self.steps {
            let reading = read(tx, *register)?;
            if changed.contains(register) {
                // A transaction reads its own append.
                assert_eq!(reading.list.last(), Some(&self.id));
                continue;
            }
            event.reads.push(reading.clone());
            if *write {
                append(tx, &reading, self.id)?;
                changed.insert(*register);
                event.appends.push(*register);
            }
        }
        match (self.ending, self.steps.first()) {
            (0, _) => Err(dflat::Error::user(std::fmt::Error)),
            (1, _) => {
                tx.abort();
                Ok(())
            }
            (3, _) if self.id.is_multiple_of(4) => {
                // A handler that keeps its group waiting, and is written again if it has written.
                thread::park_timeout(SLOW);
                Ok(())
            }
            (2, Some((register, _))) => {
                // A conflict leaves the transaction usable.
                let error = create(tx, *register).unwrap_err();
                let is_conflict = error.kind() == ErrorKind::AlreadyExists;
                let may_be_other =
                    self.is_disturbed || self.is_shared && error.kind() == ErrorKind::Busy;
                if !is_conflict && may_be_other {
                    return Err(error);
                }
                assert!(is_conflict, "{error:?}");
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Reads all lists in a snapshot, or by single fetches in the order of a transaction.
fn look(recorder: &Recorder<'_>, random: &mut Random, id: u64) -> Event {
    let called = recorder.clock.now();
    let mut registers: Vec<Register> = registers().collect();
    registers.rotate_left(random.below(KINDS * KEYS));
    let reads = look_at(recorder.workspace, registers);
    assert!(
        reads.is_ok() || recorder.is_disturbed,
        "{:?}",
        reads.unwrap_err()
    );
    Event {
        id,
        called,
        answered: recorder.clock.now(),
        committed: reads.is_ok(),
        reads: reads.unwrap_or_default(),
        ..Event::default()
    }
}

fn look_at(workspace: &Workspace, registers: Vec<Register>) -> Result<Vec<Reading>> {
    let snapshot = workspace.snapshot()?;
    let reads = registers.into_iter().map(|register| {
        let text = match register.kind {
            0 => text_of(snapshot.get::<Item>(&name(register))?),
            1 => text_of(snapshot.get::<Other>(number(register))?),
            _ => text_of(snapshot.get::<Keyed>(keyed(register))?),
        };
        Ok(reading(register, &text))
    });
    reads.collect()
}

fn registers() -> impl Iterator<Item = Register> {
    (0..KINDS).flat_map(|kind| (0..KEYS).map(move |key| Register { kind, key }))
}

fn tables(kinds: impl IntoIterator<Item = usize>) -> Vec<Table> {
    let all = [Item::TABLE, Other::TABLE, Keyed::TABLE];
    kinds.into_iter().map(|kind| all[kind].clone()).collect()
}

fn name(register: Register) -> String {
    register.key.to_string()
}

fn number(register: Register) -> i32 {
    i32::try_from(register.key).unwrap()
}

fn keyed(register: Register) -> (&'static str, u64, bool) {
    ("zone", register.key as u64, false)
}

/// An object that holds a list, as text.
trait Holder {
    fn text(&self) -> Option<&str>;
}

impl Holder for Item {
    fn text(&self) -> Option<&str> {
        self.name()
    }
}

impl Holder for Other {
    fn text(&self) -> Option<&str> {
        self.note()
    }
}

impl Holder for Keyed {
    fn text(&self) -> Option<&str> {
        Self::text(self)
    }
}

fn text_of(holder: Option<impl Holder>) -> String {
    holder.unwrap().text().unwrap_or_default().to_owned()
}

fn reading(register: Register, text: &str) -> Reading {
    let numbers = text.split_whitespace();
    let list = numbers.map(|number| number.parse().unwrap()).collect();
    Reading { register, list }
}

fn read(tx: &TransactionContext, register: Register) -> Result<Reading> {
    let text = match register.kind {
        0 => text_of(tx.get::<Item>(&name(register))?),
        1 => text_of(tx.get::<Other>(number(register))?),
        _ => text_of(tx.get::<Keyed>(keyed(register))?),
    };
    Ok(reading(register, &text))
}

fn append(tx: &TransactionContext, reading: &Reading, id: u64) -> Result<()> {
    let mut numbers: Vec<String> = reading.list.iter().map(u64::to_string).collect();
    numbers.push(id.to_string());
    let text = Some(numbers.join(" "));
    let register = reading.register;
    match register.kind {
        0 => {
            let object = tx.get::<Item>(&name(register))?.unwrap();
            let mut change = ItemChangeRequest::change(tx, &object)?.unwrap();
            change.name = text;
            tx.submit(change).map(drop)
        }
        1 => {
            let object = tx.get::<Other>(number(register))?.unwrap();
            let mut change = OtherChangeRequest::change(tx, &object)?.unwrap();
            change.note = text;
            tx.submit(change).map(drop)
        }
        _ => {
            let object = tx.get::<Keyed>(keyed(register))?.unwrap();
            let mut change = KeyedChangeRequest::change(tx, &object)?.unwrap();
            change.text = text;
            tx.submit(change).map(drop)
        }
    }
}

fn create(tx: &TransactionContext, register: Register) -> Result<()> {
    match register.kind {
        0 => {
            let id = name(register);
            let data = ItemData {
                id,
                ..ItemData::default()
            };
            tx.submit(ItemChangeRequest::creation(data)).map(drop)
        }
        1 => {
            let (id, note) = (number(register), None);
            tx.submit(OtherChangeRequest::creation(OtherData { id, note }))
                .map(drop)
        }
        _ => {
            let (zone, number, open) = keyed(register);
            let (zone, text) = (zone.to_owned(), None);
            let data = KeyedData {
                zone,
                number,
                open,
                text,
            };
            tx.submit(KeyedChangeRequest::creation(data)).map(drop)
        }
    }
}

/// Creates all objects, with empty lists.
pub fn fill(workspace: &Workspace) {
    let filled = workspace.perform_changes(tables(0..KINDS), |tx| {
        registers().try_for_each(|register| create(tx, register))
    });
    filled.wait().unwrap();
}

/// Subscribes to every register.
fn subscribe(
    workspace: &Workspace,
    clock: &Clock,
    deliveries: &Arc<Mutex<Vec<Delivery>>>,
) -> Vec<Subscription> {
    let subscriptions = registers().map(|register| {
        let (clock, deliveries) = (clock.clone(), Arc::clone(deliveries));
        let sender = move |text: Option<&str>| {
            let reading = reading(register, text.unwrap_or_default());
            let mut deliveries = deliveries.lock().unwrap();
            let moment = clock.now();
            deliveries.push(Delivery { moment, reading });
        };
        match register.kind {
            0 => observe(workspace, workspace.get::<Item>(&name(register)), sender),
            1 => observe(workspace, workspace.get::<Other>(number(register)), sender),
            _ => observe(workspace, workspace.get::<Keyed>(keyed(register)), sender),
        }
    });
    let subscriptions = subscriptions.collect();
    // A subscription takes its turn, so it is registered when a later empty transaction has ended.
    let turn = workspace.perform_changes(tables(0..KINDS), |_| Ok(()));
    turn.wait().unwrap();
    subscriptions
}

fn observe<T: dflat::Object + Holder>(
    workspace: &Workspace,
    found: Result<Option<T>>,
    sender: impl Fn(Option<&str>) + Send + 'static,
) -> Subscription
where
    for<'a> &'a T: dflat::Observable<Delivery = SubscribedObject<T>>,
{
    let object = found.unwrap().unwrap();
    let answered = move |event: SubscribedObject<T>| {
        if let SubscribedObject::Updated(object) = event {
            sender(object.text());
        }
    };
    workspace.subscribe(&object, answered).unwrap()
}
