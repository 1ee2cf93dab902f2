//! The handle of a subscription, and ending one.

use std::fmt;
use std::sync::{Arc, Weak};

use super::subscriber::Subscriber;
use crate::callback;
use crate::error::Error;

/// A subscription; dropping it cancels it, without waiting for a call of its callback.
///
/// The subscription also ends when its object is deleted, when its callback panics, and when the
/// workspace is shut down. Any thread may cancel it.
#[must_use = "a subscription ends when it is dropped"]
pub struct Subscription(pub(super) Arc<Subscriber>);

impl Subscription {
    /// Ends the subscription. When this returns, no call of its callback is running and none
    /// follows. Inside a handler or a callback it does not wait, and a running call may still end
    /// later.
    pub fn cancel(&self) {
        self.end(!callback::is_running());
    }

    /// The error that ended the subscription, if any:
    /// [`ErrorKind::Panicked`](crate::ErrorKind::Panicked) if its callback panicked; otherwise the
    /// error of reading the object that it follows, if that error can't pass. After an error of
    /// reading that is delivered, or that may pass, the subscription goes on.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        self.0.error()
    }

    /// The number of deliveries that were merged with the one before them, because they had to wait
    /// for the callback.
    #[must_use]
    pub fn coalesced(&self) -> u64 {
        self.0.coalesced()
    }

    /// Whether completions do not wait for the callback, because a call took too long. In this case
    /// a thread of its own makes its deliveries, and waiting ones are merged. This ends when no
    /// delivery waits after a call that took less than half of the patience.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.0.is_slow()
    }

    /// The name of the type subscribed to.
    #[must_use]
    pub(crate) fn type_name(&self) -> &str {
        &self.0.registration.table.type_name
    }

    /// A handle that can end the subscription from elsewhere.
    #[must_use]
    pub fn to_end(&self) -> SubscriptionEnd {
        SubscriptionEnd(Arc::downgrade(&self.0))
    }

    /// The subscriber.
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

/// Ends a subscription from elsewhere, if it has not ended.
pub struct SubscriptionEnd(Weak<Subscriber>);

impl SubscriptionEnd {
    /// Ends the subscription, without waiting for a call of its callback.
    pub fn end(self) {
        if let Some(subscriber) = self.0.upgrade() {
            subscriber.end(false);
        }
    }

    /// Whether the subscription has been dropped.
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
