//! Subscribing: a registration takes its turn on the table like a transaction.

use std::sync::Arc;

use dflat_model::{Query, Table};

use super::Engine;
use super::read::Reader;
use crate::error::Result;
use crate::fetch::{self, Fetched};
use crate::object::Object;
use crate::observe::{Callback, ObjectEvent, Subscription};
use crate::storage::View;

/// What a subscriber to a query knows already.
pub enum Known {
    /// A result it fetched: it is told if the result is out of date.
    Result(Fetched),
    /// Nothing: it is told the result first.
    Nothing,
}

impl Engine {
    /// Subscribes to an object. Transactions performed before this call are not told, unless the
    /// object is older than what they did; those performed afterwards are.
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    pub fn observe_object(
        &self,
        table: &Table,
        object: &Object,
        callback: Box<dyn FnMut(ObjectEvent) + Send>,
    ) -> Result<Subscription> {
        let callback = Arc::new(Callback::new(callback));
        let (id, subscription) = self.inner.registry.subscription(table, &callback);
        let (engine, known, of) = (self.clone(), object.clone(), table.clone());
        let register = move || {
            let (registry, reader) = (&engine.inner.registry, &engine.inner.reader);
            engine.inner.groups.flush(&of);
            let origin = known.origin();
            let ours = origin.engine == reader.engine;
            let latest = if ours && origin.seq.0 > 0 && origin.seq >= registry.changed(&of) {
                Ok(Some(known.clone()))
            } else {
                find(reader, &of, &known)
            };
            match latest {
                Ok(latest) => registry.add_object(id, &of, &known, latest, &callback),
                // What can't be read now is followed from what is known.
                Err(_) if ours => {
                    registry.add_object(id, &of, &known, Some(known.clone()), &callback)
                }
                // Which row it is here can't be known.
                Err(_) => {}
            }
        };
        self.enqueue(table, &subscription, register)?;
        Ok(subscription)
    }

    /// Subscribes to a query's result, in the order of calls as [`Engine::observe_object`].
    ///
    /// # Errors
    /// [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    pub fn observe_result(
        &self,
        table: &Table,
        query: &Query,
        known: Known,
        callback: Box<dyn FnMut(Result<Fetched>) + Send>,
    ) -> Result<Subscription> {
        fetch::check(table, query)?;
        let callback = Arc::new(Callback::new(callback));
        let (id, subscription) = self.inner.registry.subscription(table, &callback);
        let (engine, of, query) = (self.clone(), table.clone(), query.clone());
        let register = move || {
            let (registry, reader) = (&engine.inner.registry, &engine.inner.reader);
            engine.inner.groups.flush(&of);
            let changed = registry.changed(&of);
            let known = match known {
                Known::Result(fetched) => Some(fetched),
                Known::Nothing => None,
            };
            let current = known
                .as_ref()
                .filter(|known| known.engine == reader.engine)
                .filter(|known| known.seq.0 > 0 && known.seq >= changed);
            let latest = match current {
                Some(known) => Ok(known.clone()),
                None => reader.fetch(&of, &query),
            };
            registry.add_result(id, (&of, &query), known.as_ref(), latest, &callback);
        };
        self.enqueue(table, &subscription, register)?;
        Ok(subscription)
    }

    fn enqueue(
        &self,
        table: &Table,
        subscription: &Subscription,
        register: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let operation = format_args!("subscribe to {}", table.type_name);
        self.while_open(operation, || {
            self.share.hold_subscription(subscription);
            let names = [table.name.as_ref()];
            let queued = self.inner.scheduler.enqueue(names, Box::new(register));
            queued.map_err(|error| error.context(format_args!("cannot {operation}")))
        })
    }
}

/// The latest state of an object: by its row id, or, if it is another engine's, by its primary key.
fn find(reader: &Reader, table: &Table, known: &Object) -> Result<Option<Object>> {
    if known.origin().engine != reader.engine {
        return reader.get(table, &fetch::key_of(table, known)?);
    }
    let origin = reader.origin(reader.committed());
    let mut snapshot = reader.snapshot(View::Latest)?;
    fetch::find(snapshot.as_mut(), table, known.row_id(), origin)
}
