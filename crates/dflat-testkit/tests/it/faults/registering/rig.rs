//! A workspace whose system can lack file descriptors, and subscriptions of all kinds.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dflat::{
    Error, ErrorKind, FetchedResult, Group, Result, SubscribedObject, Subscription, Table, Update,
    Workspace,
};
use dflat_engine::engine::EngineOptions;
use dflat_engine::storage::{
    Backend, CloseOptions, Durability, Indexes, Looked, MemoryBackend, Records, Row, ScanPlan,
    Snapshot, StateId, View, WriteTransaction,
};
use dflat_testkit::schema::{Item, ItemChangeRequest, ItemData};

use crate::other_programs::two_engines::recorded;

/// A backend that lacks file descriptors while `left` is zero: a snapshot takes one of them.
pub(super) struct Short {
    inner: Arc<dyn Backend>,
    left: Arc<AtomicUsize>,
    /// Whether reads of rows fail.
    unreadable: Arc<AtomicBool>,
    follows: bool,
}

impl Backend for Short {
    fn snapshot(self: Arc<Self>, view: View) -> Result<Box<dyn Snapshot>> {
        let one_less = |left: usize| left.checked_sub(1);
        let taken = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
        match taken {
            Ok(_) => Ok(Box::new(ShortSnapshot {
                inner: Arc::clone(&self.inner).snapshot(view)?,
                unreadable: Arc::clone(&self.unreadable),
            })),
            Err(_) => Err(Error::new(ErrorKind::Io, "too many open files")),
        }
    }

    fn begin(self: Arc<Self>, durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        Arc::clone(&self.inner).begin(durability)
    }

    fn follow(&self, look: Arc<dyn Fn() -> Looked + Send + Sync>) {
        if self.follows {
            self.inner.follow(look);
        }
    }

    fn close(&self, options: CloseOptions) -> Result<()> {
        self.inner.close(options)
    }
}

struct ShortSnapshot {
    inner: Box<dyn Snapshot>,
    unreadable: Arc<AtomicBool>,
}

impl Snapshot for ShortSnapshot {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        if self.unreadable.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Io, "a read has failed"));
        }
        self.inner.scan(plan, visit)
    }

    fn pin(&mut self) -> Result<StateId> {
        self.inner.pin()
    }

    fn is_overtaken(&self, since: StateId) -> bool {
        self.inner.is_overtaken(since)
    }

    fn records(
        &mut self,
        since: StateId,
        visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Records> {
        self.inner.records(since, visit)
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        self.inner.indexes(table)
    }
}

/// The deliveries to a subscriber, as text.
pub(super) type Log = Arc<Mutex<Vec<String>>>;

/// Notes a delivery.
pub(super) fn note<T>(
    log: &Mutex<Vec<String>>,
    delivery: Result<T>,
    text: impl FnOnce(T) -> String,
) {
    let text = delivery.map_or_else(|error| format!("{:?}", error.kind()), text);
    log.lock().unwrap().push(text);
}

pub(super) fn shown(item: &Item) -> String {
    format!("{}{}", item.id(), item.rank())
}

