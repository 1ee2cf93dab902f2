//! A stand-in for the engine below the dictionary, on a map. Each transaction runs on a thread of
//! its own, one after the other. Transactions are acknowledged in their order, while the next one
//! may run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use dflat_engine::change_set::ChangedKeys;
use dflat_engine::engine::HeldSubscription;
use dflat_engine::error::{Error, ErrorKind, Result};
use dflat_engine::object::TableView;
use dflat_engine::storage::Row;
use dflat_model::{Query, RowId, Table, Value};
use shuttle::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;

type Rows = BTreeMap<[String; 2], Vec<u8>>;

#[derive(Clone, Default)]
pub(crate) struct Engine(Arc<Store>);

#[derive(Default)]
struct Store {
    rows: Mutex<Rows>,
    turn: Mutex<()>,
    acknowledging: Mutex<()>,
    /// The number of rows that transactions have written.
    writes: AtomicUsize,
    /// The key that can't be written.
    refused: Mutex<Option<&'static str>>,
    /// The number of the next transactions that fail.
    failures: AtomicUsize,
    /// The number of the next transactions that another process overtakes.
    overtakings: AtomicUsize,
    /// Whether the handler of a transaction has run.
    has_run: Mutex<bool>,
    ran: Condvar,
    /// How often commits of other processes were noticed.
    notices: AtomicU64,
    /// The listener of the dictionary that was used first.
    listener: Mutex<Option<Listener>>,
}

type Listener = Arc<dyn Fn(&Engine, &ChangedKeys) + Send + Sync>;

#[derive(Default)]
pub(crate) struct PerformOptions(());

impl Engine {
    pub(crate) fn fail_next(&self) {
        self.0.failures.fetch_add(1, Ordering::SeqCst);
    }

    /// Makes each transaction fail that writes this key.
    pub(crate) fn refuse(&self, key: &'static str) {
        *self.0.refused.lock().unwrap() = Some(key);
    }

    /// How many rows transactions have written.
    pub(crate) fn writes(&self) -> usize {
        self.0.writes.load(Ordering::SeqCst)
    }

    pub(crate) fn overtake_next(&self) {
        self.0.overtakings.fetch_add(1, Ordering::SeqCst);
    }

    #[allow(clippy::unused_self, reason = "the engine has this form")]
    pub(crate) fn runs_again(&self, error: &Error, _: Instant) -> bool {
        error.kind() == ErrorKind::Busy
    }

    /// Waits until the handler of a transaction has run.
    pub(crate) fn wait_for_a_handler(&self) {
        let mut has_run = self.0.has_run.lock().unwrap();
        while !*has_run {
            has_run = self.0.ran.wait(has_run).unwrap();
        }
    }

