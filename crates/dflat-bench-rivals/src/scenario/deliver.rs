//! Subscribers, from a commit to the last delivery.
//!
//! Dflat calls subscribers with results. native_db sends an event for each watched object. SQLite
//! has a hook that names changed rows; the usual program on it runs a query again after a commit
//! that has changed the query's table, or reads a changed row again.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dflat::{ChangeRequest, FetchedResult, SubscribedObject, Subscription, Update, Workspace};
use rusqlite::{Connection, TransactionBehavior, params};

use super::{Outcome, Run, Subscriptions, check};
use crate::record::{Change, Record, number, title};
use crate::store::{Kept, Ranked, connect, create_tables, fill, watched};
use crate::{Result, usage};

const SUBSCRIPTIONS: usize = 1000;

impl Run<'_> {
    pub(super) fn deliver(&self, kind: Subscriptions) -> Result<Outcome> {
        let change = self.subscribed_change(kind);
        let time = match self.entry.name {
            "Dflat" => self.deliver_ours(kind, change),
            "native_db" => {
                let records = self.records();
                watched(self.folder, &records, &self.subscribed())?.deliver(change)
            }
            _ => self.deliver_again(kind, change),
        };
        Ok(time?.into())
    }

    /// Rotates the ranges, so that all objects leave each, and as many others enter.
    fn subscribed_change(&self, kind: Subscriptions) -> Change {
        if kind == Subscriptions::Ranges {
            Change::Indexed {
                count: self.scenario.count,
                all: false,
            }
        } else {
            Change::Priority
        }
    }

    /// The keys of the subscribed objects.
    fn subscribed(&self) -> Vec<String> {
        (0..self.subscriptions()).map(title).collect()
    }

    fn subscriptions(&self) -> usize {
        SUBSCRIPTIONS.min(self.scenario.count)
    }

    /// The ranks of a subscribed range: a tenth of all objects.
    fn range(&self, i: usize) -> Range<i32> {
        let (count, width) = (self.scenario.count, self.scenario.count / 10);
        let start = i * (count - width) / self.subscriptions();
        number(start)..number(start + width)
    }

    fn workspace(&self) -> Result<Workspace> {
        let workspace = Workspace::open(self.folder.join("dflat.db"))?;
        workspace.perform_changes_blocking([Ranked::TABLE], |tx| {
            let create = |record: &Record| ChangeRequest::<Ranked>::creation(Ranked::data(record));
            let mut records = self.records();
            records
                .drain(..)
                .try_for_each(|record| tx.submit(create(&record)).map(drop))
        })?;
        Ok(workspace)
    }

    fn deliver_ours(&self, kind: Subscriptions, change: Change) -> Result<Duration> {
        let workspace = self.workspace()?;
        let (sender, deliveries) = mpsc::channel();
        let subscriptions = match kind {
            Subscriptions::Results => self.to_results(&workspace, &sender)?,
            Subscriptions::Objects => self.to_objects(&workspace, &sender)?,
            Subscriptions::Ranges => self.to_ranges(&workspace, &sender)?,
        };
        workspace.settle()?;
        let changed = workspace.perform_changes([Ranked::TABLE], move |tx| {
            for object in &tx.fetch::<Ranked>().all()? {
                if let Some(mut request) = ChangeRequest::change(tx, object)? {
                    Ranked::change_data(&mut request, change);
                    tx.submit(request)?;
                }
            }
            Ok(Instant::now())
        });
        let start = changed.wait()?;
        let mut last = start;
        for _ in 0..subscriptions.len() {
            let (is_right, at): (bool, Instant) = deliveries.recv()?;
            check(&is_right, &true)?;
            last = last.max(at);
        }
        Ok(last - start)
    }

    fn to_results(&self, workspace: &Workspace, sender: &Deliveries) -> Result<Vec<Subscription>> {
        let subscribe = |title: String| {
            let known = workspace
                .fetch::<Ranked>()
                .filter(Ranked::TITLE.eq(title))
                .all()?;
            let before = known.first().map(Ranked::priority).unwrap_or_default();
            let sender = sender.clone();
            let call = move |found: dflat::Result<Update<FetchedResult<Ranked>>>| {
                let priority = found
                    .ok()
                    .and_then(|found| found.first().map(Ranked::priority));
                send(&sender, priority == Some(before + 1));
            };
            Ok(workspace.subscribe(&known, call)?)
        };
        self.subscribed().into_iter().map(subscribe).collect()
    }

    fn to_objects(&self, workspace: &Workspace, sender: &Deliveries) -> Result<Vec<Subscription>> {
        let subscribe = |title: String| {
            let object = workspace.get::<Ranked>(&title)?.ok_or("an object lacks")?;
            let (before, sender) = (object.priority(), sender.clone());
            let call = move |event: SubscribedObject<Ranked>| {
                let is_right = matches!(event, SubscribedObject::Updated(object)
                    if object.priority() == before + 1);
                send(&sender, is_right);
            };
            Ok(workspace.subscribe(&object, call)?)
        };
        self.subscribed().into_iter().map(subscribe).collect()
    }

    fn to_ranges(&self, workspace: &Workspace, sender: &Deliveries) -> Result<Vec<Subscription>> {
        let subscribe = |i| {
            let range = self.range(i);
            let condition = Ranked::RANK.ge(range.start) & Ranked::RANK.lt(range.end);
            let known = workspace.fetch::<Ranked>().filter(condition).all()?;
            let sender = sender.clone();
            let call = move |found: dflat::Result<Update<FetchedResult<Ranked>>>| {
                send(
                    &sender,
                    found.is_ok_and(|found| {
                        let first = found.first().map(Ranked::rank);
                        found.len() == range.len()
                            && first.is_some_and(|rank| range.contains(&rank))
                    }),
                );
            };
            Ok(workspace.subscribe(&known, call)?)
        };
        (0..self.subscriptions()).map(subscribe).collect()
    }

    /// The usual way on SQLite.
    fn deliver_again(&self, kind: Subscriptions, change: Change) -> Result<Duration> {
        let mut connection = connect(&self.folder.join("rows.db"))?;
        create_tables(&connection, self.scenario.shape)?;
        let mut records = self.records();
        fill(&mut connection, 0, &records)?;
        let changed = Arc::new(Mutex::new(BTreeSet::new()));
        let rows = Arc::clone(&changed);
        connection.update_hook(Some(move |_, _: &str, _: &str, row: i64| {
            rows.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(row);
        }))?;
        let start = update(&mut connection, &mut records, change)?;
        let changed = changed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = 0;
        for i in 0..self.subscriptions() {
            let range = self.range(i);
            // The rows were inserted in the order of the titles.
            let row = i64::try_from(i)? + 1;
            found += match kind {
                Subscriptions::Results => select(&connection, "title = ?", [title(i)])?,
                Subscriptions::Objects if !changed.contains(&row) => 0,
                Subscriptions::Objects => select(&connection, "id = ?", [row])?,
                Subscriptions::Ranges => {
                    let ranks = [range.start, range.end];
                    select(&connection, "rank >= ? AND rank < ?", ranks)?
                }
            };
        }
        let time = start.elapsed();
        let each = if kind == Subscriptions::Ranges {
            self.scenario.count / 10
        } else {
            1
        };
        check(&found, &(each * self.subscriptions()))?;
        Ok(time)
    }

    /// The memory of a subscription to one object, by its key, that nothing happens to.
    pub(super) fn subscription_bytes(&self) -> Result<Outcome> {
        let count = self.subscriptions() as f64;
        if self.entry.name == "native_db" {
            let records = self.records();
            let none = watched(self.folder, &records, &[])?;
            drop(none);
            std::fs::remove_dir_all(self.folder)?;
            std::fs::create_dir(self.folder)?;
            let before = usage::held_bytes();
            let idle = watched(self.folder, &records, &[])?;
            let opened = usage::held_bytes();
            drop(idle);
            std::fs::remove_dir_all(self.folder)?;
            std::fs::create_dir(self.folder)?;
            let keys = self.subscribed();
            let again = usage::held_bytes();
            let all = watched(self.folder, &records, &keys)?;
            let watching = usage::held_bytes();
            let bytes = (watching - again) as f64 - (opened - before) as f64;
            drop(all);
            return Ok(Outcome::of(bytes.max(0.0) / count));
        }
        let workspace = self.workspace()?;
        let (sender, _deliveries) = mpsc::channel();
        // Memory that only the first subscriptions of a workspace take is not counted.
        let first = self.to_results(&workspace, &sender)?;
        workspace.settle()?;
        let before = usage::held_bytes();
        let all = self.to_results(&workspace, &sender)?;
        workspace.settle()?;
        let bytes = usage::held_bytes().saturating_sub(before);
        drop((first, all));
        Ok(Outcome::of(bytes as f64 / count))
    }
}

