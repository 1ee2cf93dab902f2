//! Two engines on one file, as two processes have them: the deliveries of each equal those of the
//! other, because each follows the commits of the other by their records.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dflat::{
    Error, ErrorKind, Fetch, Object, Result, SubscribedObject, Subscription, TransactionContext,
    TransactionHandle, Update, Workspace,
};
use dflat_engine::engine::EngineOptions;
use dflat_engine::storage::Backend;
use dflat_sqlite::{Reclaim, SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::bounded;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{
    Item, ItemChangeRequest, ItemData, Other, OtherChangeRequest, OtherData,
};

/// The number of random transactions of a seed.
const TRANSACTIONS: usize = 40;

/// The deliveries to one subscriber, as text.
pub(super) type Log = Arc<Mutex<Vec<String>>>;

/// A backend whose commits write records.
pub(crate) fn recorded(path: &Path) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        change_log: true,
        // Space is given back in commits without records.
        reclaim: Reclaim::Never,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

/// An engine on a file, with subscriptions.
pub(super) struct Process {
    pub(super) workspace: Workspace,
    /// Each subscription with its deliveries.
    pub(super) subscriptions: Vec<(Subscription, Log)>,
}

impl Process {
    pub(super) fn new(path: &Path, engine: EngineOptions) -> Self {
        Self::on(recorded(path), engine)
    }

    pub(super) fn on(backend: Arc<dyn Backend>, engine: EngineOptions) -> Self {
        Self {
            workspace: Workspace::on_backend(backend, engine),
            subscriptions: Vec::new(),
        }
    }

    pub(super) fn subscribe<T: Object>(
        &mut self,
        fetch: impl for<'w> Fn(&'w Workspace) -> Fetch<'w, T>,
    ) where
        T::Data: std::fmt::Debug,
    {
        let log = Log::default();
        let noted = Arc::clone(&log);
        let subscription = self
            .workspace
            .subscribe(fetch(&self.workspace), move |update| {
                let update = update.unwrap();
                let objects = update.result().iter();
                let objects: Vec<_> = objects.map(|o| (o.row_id(), o.to_data())).collect();
                let delivery = format!("{:?} {objects:?}", update.difference());
                noted.lock().unwrap().push(delivery);
            });
        self.subscriptions.push((subscription.unwrap(), log));
    }

    fn subscribe_all(&mut self) {
        self.subscribe(|w| w.fetch::<Item>());
        self.subscribe(|w| {
            let items = w.fetch::<Item>().filter(Item::RANK.gt(5));
            items.order_by(Item::NAME.descending())
        });
        self.subscribe(|w| w.fetch::<Item>().filter(Item::CODE.eq("code 3")));
        self.subscribe(|w| w.fetch::<Other>());
        // There are never more objects than these live results hold, so no window is fetched
        // again, which may be as of a later commit.
        self.subscribe(|w| w.fetch::<Item>().limit(8));
        self.subscribe(|w| w.fetch::<Item>().offset(2));
        self.subscribe(|w| {
            let items = w.fetch::<Item>().order_by(Item::RANK.ascending());
            items.offset(1).limit(8)
        });
        self.subscribe(|w| {
            let items = w.fetch::<Item>().filter(Item::RANK.lt(9));
            items.order_by(Item::NAME.descending()).offset(3).limit(7)
        });
        let log = Log::default();
        let noted = Arc::clone(&log);
        let count = self.workspace.fetch::<Item>().filter(Item::RANK.lt(8));
        let subscription = self.workspace.subscribe(count.live_count(), move |count| {
            noted.lock().unwrap().push(format!("{:?}", count.unwrap()));
        });
        self.subscriptions.push((subscription.unwrap(), log));
        let items = || self.workspace.fetch::<Item>();
        let log = Log::default();
        let noted = Arc::clone(&log);
        let groups = items().group_by(Item::RANK);
        let subscription = self.workspace.subscribe(groups, move |groups| {
            noted.lock().unwrap().push(format!("{:?}", groups.unwrap()));
        });
        self.subscriptions.push((subscription.unwrap(), log));
        let log = Log::default();
        let noted = Arc::clone(&log);
        let ranks = items().filter(Item::RANK.gt(2)).live_select(Item::RANK);
        let subscription =
            self.workspace
                .subscribe(ranks, move |update: Result<Update<Arc<[i32]>>>| {
                    let update = update.unwrap();
                    let delivery = format!("{:?} {:?}", update.difference(), update.result());
                    noted.lock().unwrap().push(delivery);
                });
        self.subscriptions.push((subscription.unwrap(), log));
    }

    /// Subscribes to each object that exists.
    fn subscribe_objects(&mut self) {
        for item in self.workspace.fetch::<Item>().all().unwrap().iter() {
            let log = Log::default();
            let noted = Arc::clone(&log);
            let subscription = self.workspace.subscribe(item, move |event| {
                let event = match event {
                    SubscribedObject::Updated(item) => format!("{:?}", item.to_data()),
                    SubscribedObject::Deleted => "deleted".to_owned(),
                };
                noted.lock().unwrap().push(event);
            });
            self.subscriptions.push((subscription.unwrap(), log));
        }
    }

    /// Delivers everything that was committed.
    pub(super) fn catch_up(&self) {
        self.workspace.refresh().unwrap();
        self.workspace.settle().unwrap();
    }

    pub(super) fn logs(&self) -> Vec<Vec<String>> {
        for (subscription, _) in &self.subscriptions {
            assert!(subscription.error().is_none(), "{:?}", subscription.error());
        }
        let logs = self.subscriptions.iter();
        logs.map(|(_, log)| log.lock().unwrap().clone()).collect()
    }

    fn begin(&self, random: &mut Random) -> TransactionHandle<()> {
        let mut random = Random::new(random.number());
        let tables = [Item::TABLE, Other::TABLE];
        self.workspace
            .perform_changes(tables, move |tx| transaction(tx, &mut random))
    }
}

