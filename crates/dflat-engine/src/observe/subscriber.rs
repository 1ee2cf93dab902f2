//! A subscriber, and what it is registered for.

use std::sync::{Arc, OnceLock, Weak};

use dflat_model::{RowId, Table};

use super::Event;
use super::notification::Notifier;

/// A subscriber to an object or a live query.
pub type Subscriber = Notifier<Event, Registration>;

/// The registration of a subscriber: its table, registry and target.
pub struct Registration {
    pub(super) table: Table,
    pub(super) registry: Weak<dyn Forget>,
    /// Set once, when the subscriber is registered, or when its object is found after that.
    pub(super) target: OnceLock<Target>,
}

/// The object or live query that a subscriber follows.
#[derive(Clone, Copy)]
pub(super) enum Target {
    Object(RowId),
    /// The live query in this slot.
    LiveQuery(u32),
}

/// Removes subscribers that have ended.
pub(super) trait Forget: Send + Sync {
    fn forget(&self, subscriber: &Arc<Subscriber>);
}