pub(super) fn all(items: &[Item]) -> String {
    items.iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// The states that subscribers know before the system lacks something.
pub(super) struct Known {
    pub(super) all: FetchedResult<Item>,
    pub(super) a: Item,
    /// The object, of another engine.
    pub(super) other: Item,
}

/// Subscribes, and notes the deliveries.
pub(super) type Start = fn(&Workspace, &Known, Log) -> Subscription;

pub(super) fn query(w: &Workspace, _: &Known, log: Log) -> Subscription {
    let show = move |update| note(&log, update, |items: Update<FetchedResult<_>>| all(&items));
    w.subscribe(w.fetch::<Item>(), show).unwrap()
}

pub(super) fn result(w: &Workspace, known: &Known, log: Log) -> Subscription {
    let show = move |update| {
        note(&log, update, |update: Update<FetchedResult<_>>| {
            let difference = update.difference();
            let [inserted, updated, deleted] = [
                difference.inserted().len(),
                difference.updated().len(),
                difference.deleted().len(),
            ];
            let before = update.previous().map_or(0, |items| items.len());
            format!(
                "{} from {before}: +{inserted} ~{updated} -{deleted}",
                all(&update)
            )
        });
    };
    w.subscribe(&known.all, show).unwrap()
}

pub(super) fn empty_window(w: &Workspace, _: &Known, log: Log) -> Subscription {
    let show = move |update| note(&log, update, |items: Update<FetchedResult<_>>| all(&items));
    w.subscribe(w.fetch::<Item>().limit(0), show).unwrap()
}

pub(super) fn count(w: &Workspace, _: &Known, log: Log) -> Subscription {
    let show = move |count| note(&log, count, |count: usize| count.to_string());
    w.subscribe(w.fetch::<Item>().live_count(), show).unwrap()
}

pub(super) fn groups(w: &Workspace, _: &Known, log: Log) -> Subscription {
    let show = move |groups| {
        note(&log, groups, |groups: Arc<[Group<i32, ()>]>| {
            let groups = groups.iter();
            let groups = groups.map(|group| format!("{}:{}", group.key.unwrap(), group.count));
            groups.collect::<Vec<_>>().join(" ")
        });
    };
    w.subscribe(w.fetch::<Item>().group_by(Item::RANK), show)
        .unwrap()
}

pub(super) fn projection(w: &Workspace, _: &Known, log: Log) -> Subscription {
    let show = move |ranks| {
        note(&log, ranks, |ranks: Update<Arc<[i32]>>| {
            format!("{:?}", &*ranks)
        })
    };
    w.subscribe(w.fetch::<Item>().live_select(Item::RANK), show)
        .unwrap()
}

pub(super) fn object_of(w: &Workspace, object: &Item, log: Log) -> Subscription {
    let show = move |change| {
        let text = match change {
            SubscribedObject::Updated(item) => shown(&item),
            SubscribedObject::Deleted => "deleted".to_owned(),
        };
        log.lock().unwrap().push(text);
    };
    w.subscribe(object, show).unwrap()
}

pub(super) fn object(w: &Workspace, known: &Known, log: Log) -> Subscription {
    object_of(w, &known.a, log)
}

pub(super) fn object_of_another_engine(w: &Workspace, known: &Known, log: Log) -> Subscription {
    object_of(w, &known.other, log)
}

/// All kinds of subscriptions.
pub(super) const KINDS: [Start; 8] = [
    query,
    result,
    empty_window,
    count,
    groups,
    projection,
    object,
    object_of_another_engine,
];

pub(super) fn put(w: &Workspace, items: &[(&'static str, i32)]) {
    let items = items.to_vec();
    let put = w.write_first().perform_changes([Item::TABLE], move |tx| {
        items.into_iter().try_for_each(|(id, rank)| {
            let data = ItemData {
                id: id.to_owned(),
                rank,
                ..ItemData::default()
            };
            tx.submit(ItemChangeRequest::upsert(data)).map(drop)
        })
    });
    put.wait().unwrap();
}

pub(super) fn delete(w: &Workspace, id: &'static str) {
    let deleted = w
        .write_first()
        .perform_changes([Item::TABLE], move |tx| tx.delete_where(Item::ID.eq(id)));
    deleted.wait().unwrap();
}

/// A workspace whose system can lack file descriptors, and another one on the same data.
pub(super) struct Rig {
    // Order: the workspaces are dropped before their directory.
    pub(super) workspace: Workspace,
    pub(super) beside: Workspace,
    left: Arc<AtomicUsize>,
    pub(super) unreadable: Arc<AtomicBool>,
    pub(super) known: Known,
    directory: Option<tempfile::TempDir>,
}

impl Rig {
    /// The workspaces, with the items a and b; a has changed since it was known.
    pub(super) fn on(inner: Arc<dyn Backend>, beside: Arc<dyn Backend>, follows: bool) -> Self {
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let unreadable = Arc::new(AtomicBool::new(false));
        let short = Short {
            inner,
            left: Arc::clone(&left),
            unreadable: Arc::clone(&unreadable),
            follows,
        };
        let workspace = Workspace::on_backend(Arc::new(short), EngineOptions::default());
        let beside = Workspace::on_backend(beside, EngineOptions::default());
        put(&workspace, &[("a", 0)]);
        // The row id differs there.
        let elsewhere = Workspace::in_memory();
        put(&elsewhere, &[("z", 0), ("y", 0), ("a", 0)]);
        workspace.indexes_ready().wait().unwrap();
        let known = Known {
            all: workspace.fetch::<Item>().all().unwrap(),
            a: workspace.get::<Item>("a").unwrap().unwrap(),
            other: elsewhere.get::<Item>("a").unwrap().unwrap(),
        };
        put(&workspace, &[("a", 1), ("b", 0)]);
        Self {
            workspace,
            beside,
            left,
            unreadable,
            known,
            directory: None,
        }
    }

    pub(super) fn memory() -> Self {
        let inner: Arc<dyn Backend> = MemoryBackend::new();
        Self::on(Arc::clone(&inner), inner, false)
    }

    pub(super) fn sqlite(follows: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let mut rig = Self::on(recorded(&path), recorded(&path), follows);
        rig.directory = Some(directory);
        rig
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.as_ref().unwrap().path().join("test.db")
    }

    pub(super) fn break_after(&self, snapshots: usize) {
        self.left.store(snapshots, Ordering::SeqCst);
    }

    pub(super) fn heal(&self) {
        self.break_after(usize::MAX);
    }

    /// Subscribes while no snapshot can be opened.
    pub(super) fn subscribe(&self, start: Start) -> (Subscription, Log) {
        self.break_after(0);
        self.subscribe_now(start)
    }

    pub(super) fn subscribe_now(&self, start: Start) -> (Subscription, Log) {
        let log = Log::default();
        let subscription = start(&self.workspace, &self.known, Arc::clone(&log));
        self.workspace.settle().unwrap();
        (subscription, log)
    }

    /// The deliveries since the last call.
    pub(super) fn delivered(&self, log: &Log) -> Vec<String> {
        self.workspace.settle().unwrap();
        std::mem::take(&mut *log.lock().unwrap())
    }

    /// Another subscription, from which on the workspace follows commits of other programs.
    pub(super) fn stand(&self) -> (Subscription, Log) {
        self.subscribe_now(count)
    }
}