fn item(random: &mut Random) -> String {
    format!("item {}", random.below(12))
}

fn code(random: &mut Random) -> Option<String> {
    random
        .one_in(2)
        .then(|| format!("code {}", random.below(6)))
}

/// A random change. A conflict changes nothing.
fn change(tx: &TransactionContext, random: &mut Random) -> Result<()> {
    let id = item(random);
    let changed = match (random.below(8), tx.get::<Item>(id.as_str())?) {
        (0, _) => {
            let id = random.below(8) as i32;
            match tx.get::<Other>(id)? {
                Some(other) => OtherChangeRequest::deletion(tx, &other)?
                    .map_or(Ok(()), |request| tx.submit(request).map(drop)),
                None => {
                    let note = Some("n".repeat(random.below(60)));
                    let data = OtherData { id, note };
                    tx.submit(OtherChangeRequest::creation(data)).map(drop)
                }
            }
        }
        (1, Some(item)) => ItemChangeRequest::deletion(tx, &item)?
            .map_or(Ok(()), |request| tx.submit(request).map(drop)),
        // A unique value moves from one object to another.
        (2, Some(item)) if item.code().is_some() => {
            let code = item.code().map(str::to_owned);
            let taker = tx
                .fetch::<Item>()
                .filter(Item::ID.ne(id.as_str()))
                .first()?;
            if let Some(mut request) = ItemChangeRequest::change(tx, &item)? {
                request.code = None;
                tx.submit(request)?;
            }
            match taker {
                Some(taker) => {
                    let Some(mut request) = ItemChangeRequest::change(tx, &taker)? else {
                        return Ok(());
                    };
                    request.code = code;
                    tx.submit(request).map(drop)
                }
                None => Ok(()),
            }
        }
        (_, Some(item)) => {
            let Some(mut request) = ItemChangeRequest::change(tx, &item)? else {
                return Ok(());
            };
            request.rank = random.below(12) as i32;
            if random.one_in(3) {
                request.name = Some("x".repeat(random.below(40)));
            }
            if random.one_in(4) {
                request.code = code(random);
            }
            tx.submit(request).map(drop)
        }
        (_, None) => {
            let data = ItemData {
                id,
                rank: random.below(12) as i32,
                code: code(random),
                nick: Some("nick".repeat(random.below(30))),
                ..ItemData::default()
            };
            tx.submit(ItemChangeRequest::creation(data)).map(drop)
        }
    };
    match changed {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn transaction(tx: &TransactionContext, random: &mut Random) -> Result<()> {
    for _ in 0..random.below(5) {
        if random.one_in(4) {
            let is_undone = random.one_in(2);
            let nested = tx.nested(|tx| {
                for _ in 0..random.below(4) {
                    change(tx, random)?;
                }
                match is_undone {
                    true => Err(Error::new(ErrorKind::User, "undone")),
                    false => Ok(()),
                }
            });
            assert!(nested.is_ok() || is_undone, "{nested:?}");
        } else {
            change(tx, random)?;
        }
    }
    Ok(())
}

/// Compares the deliveries of both engines, and the latest results with new fetches.
fn check(seed: u64, processes: &[Process; 2]) {
    processes.iter().for_each(Process::catch_up);
    let [first, second] = [processes[0].logs(), processes[1].logs()];
    for (at, (first, second)) in first.iter().zip(&second).enumerate() {
        for (delivery, (first, second)) in first.iter().zip(second).enumerate() {
            assert_eq!(
                first, second,
                "seed {seed}, subscription {at}, delivery {delivery}"
            );
        }
        let lengths = (first.len(), second.len());
        assert_eq!(lengths.0, lengths.1, "seed {seed}, subscription {at}");
    }
    for process in processes {
        let all = process.workspace.fetch::<Item>().all().unwrap();
        let fresh: Vec<_> = all.iter().map(|o| (o.row_id(), o.to_data())).collect();
        let logs = process.logs();
        let latest = logs[0].last().unwrap();
        assert!(latest.ends_with(&format!(" {fresh:?}")), "seed {seed}");
        let stats = process.workspace.stats();
        assert_eq!(stats.renewals, 0, "seed {seed}: nothing is read again");
        assert!(stats.followed_commits > 0, "seed {seed}");
    }
}

fn run_seed(seed: u64) {
    let mut random = Random::new(seed);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.db");
    // However slow the machine is, no delivery is merged with another one.
    let patient = EngineOptions {
        patience: Duration::from_secs(300),
        ..EngineOptions::default()
    };
    let mut processes = [(); 2].map(|()| Process::new(&path, patient.clone()));
    // The tables and indexes exist before the first subscription.
    for (id, process) in (100..).zip(&processes) {
        let created = process
            .workspace
            .perform_changes([Item::TABLE, Other::TABLE], move |tx| {
                let data = OtherData { id, note: None };
                tx.submit(OtherChangeRequest::creation(data))?;
                let data = ItemData {
                    id: format!("item {id}"),
                    ..ItemData::default()
                };
                tx.submit(ItemChangeRequest::creation(data)).map(drop)
            });
        created.wait().unwrap();
        process.workspace.settle().unwrap();
    }
    for process in &mut processes {
        process.subscribe_all();
        process.workspace.settle().unwrap();
    }
    for round in 0..TRANSACTIONS {
        if round == TRANSACTIONS / 2 {
            check(seed, &processes);
            for process in &mut processes {
                process.subscribe_objects();
            }
            processes.iter().for_each(Process::catch_up);
        }
        let process = random.pick(&processes);
        // Several in the queue share a commit.
        let queued = 1 + random.below(3) * random.below(2);
        let handles: Vec<_> = (0..queued).map(|_| process.begin(&mut random)).collect();
        for handle in handles {
            match handle.wait() {
                Err(error) if error.kind() == ErrorKind::Busy => {}
                outcome => outcome.unwrap(),
            }
        }
        if random.one_in(4) {
            random.pick(&processes).workspace.refresh().unwrap();
        }
    }
    check(seed, &processes);
}

// Promise: live-queries#L61
#[test]
fn deliveries_of_two_engines_on_one_file_are_equal() {
    bounded(|| (1..=12).for_each(run_seed));
}

// Promise: live-queries#L61
#[test]
fn import_of_another_engine_is_delivered_as_one_commit() {
    bounded(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let [writer, mut reader] = [(); 2].map(|()| Process::new(&path, EngineOptions::default()));
        let insert = |range: std::ops::Range<i32>| {
            let import = writer.workspace.perform_changes([Other::TABLE], move |tx| {
                range.into_iter().try_for_each(|id| {
                    let note = Some(format!("note {id}"));
                    let data = OtherData { id, note };
                    tx.submit(OtherChangeRequest::creation(data)).map(drop)
                })
            });
            import.wait().unwrap();
        };
        insert(0..1);
        reader.subscribe(|w| w.fetch::<Other>());
        reader.workspace.settle().unwrap();
        // Too many rows for a list, without a subscriber in the writing engine.
        insert(1..3_000);
        reader.catch_up();
        let logs = reader.logs();
        assert_eq!(logs[0].len(), 2, "the first result, and one delivery");
        let all = reader.workspace.fetch::<Other>().all().unwrap();
        let fresh: Vec<_> = all.iter().map(|o| (o.row_id(), o.to_data())).collect();
        assert!(logs[0][1].ends_with(&format!(" {fresh:?}")));
        assert_eq!(reader.workspace.stats().renewals, 0);
    });
}
