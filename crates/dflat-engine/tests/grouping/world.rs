//! The write path without the engine above it, and counters that transactions raise.

use std::sync::OnceLock;

use dflat_model::{CommitSeq, Table, Value, ValueRef};
use dflat_schema::{MemoryLoader, Options, compile, describe};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;

use crate::change_set::{ChangeSet, Completion, Ended};
use crate::delivery::{Calls, Deliver, Deliveries, UNMATCHED_MAX};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch;
use crate::object::{Object, Origin, TableView, Writer};
use crate::storage::{Backend, CloseOptions, MemoryBackend, View, WriteTransaction};
use crate::telemetry::{Telemetry, Thresholds};
use crate::transaction::{
    Change, Concurrency, Groups, Indexer, Outlet, Recording, Scheduler, Transaction,
};

/// An event of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    /// A commit took a table's counter from one value to another.
    Delivered(CommitSeq, char, i64, i64),
    /// A transaction's completion was called with its outcome. `stored` is the table's counter at
    /// that time.
    Ended {
        name: char,
        went_well: bool,
        stored: i64,
    },
    /// A registration took its turn on a table and read this counter.
    Registered(i64),
}

/// The write path.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) groups: Groups,
    deliveries: Arc<Deliveries>,
    scheduler: Arc<Scheduler>,
    backend: Arc<dyn Backend>,
    log: Arc<Log>,
}

/// The events of a run, in order.
#[derive(Default)]
struct Log {
    events: Mutex<Vec<Event>>,
    grown: Condvar,
}

impl Log {
    fn push(&self, event: Event) {
        self.events.lock().unwrap().push(event);
        self.grown.notify_all();
    }
}

/// Records each delivered change.
struct Deliverer(Arc<Log>);

impl Deliver for Deliverer {
    fn publish(&self, changes: &ChangeSet) -> Option<Arc<dyn Calls>> {
        for table in &changes.tables {
            let name = table.table.type_name.chars().next().unwrap();
            for (_, change) in &table.rows {
                let (before, after) = (count_of(&change.before), count_of(&change.after));
                self.0
                    .push(Event::Delivered(changes.seq, name, before, after));
            }
        }
        None
    }

    fn renew(&self) -> Option<Arc<dyn Calls>> {
        panic!("nobody else writes");
    }

    fn is_observed(&self, _: &Table) -> bool {
        false
    }

    fn complete(&self, outcome: Result<()>, completion: Completion) {
        completion.complete(outcome);
    }
}

/// Carries transactions that have ended to the deliveries, as the engine does.
struct ToDeliveries(Arc<Deliveries>);

impl Outlet for ToDeliveries {
    fn push(&self, ended: &mut dyn Iterator<Item = Ended>) {
        self.0.push(ended);
    }

    fn catch_up(&self, _: &mut dyn WriteTransaction, is_foreign: bool) -> bool {
        assert!(!is_foreign, "no other program writes");
        false
    }

    fn is_observed(&self, table: &Table) -> bool {
        self.0.is_observed(table)
    }

    fn may_be_observed(&self, table: &Table) -> bool {
        self.0.may_be_observed(table)
    }

    fn hand_over(&self) {
        self.0.hand_over();
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let backend: Arc<dyn Backend> = MemoryBackend::new();
        let log = Arc::new(Log::default());
        let deliver = Box::new(Deliverer(Arc::clone(&log)));
        let patience = std::time::Duration::MAX;
        let deliveries = Arc::new(Deliveries::new(deliver, patience, UNMATCHED_MAX));
        let groups = Groups::new(
            Indexer::new(Arc::clone(&backend), 1, false),
            Arc::default(),
            Arc::default(),
            Arc::new(Telemetry::new(Thresholds::default())),
            Box::new(ToDeliveries(Arc::clone(&deliveries))),
            (Recording::default(), None),
        );
        let (settling, delivering) = (groups.clone(), Arc::clone(&deliveries));
        let after_job = Box::new(move |more| {
            let undelivered = settling.settle(more);
            if !more {
                delivering.drain();
            } else if undelivered {
                delivering.hand_over();
            }
            delivering.hold();
        });
        let scheduler = Scheduler::new(Concurrency::MultiWriter, 4, after_job);
        Self {
            groups,
            deliveries,
            scheduler: Arc::new(scheduler),
            backend,
            log,
        }
    }

    /// Queues a transaction over tables; its end is recorded under its name.
    pub(crate) fn perform(
        &self,
        name: char,
        tables: &'static [char],
        handler: impl FnOnce(&Transaction) -> Result<()> + Send + 'static,
    ) {
        let world = self.clone();
        let job = Box::new(move || {
            let declared = tables.iter().map(|name| table(*name).clone()).collect();
            let transaction = Transaction::new(world.groups.clone(), declared);
            let handled = handler(&transaction);
            let (log, backend) = (Arc::clone(&world.log), Arc::clone(&world.backend));
            let completion = Box::new(move |outcome: Result<()>| {
                let went_well = outcome.is_ok();
                let stored = stored(&backend, tables[0]);
                log.push(Event::Ended {
                    name,
                    went_well,
                    stored,
                });
            });
            transaction.finish(handled, completion);
        });
        let names = tables.iter().map(|name| table(*name).name.as_ref());
        self.scheduler.enqueue(names, job).unwrap();
    }

