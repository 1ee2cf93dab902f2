//! Another program commits during a registration: after the result was read, and before the
//! subscription has its place in the order of commits.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};

use dflat::{ChangeRequest, Result, Table, Workspace};
use dflat_engine::engine::EngineOptions;
use dflat_engine::storage::{
    Backend, CloseOptions, Durability, Indexes, Row, ScanPlan, Snapshot, StateId, View,
    WriteTransaction,
};
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::fixture::{bounded, next};
use dflat_testkit::schema::{Item, ItemData, Twin, TwinData};
use rusqlite::Connection;

/// The action to run after a read.
type Meanwhile = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// A backend that runs an action after the next read.
struct Interrupted {
    inner: Arc<dyn Backend>,
    meanwhile: Meanwhile,
}

impl Backend for Interrupted {
    fn snapshot(self: Arc<Self>, view: View) -> Result<Box<dyn Snapshot>> {
        Ok(Box::new(InterruptedSnapshot {
            inner: Arc::clone(&self.inner).snapshot(view)?,
            meanwhile: Arc::clone(&self.meanwhile),
        }))
    }

    fn begin(self: Arc<Self>, durability: Durability) -> Result<Box<dyn WriteTransaction>> {
        Arc::clone(&self.inner).begin(durability)
    }

    fn close(&self, options: CloseOptions) -> Result<()> {
        self.inner.close(options)
    }
}

struct InterruptedSnapshot {
    inner: Box<dyn Snapshot>,
    meanwhile: Meanwhile,
}

impl Snapshot for InterruptedSnapshot {
    fn scan(
        &mut self,
        plan: &ScanPlan<'_>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.inner.scan(plan, visit)?;
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        Ok(())
    }

    fn pin(&mut self) -> Result<StateId> {
        self.inner.pin()
    }

    fn is_overtaken(&self, since: StateId) -> bool {
        self.inner.is_overtaken(since)
    }

    fn indexes(&mut self, table: &Table) -> Result<Indexes> {
        self.inner.indexes(table)
    }
}

/// A workspace on a file that another program writes to.
struct Rig {
    // Order: the workspace is dropped before its directory.
    workspace: Workspace,
    meanwhile: Meanwhile,
    directory: tempfile::TempDir,
}

impl Rig {
    /// A workspace that has not written, on a file with the twins 0, 1 and 2.
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        let before = Workspace::open(&path).unwrap();
        let twins = before.perform_changes([Twin::TABLE], |tx| {
            (0..3).try_for_each(|id| {
                let data = TwinData {
                    id,
                    ..TwinData::default()
                };
                tx.submit(ChangeRequest::<Twin>::creation(data)).map(drop)
            })
        });
        twins.wait().unwrap();
        before.shutdown().unwrap();
        let meanwhile = Meanwhile::default();
        let backend = Interrupted {
            inner: SqliteBackend::open(&path, SqliteOptions::default()).unwrap(),
            meanwhile: Arc::clone(&meanwhile),
        };
        Self {
            workspace: Workspace::on_backend(Arc::new(backend), EngineOptions::default()),
            meanwhile,
            directory,
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("test.db")
    }

    /// Subscribes to all twins or to their number, and runs `meanwhile` after the read and before
    /// the registration. Returns the last delivered number of twins, after a commit of another
    /// type.
    fn delivered_count(
        &self,
        is_counted: bool,
        meanwhile: impl FnOnce() + Send + 'static,
    ) -> usize {
        let (done, is_done) = mpsc::channel();
        *self.meanwhile.lock().unwrap() = Some(Box::new(move || {
            meanwhile();
            done.send(()).unwrap();
        }));
        let settle = || {
            // The action has ended before anything is queued for which it would wait.
            next(&is_done);
            self.workspace.settle().unwrap();
            insert_item(&self.workspace, "last");
        };
        let twins = self.workspace.fetch::<Twin>();
        if is_counted {
            let count = self.workspace.observe(twins.live_count()).unwrap();
            let count = count.watch().unwrap();
            settle();
            count.latest().unwrap().unwrap()
        } else {
            let list = self.workspace.observe(twins).unwrap().watch().unwrap();
            settle();
            list.latest().unwrap().unwrap().len()
        }
    }
}

fn delete_a_twin(path: &Path) {
    let sql = Connection::open(path).unwrap();
    let deleted = sql.execute("DELETE FROM twin WHERE __pk0 = 1", []);
    assert_eq!(deleted.unwrap(), 1);
}

fn insert_item(workspace: &Workspace, id: &'static str) {
    let inserted = workspace.perform_changes([Item::TABLE], move |tx| {
        let data = ItemData {
            id: id.to_owned(),
            ..ItemData::default()
        };
        tx.submit(ChangeRequest::<Item>::creation(data)).map(drop)
    });
    inserted.wait().unwrap();
}

// Promise: live-queries#L28
#[test]
fn foreign_commits_before_the_first_own_commit_are_delivered_with_it() {
    bounded(|| {
        for is_counted in [false, true] {
            let rig = Rig::new();
            let path = rig.path();
            assert_eq!(
                rig.delivered_count(is_counted, move || delete_a_twin(&path)),
                2
            );
        }
    });
}

// Promise: live-queries#L28
#[test]
fn a_foreign_commit_noticed_by_a_writer_of_another_type_is_delivered() {
    bounded(|| {
        for is_counted in [false, true] {
            let rig = Rig::new();
            insert_item(&rig.workspace, "first");
            let (path, workspace) = (rig.path(), rig.workspace.clone());
            let received = rig.delivered_count(is_counted, move || {
                delete_a_twin(&path);
                // This transaction notices the foreign commit, whose deliveries are made when it
                // has ended.
                insert_item(&workspace, "meanwhile");
            });
            assert_eq!(received, 2);
        }
    });
}