    /// Notices a commit of another process, and returns the number of the notice.
    pub(crate) fn notice(&self) -> u64 {
        self.0.notices.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Tells the dictionary the keys that were changed by the commit of a notice.
    pub(crate) fn tell(&self, keys: &[&str], notice: u64) {
        let row = |key: &&str| vec![Value::text(key), Value::text("")];
        let keys = keys.iter().map(row).collect();
        let listener = self.0.listener.lock().unwrap().clone().unwrap();
        listener(self, &ChangedKeys::These { keys, notice });
    }

    /// A model has one engine, which all transactions belong to.
    #[allow(clippy::unused_self, reason = "the engine has this form")]
    pub(crate) const fn is_in_transaction(&self) -> bool {
        true
    }

    pub(crate) fn put(&self, payload: &[u8]) {
        let row = (key_in(payload), payload.to_vec());
        self.0.rows.lock().unwrap().extend([row]);
    }

    /// Another process writes a row between two transactions.
    pub(crate) fn commit_of_another(&self, payload: &[u8]) {
        let _turn = self.0.turn.lock().unwrap();
        self.put(payload);
    }

    pub(crate) fn row(&self, key: &str) -> Option<Vec<u8>> {
        let rows = self.0.rows.lock().unwrap();
        rows.get(&[key.to_owned(), String::new()]).cloned()
    }

    pub(crate) fn is_open(&self) -> bool {
        true
    }

    pub(crate) fn is_of_parent(&self) -> bool {
        false
    }

    pub(crate) fn hold(
        &self,
        _: std::fmt::Arguments<'_>,
        _: Box<dyn HeldSubscription>,
    ) -> Result<()> {
        Ok(())
    }

    pub(crate) fn admit_read(&self, _: std::fmt::Arguments<'_>) -> Result<()> {
        Ok(())
    }

    pub(crate) fn perform(
        &self,
        _: [Table; 1],
        _: PerformOptions,
        handler: impl FnOnce(&Rc<Transaction>) -> Result<()> + Send + 'static,
        completion: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        let store = Arc::clone(&self.0);
        thread::spawn(move || {
            let turn = store.turn.lock().unwrap();
            let rows = RefCell::new(store.rows.lock().unwrap().clone());
            let transaction = Rc::new(Transaction {
                rows,
                store: Arc::clone(&store),
            });
            let mut outcome = handler(&transaction);
            *store.has_run.lock().unwrap() = true;
            store.ran.notify_all();
            let fails = |n: usize| n.checked_sub(1);
            let order = Ordering::SeqCst;
            let causes = [
                (&store.failures, ErrorKind::Io),
                (&store.overtakings, ErrorKind::Busy),
            ];
            for (count, kind) in causes {
                if count.fetch_update(order, order, fails).is_ok() {
                    outcome = outcome.and(Err(Error::new(kind, "as the model wants")));
                }
            }
            if outcome.is_ok() {
                *store.rows.lock().unwrap() = transaction.rows.borrow().clone();
            }
            let _acknowledging = store.acknowledging.lock().unwrap();
            drop(turn);
            completion(outcome);
        });
    }

    pub(crate) fn renewals(&self) -> u64 {
        self.0.notices.load(Ordering::SeqCst)
    }

    pub(crate) fn listen(
        &self,
        _: &Table,
        listener: impl Fn(&Self, &ChangedKeys) + Send + Sync + 'static,
    ) -> Result<()> {
        let mut known = self.0.listener.lock().unwrap();
        known.get_or_insert_with(|| Arc::new(listener));
        Ok(())
    }

    pub(crate) fn visit_committed(
        &self,
        _: &Table,
        key: &[Value],
        visit: &mut dyn FnMut(Row<'_>),
    ) -> Result<()> {
        let row = self.0.rows.lock().unwrap().get(&texts(key)).cloned();
        if let Some(payload) = &row {
            let row_id = RowId(1);
            visit(Row {
                row_id,
                payload,
                entry: None,
            });
        }
        Ok(())
    }

    pub(crate) fn fetch_committed(&self, _: &Table, _: &Query) -> Result<Vec<Object>> {
        let rows = self.0.rows.lock().unwrap();
        Ok(rows.values().cloned().map(Object).collect())
    }
}

#[derive(Clone)]
pub(crate) struct Object(Vec<u8>);

impl Object {
    pub(crate) fn payload(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn row_id(&self) -> RowId {
        RowId(1)
    }
}

pub(crate) struct Transaction {
    rows: RefCell<Rows>,
    store: Arc<Store>,
}

pub(crate) enum Change<'a> {
    Create { payload: &'a [u8] },
    Upsert { payload: &'a [u8] },
    Delete { base: Object },
}

impl Transaction {
    pub(crate) fn write_first(&self) -> Result<()> {
        Ok(())
    }

    pub(crate) fn get(&self, _: &Table, key: &[Value]) -> Result<Option<Object>> {
        Ok(self.rows.borrow().get(&texts(key)).cloned().map(Object))
    }

    pub(crate) fn latest(&self, _: &Table, object: &Object) -> Result<Option<Object>> {
        Ok(Some(object.clone()))
    }

    pub(crate) fn submit(&self, _: &Table, change: Change<'_>) -> Result<()> {
        if let Change::Create { payload } | Change::Upsert { payload } = &change {
            let refused = *self.store.refused.lock().unwrap();
            if refused.is_some_and(|key| key_in(payload)[0] == key) {
                let kind = ErrorKind::InvalidArgument;
                return Err(Error::new(kind, "as the model wants"));
            }
        }
        self.store.writes.fetch_add(1, Ordering::SeqCst);
        let mut rows = self.rows.borrow_mut();
        match change {
            Change::Create { payload } if rows.contains_key(&key_in(payload)) => {
                return Err(Error::new(ErrorKind::AlreadyExists, "it exists"));
            }
            Change::Create { payload } | Change::Upsert { payload } => {
                rows.insert(key_in(payload), payload.to_vec());
            }
            Change::Delete { base } => {
                rows.remove(&key_in(&base.0));
            }
        }
        Ok(())
    }
}

fn texts(key: &[Value]) -> [String; 2] {
    [0, 1].map(|part| match &key[part] {
        Value::Text(text) => text.to_string(),
        _ => String::new(),
    })
}

fn key_in(payload: &[u8]) -> [String; 2] {
    let row = TableView::root(payload).unwrap();
    [4, 6].map(|place| row.text(place).unwrap().unwrap_or("").to_owned())
}
