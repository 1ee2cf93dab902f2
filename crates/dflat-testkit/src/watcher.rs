//! A subscriber to an object that compares each delivery with the one before.

use std::sync::{Arc, Mutex, PoisonError};

use dflat::{Object, SubscribedObject, Subscription, Workspace};

use crate::model::same;
use crate::schema::Sample;

/// An object that was read before, a subscription to it, and the latest delivery.
#[derive(Debug)]
pub struct Watcher {
    known: Sample,
    /// The latest delivered object; `None` after the deletion.
    latest: Arc<Mutex<Option<Sample>>>,
    subscription: Option<Subscription>,
}

impl Watcher {
    /// A watcher of an object, without a subscription.
    #[must_use]
    pub fn new(known: Sample) -> Self {
        Self {
            latest: Arc::new(Mutex::new(Some(known.clone()))),
            known,
            subscription: None,
        }
    }

    /// Subscribes to the object that was read, which may be out of date. Later calls do nothing.
    pub fn subscribe(&mut self, workspace: &Workspace) {
        if self.subscription.is_some() {
            return;
        }
        let latest = Arc::clone(&self.latest);
        let callback = move |event: SubscribedObject<Sample>| {
            let mut latest = latest.lock().unwrap_or_else(PoisonError::into_inner);
            let before = latest.take().expect("nothing follows the deletion");
            if let SubscribedObject::Updated(object) = event {
                assert_eq!(object.row_id(), before.row_id());
                let is_same = same(&object.to_data(), &before.to_data());
                assert!(!is_same, "it is latest when it changes");
                *latest = Some(object);
            }
        };
        let subscription = workspace.subscribe(&self.known, callback);
        self.subscription = Some(subscription.unwrap());
    }

    /// Compares the latest delivery with `objects`, which are all objects that exist.
    pub fn check(&self, objects: &[Sample]) {
        let Some(subscription) = &self.subscription else {
            return;
        };
        let error = subscription.error();
        assert!(error.is_none(), "{self:?}: {error:?}");
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let row_id = self.known.row_id();
        let now = objects.iter().find(|object| object.row_id() == row_id);
        match (latest.as_ref(), now) {
            (None, None) => {}
            (Some(latest), Some(now)) => {
                let (latest, now) = (latest.to_data(), now.to_data());
                assert!(same(&latest, &now), "{latest:?} is not {now:?}");
            }
            (latest, now) => panic!("{latest:?} is latest, and there is {now:?}"),
        }
    }
}
