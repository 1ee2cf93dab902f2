//! The latest delivery of a subscription.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Observation, Subscription};
use crate::Result;

/// A cell that holds the latest delivery of a subscription; dropping it ends the subscription.
pub struct Watch<D> {
    latest: Arc<Mutex<Option<D>>>,
    subscription: Subscription,
}

impl<D: Clone + Send + 'static> Watch<D> {
    pub(super) fn new(observation: Observation<D>) -> Result<Self> {
        let latest: Arc<Mutex<Option<D>>> = Arc::default();
        let cell = Arc::clone(&latest);
        let subscription = observation.call(move |delivery| {
            // Order: the delivery before is dropped without the lock.
            let before = lock(&cell).replace(delivery);
            drop(before);
        })?;
        Ok(Self {
            latest,
            subscription,
        })
    }

    /// The latest delivery; `None` before the first.
    #[must_use]
    pub fn latest(&self) -> Option<D> {
        lock(&self.latest).clone()
    }

    /// The subscription that fills the cell.
    pub const fn subscription(&self) -> &Subscription {
        &self.subscription
    }
}

fn lock<D>(cell: &Mutex<Option<D>>) -> MutexGuard<'_, Option<D>> {
    // A delivery is cloned under the lock; no other code of the caller runs under it.
    cell.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<D> fmt::Debug for Watch<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}