type Deliveries = Sender<(bool, Instant)>;

fn send(deliveries: &Deliveries, is_right: bool) {
    // After a failure nobody receives any more.
    let _ = deliveries.send((is_right, Instant::now()));
}

/// Changes all objects, and returns the time before the commit.
fn update(connection: &mut Connection, records: &mut [Record], change: Change) -> Result<Instant> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let sql = "UPDATE record0 SET priority = ?, rank = ? WHERE title = ?";
        let mut update = tx.prepare_cached(sql)?;
        for record in records {
            change.apply(record);
            update.execute(params![record.priority, record.rank, record.title])?;
        }
    }
    let start = Instant::now();
    tx.commit()?;
    Ok(start)
}

/// Runs a query again. Returns the number of the objects, which were all made.
fn select(
    connection: &Connection,
    condition: &str,
    parameters: impl rusqlite::Params,
) -> Result<usize> {
    let sql =
        format!("SELECT title, priority, rank, tag, code, text FROM record0 WHERE {condition}");
    let mut select = connection.prepare_cached(&sql)?;
    let objects = select.query_map(parameters, |row| {
        Ok(Record {
            title: row.get(0)?,
            priority: row.get(1)?,
            rank: row.get(2)?,
            tag: row.get(3)?,
            code: row.get(4)?,
            text: row.get(5)?,
            ..Record::default()
        })
    })?;
    Ok(objects.collect::<rusqlite::Result<Vec<_>>>()?.len())
}
