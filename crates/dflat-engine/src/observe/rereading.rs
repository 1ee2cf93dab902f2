//! Deliveries after writes of other programs of which no change set exists, and of what could not
//! be read before.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use super::live_query::Refetch;
use super::publication::Publication;
use super::registry::{Registry, TableSubscriptions, fail};
use crate::change_set::{RereadSet, RereadTable, TableChanges};

impl Registry {
    /// The deliveries after another process has written, of which no change set exists: everything
    /// is read again, objects first, then results.
    pub fn renew(&self, refetch: &dyn Refetch) -> Option<Arc<Publication>> {
        let mut state = self.lock();
        if state.values().all(TableSubscriptions::is_empty) {
            return None;
        }
        self.telemetry().note_renewal();
        let mut calls = VecDeque::new();
        let mut failed = Vec::new();
        for subscriptions in state.values_mut() {
            failed.extend(subscriptions.renew_objects(refetch, &mut calls));
        }
        for subscriptions in state.values_mut() {
            subscriptions.live_queries.renew(refetch, &mut calls);
        }
        drop(state);
        fail(failed);
        Publication::of(self.telemetry(), calls, Vec::new())
    }

    /// The deliveries after objects and results were read again that could not be read before:
    /// objects first, then results.
    pub fn retry(&self, refetch: &dyn Refetch) -> Option<Arc<Publication>> {
        let mut state = self.lock();
        let (mut calls, mut failed) = (VecDeque::new(), Vec::new());
        for subscriptions in state.values_mut() {
            failed.extend(subscriptions.retry_objects(refetch, &mut calls));
        }
        for subscriptions in state.values_mut() {
            subscriptions.live_queries.retry(refetch, &mut calls);
        }
        drop(state);
        fail(failed);
        Publication::of(self.telemetry(), calls, Vec::new())
    }

    /// The deliveries after other programs have written rows whose states before are not known:
    /// objects first, then results.
    pub fn reread(&self, rows: &RereadSet, refetch: &dyn Refetch) -> Option<Arc<Publication>> {
        let mut state = self.lock();
        let (mut calls, mut replaced, mut failed) = (VecDeque::new(), Vec::new(), Vec::new());
        let tables = || {
            rows.tables
                .iter()
                .map(|t| (t.table.name.as_ref(), detached(t)))
        };
        for (name, changes) in tables() {
            let Some(subscriptions) = state.get_mut(name) else {
                continue;
            };
            match changes {
                Some(changes) => {
                    let commit = (changes.as_ref(), rows.seq);
                    failed.extend(subscriptions.follow_objects(commit, refetch, &mut calls));
                }
                None => failed.extend(subscriptions.renew_objects(refetch, &mut calls)),
            }
        }
        for (name, changes) in tables() {
            let Some(subscriptions) = state.get_mut(name) else {
                continue;
            };
            let live_queries = &mut subscriptions.live_queries;
            match changes {
                Some(changes) => {
                    live_queries.reread(&changes, rows.seq, refetch, &mut calls);
                    replaced.append(&mut live_queries.take_replaced());
                }
                None => live_queries.renew(refetch, &mut calls),
            }
        }
        drop(state);
        fail(failed);
        Publication::of(self.telemetry(), calls, replaced)
    }
}

/// The rows with objects that can be kept alone.
fn detached(table: &RereadTable) -> Option<Cow<'_, TableChanges>> {
    let changes = table.changes.as_ref()?;
    Some(match changes.is_attached {
        true => Cow::Owned(changes.detached()),
        false => Cow::Borrowed(changes),
    })
}
