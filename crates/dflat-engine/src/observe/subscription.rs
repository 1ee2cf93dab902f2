//! What a subscriber holds, and what ends it.

use std::fmt;
use std::sync::{Arc, Weak};

use super::subscriber::Subscriber;
use crate::callback;
use crate::error::Error;

/// A subscription; dropping it cancels it, without waiting for a call of its callback.
#[must_use = "a subscription ends when it is dropped"]
pub struct Subscription(pub(super) Arc<Subscriber>);

impl Subscription {
    /// Ends the subscription. When this returns, no call of its callback is running and none
    /// follows; inside a handler or a callback it does not wait, and one that is running may still
    /// end.
    pub fn cancel(&self) {
        self.end(!callback::is_running());
    }

    /// Why the subscription has ended by itself, if it has: with
    /// [`ErrorKind::Panicked`](crate::ErrorKind::Panicked) if its callback panicked; else because
    /// what it was to follow could not be read.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        self.0.error()
    }

    /// How many deliveries were made one with the one before, because they had to wait for the
    /// callback.
    #[must_use]
    pub fn coalesced(&self) -> u64 {
        self.0.coalesced()
    }

    /// Whether its callback took so long that completions do not wait for it: its deliveries are
    /// made on a thread of their own, and what has to wait is made one. It is over when nothing
    /// waits after a call that took less than half the patience.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.0.is_slow()
    }

    /// The name of the type subscribed to.
    #[must_use]
    pub(crate) fn type_name(&self) -> &str {
        &self.0.registration.table.type_name
    }

    /// What ends it from elsewhere.
    #[must_use]
    pub fn to_end(&self) -> SubscriptionEnd {
        SubscriptionEnd(Arc::downgrade(&self.0))
    }

    /// Who is told.
    #[must_use]
    pub(crate) fn subscriber(&self) -> Arc<Subscriber> {
        Arc::clone(&self.0)
    }

    fn end(&self, wait: bool) {
        self.0.end(wait);
    }
}

impl Subscriber {
    fn end(self: &Arc<Self>, wait: bool) {
        self.cancel(wait);
        if let Some(registry) = self.registration.registry.upgrade() {
            registry.forget(self);
        }
    }
}

/// Ends a subscription from elsewhere, if it is still there.
pub struct SubscriptionEnd(Weak<Subscriber>);

impl SubscriptionEnd {
    /// Ends the subscription, without waiting for a call of its callback.
    pub fn end(self) {
        if let Some(subscriber) = self.0.upgrade() {
            subscriber.end(false);
        }
    }

    /// Whether there is nothing to end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.strong_count() == 0
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.end(false);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Subscription(to {})",
            self.0.registration.table.type_name
        )
    }
}
