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
    told: Arc<Mutex<Option<Sample>>>,
    subscription: Option<Subscription>,
}

impl Watcher {
    /// A watcher of an object, without a subscription.
    #[must_use]
    pub fn new(known: Sample) -> Self {
        Self {
            told: Arc::new(Mutex::new(Some(known.clone()))),
            known,
            subscription: None,
        }
    }

    /// Subscribes to the object that was read, which may be out of date. Later calls do nothing.
    pub fn subscribe(&mut self, workspace: &Workspace) {
        if self.subscription.is_some() {
            return;
        }
        let told = Arc::clone(&self.told);
        let callback = move |event: SubscribedObject<Sample>| {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            let before = told.take().expect("nothing follows the deletion");
            if let SubscribedObject::Updated(object) = event {
                assert_eq!(object.row_id(), before.row_id());
                let is_same = same(&object.to_data(), &before.to_data());
                assert!(!is_same, "it is told when it changes");
                *told = Some(object);
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
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let row_id = self.known.row_id();
        let now = objects.iter().find(|object| object.row_id() == row_id);
        match (told.as_ref(), now) {
            (None, None) => {}
            (Some(told), Some(now)) => {
                let (told, now) = (told.to_data(), now.to_data());
                assert!(same(&told, &now), "{told:?} is not {now:?}");
            }
            (told, now) => panic!("{told:?} is told, and there is {now:?}"),
        }
    }
}
