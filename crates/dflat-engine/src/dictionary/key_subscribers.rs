//! Subscribers to keys.
//!
//! What changes is put into a subscriber's queue while the key's shard is locked, so that it is in
//! order, and told after the lock is released: by the thread that set it or, if another is telling
//! this subscriber something just then, by that one.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::item::Value;
use crate::callback;
use crate::observe::Callback;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a subscriber is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The key.
    pub key: Arc<str>,
    /// Its value; `None` if it has none.
    pub value: Option<Value>,
    /// Whether it is the state when the subscription began, not a change.
    pub is_initial: bool,
}

/// Which keys a subscriber follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One.
    Key(Arc<str>),
    /// All that begin with a text.
    Prefix(Arc<str>),
}

impl Pattern {
    fn matches(&self, key: &str) -> bool {
        match self {
            Self::Key(own) => **own == *key,
            Self::Prefix(prefix) => key.starts_with(&**prefix),
        }
    }
}

/// The subscribers of a namespace.
#[derive(Default)]
pub(super) struct KeySubscribers {
    list: Mutex<Vec<Arc<KeySubscriber>>>,
    /// The length of the list. Who adds a subscriber then takes the lock of each shard whose keys
    /// he follows, so that who changes a key under that lock afterwards sees it.
    count: AtomicUsize,
}

pub(super) struct KeySubscriber {
    pattern: Pattern,
    state: Mutex<SubscriberState>,
    callback: Callback<Event>,
}

#[derive(Default)]
struct SubscriberState {
    queue: VecDeque<(Event, bool)>,
    /// Whether a thread is telling what the queue holds.
    is_telling: bool,
    /// The values told last; those told to have none are not there.
    last_values: HashMap<Arc<str>, Value>,
}

impl SubscriberState {
    /// Notes what is told of a key; what was told before.
    fn note(&mut self, key: &Arc<str>, value: Option<&Value>) -> Option<Value> {
        match value {
            Some(value) => self.last_values.insert(Arc::clone(key), value.clone()),
            None => self.last_values.remove(key),
        }
    }
}

impl KeySubscribers {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<KeySubscriber>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a subscriber, who is told nothing before [`KeySubscriber::tell`].
    pub(super) fn add(
        &self,
        pattern: Pattern,
        function: Box<dyn FnMut(Event) + Send>,
    ) -> Arc<KeySubscriber> {
        let subscriber = Arc::new(KeySubscriber {
            pattern,
            state: Mutex::new(SubscriberState {
                is_telling: true,
                ..SubscriberState::default()
            }),
            callback: Callback::new(function),
        });
        let mut list = self.lock();
        list.push(Arc::clone(&subscriber));
        self.count.store(list.len(), Ordering::Release);
        subscriber
    }

    /// Queues a change for those who follow the key, who are to be told after the key's shard is
    /// unlocked. What equals the value told before is not told, unless it must be.
    pub(super) fn queue(
        &self,
        key: &Arc<str>,
        value: Option<&Value>,
        must: bool,
    ) -> PendingNotifications {
        if self.count.load(Ordering::Acquire) == 0 {
            return PendingNotifications::default();
        }
        let mut list = self.lock();
        list.retain(|subscriber| !subscriber.callback.is_cancelled());
        self.count.store(list.len(), Ordering::Release);
        let concerned = list
            .iter()
            .filter(|subscriber| subscriber.pattern.matches(key));
        let concerned = concerned.map(|subscriber| {
            let event = Event {
                key: Arc::clone(key),
                value: value.cloned(),
                is_initial: false,
            };
            subscriber.lock().queue.push_back((event, must));
            Arc::clone(subscriber)
        });
        PendingNotifications(concerned.collect())
    }

    /// Queues that a key has no value, even if that is known.
    pub(super) fn remind(&self, key: &Arc<str>) -> PendingNotifications {
        self.queue(key, None, true)
    }

    /// The keys that are followed, one by one.
    pub(super) fn keys(&self) -> Vec<Arc<str>> {
        let list = self.lock();
        let keys = list
            .iter()
            .filter_map(|subscriber| match &subscriber.pattern {
                Pattern::Key(key) if !subscriber.callback.is_cancelled() => Some(Arc::clone(key)),
                _ => None,
            });
        keys.collect()
    }
}

/// Subscribers who are to be told what their queues hold.
#[must_use]
#[derive(Default)]
pub(super) struct PendingNotifications(Vec<Arc<KeySubscriber>>);

impl PendingNotifications {
    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Tells them, on this thread. No lock may be held.
    pub(super) fn tell(self) {
        for subscriber in self.0 {
            let mut state = subscriber.lock();
            if !std::mem::replace(&mut state.is_telling, true) {
                drop(state);
                subscriber.tell();
            }
        }
    }
}

impl KeySubscriber {
    fn lock(&self) -> MutexGuard<'_, SubscriberState> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The keys whose changes are queued.
    pub(super) fn queued_keys(&self) -> BTreeSet<Arc<str>> {
        let state = self.lock();
        let keys = state.queue.iter().map(|(event, _)| Arc::clone(&event.key));
        keys.collect()
    }

    /// Drops the queued changes of a key, whose shard is locked: a later state will be told.
    pub(super) fn forget_queued(&self, key: &str) {
        self.lock().queue.retain(|(event, _)| *event.key != *key);
    }

    /// Tells the state when the subscription began.
    pub(super) fn tell_initial(&self, key: &Arc<str>, value: Option<Value>) {
        self.lock().note(key, value.as_ref());
        self.callback.deliver(Event {
            key: Arc::clone(key),
            value,
            is_initial: true,
        });
    }

    /// Tells what the queue holds, until it is empty; this thread has set `is_telling`.
    pub(super) fn tell(&self) {
        loop {
            let mut state = self.lock();
            let Some((event, must)) = state.queue.pop_front() else {
                state.is_telling = false;
                return;
            };
            let before = state.note(&event.key, event.value.as_ref());
            drop(state);
            // A key of a prefix that was never told has no value, as far as the subscriber knows.
            if must || before != event.value {
                self.callback.deliver(event);
            }
        }
    }
}

/// A subscription to keys: dropped or cancelled, it ends.
#[must_use = "a subscription ends when it is dropped"]
pub struct KeySubscription {
    subscriber: Arc<KeySubscriber>,
}

impl KeySubscription {
    pub(super) fn new(subscriber: Arc<KeySubscriber>) -> Self {
        Self { subscriber }
    }

    /// Ends the subscription. When this returns no callback runs and none will, unless this is
    /// called inside a callback or handler: then one may still run on another thread.
    pub fn cancel(&self) {
        self.subscriber.callback.cancel(!callback::is_running());
    }
}

impl Drop for KeySubscription {
    fn drop(&mut self) {
        self.subscriber.callback.cancel(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_gone_are_not_kept_for_a_subscriber() {
        crate::sync::run(|| {
            let subscribers = KeySubscribers::default();
            let subscriber = subscribers.add(Pattern::Prefix("".into()), Box::new(drop));
            subscriber.tell();
            for n in 0..10 {
                let key: Arc<str> = n.to_string().into();
                subscribers.queue(&key, Some(&Value::I64(n)), false).tell();
                if n > 0 {
                    subscribers.queue(&key, None, false).tell();
                }
            }
            assert_eq!(subscriber.lock().last_values.len(), 1);
        });
    }
}