    /// Takes a turn on a table, reads the stored counter, and queues a registration among the
    /// deliveries.
    pub(crate) fn register(&self, name: char) {
        let world = self.clone();
        let job = Box::new(move || {
            world.groups.flush(table(name));
            let seen = stored(&world.backend, name);
            let log = Arc::clone(&world.log);
            world.deliveries.register(
                Box::new(move || {
                    log.push(Event::Registered(seen));
                    None
                }),
                world.deliveries.renewals(),
            );
            world.deliveries.hand_over();
        });
        self.scheduler
            .enqueue([table(name).name.as_ref()], job)
            .unwrap();
    }

    /// Waits until a transaction's completion was called.
    pub(crate) fn wait_for(&self, name: char) {
        let is_missing = |events: &mut Vec<Event>| {
            let ended = |event: &Event| matches!(event, Event::Ended { name: n, .. } if *n == name);
            !events.iter().any(ended)
        };
        let events = self.log.events.lock().unwrap();
        drop(self.log.grown.wait_while(events, is_missing).unwrap());
    }

    /// Shuts everything down, checks the events and returns them.
    pub(crate) fn close(self) -> Vec<Event> {
        self.scheduler.close();
        self.groups.flush_all();
        self.deliveries.wait();
        self.groups.close();
        self.deliveries.stop(true);
        let events = std::mem::take(&mut *self.log.events.lock().unwrap());
        check(&events);
        for name in ['A', 'B'] {
            assert_eq!(
                stored(&self.backend, name),
                delivered(&events, name),
                "{events:?}"
            );
        }
        self.backend.close(CloseOptions::default()).unwrap();
        events
    }
}

/// Checks the guarantees that hold in every order of threads: commits are delivered in order, and
/// each delivered change of a counter starts from the value that the previous one delivered.
fn check(events: &[Event]) {
    let mut last = CommitSeq::default();
    for (at, event) in events.iter().enumerate() {
        let past = &events[..at];
        match event {
            Event::Delivered(seq, name, before, _) => {
                assert!(*seq >= last, "{events:?}");
                assert_eq!(*before, delivered(past, *name), "{events:?}");
                last = *seq;
            }
            Event::Ended { .. } | Event::Registered(_) => {}
        }
    }
}

/// The value of a table's counter after these deliveries.
pub(crate) fn delivered(events: &[Event], table: char) -> i64 {
    let last = events.iter().rev().find_map(|event| match event {
        Event::Delivered(_, name, _, after) if *name == table => Some(*after),
        _ => None,
    });
    last.unwrap_or(0)
}

/// The value of a table's counter in the latest commit.
fn stored(backend: &Arc<dyn Backend>, name: char) -> i64 {
    let mut snapshot = Arc::clone(backend).snapshot(View::Latest).unwrap();
    let found = fetch::get(
        snapshot.as_mut(),
        table(name),
        &[ValueRef::Int(1)],
        Origin::default(),
    );
    count_of(&found.unwrap())
}

/// The key of the counter that all transactions raise.
const KEY: [Value; 1] = [Value::Int(1)];

/// The tables `A` and `B`.
fn table(name: char) -> &'static Table {
    static TABLES: OnceLock<[Table; 2]> = OnceLock::new();
    let tables = TABLES.get_or_init(|| {
        ["A", "B"].map(|name| {
            let text =
                format!("table {name} {{ id: long (primary); count: long; }} root_type {name};");
            let loader = MemoryLoader::new().with_file("test.fbs", &text);
            let compilation = compile(&["test.fbs".to_owned()], &loader, &Options::default());
            let schema = compilation.schema.unwrap();
            let root = schema.files[0].root.unwrap();
            Table::new(describe(&schema, root))
        })
    });
    &tables[usize::from(name == 'B')]
}

fn count_of(object: &Option<Object>) -> i64 {
    object.as_ref().map_or(0, |object| {
        let root = TableView::root(object.payload()).unwrap();
        root.scalar(6).unwrap().unwrap_or(0)
    })
}

/// The value of a table's counter that a transaction reads.
pub(crate) fn read(tx: &Transaction, name: char) -> Result<i64> {
    Ok(count_of(&tx.get(table(name), &KEY)?))
}

/// Raises a table's counter by one, and lets other threads run meanwhile. Returns the new value.
pub(crate) fn raise(tx: &Transaction, name: char) -> Result<i64> {
    let table = table(name);
    let found = tx.get(table, &KEY)?;
    thread::yield_now();
    let count = count_of(&found) + 1;
    let mut writer = Writer::new();
    let root = writer.begin();
    if writer.begin_table(root) {
        writer.scalar(6, count);
        writer.scalar(4, 1_i64);
        writer.end_table();
        writer.leave();
    }
    let payload = writer.finish()?;
    match found {
        None => tx.submit(table, Change::Create { payload })?,
        Some(object) => {
            let base = tx.latest(table, &object)?;
            let base = base.ok_or_else(|| Error::new(ErrorKind::NotFound, "it was deleted"))?;
            tx.submit(
                table,
                Change::Update {
                    base,
                    payload,
                    lacking: None,
                },
            )?
        }
    };
    thread::yield_now();
    Ok(count)
}
