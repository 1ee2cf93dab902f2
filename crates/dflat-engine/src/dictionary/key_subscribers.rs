//! Subscribers to keys.
//!
//! A change is put into the queue of each subscriber while the key's shard is locked, so that
//! queues are in the order of changes. It is delivered after the lock is released: by the thread
//! that made the change or, if another thread is notifying the subscriber at that time, by that
//! thread.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::item::Value;
use crate::callback;
use crate::engine::HeldSubscription;
use crate::observe::Callback;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A value or a change that is delivered to a subscriber.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The key.
    pub key: Arc<str>,
    /// The key's value; `None` if it has none.
    pub value: Option<Value>,
    /// Whether this is the state when the subscription began, and not a change.
    pub is_initial: bool,
}

/// The keys that a subscriber follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One key.
    Key(Arc<str>),
    /// All keys that begin with a text.
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
    /// The length of the list. After a subscriber was added, the lock of each shard whose keys it
    /// follows is taken once, so that later changes under that lock see the new length.
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
    /// Whether a thread is delivering the queue.
    is_notifying: bool,
    /// The values delivered last. Keys without a value are left out.
    last_values: HashMap<Arc<str>, Value>,
}

impl SubscriberState {
    /// Notes the value that is delivered for a key; returns the one delivered before.
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

    /// Adds a subscriber. It is not notified before [`KeySubscriber::notify`] is called.
    pub(super) fn add(
        &self,
        pattern: Pattern,
        function: Box<dyn FnMut(Event) + Send>,
    ) -> Arc<KeySubscriber> {
        let subscriber = Arc::new(KeySubscriber {
            pattern,
            state: Mutex::new(SubscriberState {
                is_notifying: true,
                ..SubscriberState::default()
            }),
            callback: Callback::new(function),
        });
        let mut list = self.lock();
        list.push(Arc::clone(&subscriber));
        self.count.store(list.len(), Ordering::Release);
        subscriber
    }

    /// Queues a change for the subscribers of the key. They are notified after the key's shard is
    /// unlocked. A value that equals the one delivered before is delivered only if `must` is true.
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

    /// Queues the event that a key has no value. It is delivered even if it was delivered before.
    pub(super) fn remind(&self, key: &Arc<str>) -> PendingNotifications {
        self.queue(key, None, true)
    }

    /// The keys that subscribers follow as single keys.
    pub(super) fn keys(&self) -> Vec<Arc<str>> {
        let single = |pattern| match pattern {
            Pattern::Key(key) => Some(key),
            Pattern::Prefix(_) => None,
        };
        self.patterns().into_iter().filter_map(single).collect()
    }

    /// The keys and prefixes that subscribers follow.
    pub(super) fn patterns(&self) -> Vec<Pattern> {
        let list = self.lock();
        let open = list.iter().filter(|s| !s.callback.is_cancelled());
        open.map(|subscriber| subscriber.pattern.clone()).collect()
    }

    /// The keys of which subscribers were delivered a value that was not removed since.
    pub(super) fn delivered_keys(&self) -> Vec<Arc<str>> {
        let list = self.lock();
        let keys =
            |s: &Arc<KeySubscriber>| s.lock().last_values.keys().cloned().collect::<Vec<_>>();
        list.iter().flat_map(keys).collect()
    }

    /// Whether a subscriber follows a key.
    pub(super) fn follow(&self, key: &str) -> bool {
        if self.count.load(Ordering::Acquire) == 0 {
            return false;
        }
        let list = self.lock();
        list.iter()
            .any(|subscriber| subscriber.pattern.matches(key))
    }
}

/// Subscribers whose queues are to be delivered.
#[must_use]
#[derive(Default)]
pub(super) struct PendingNotifications(Vec<Arc<KeySubscriber>>);

impl PendingNotifications {
    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Notifies the subscribers, on this thread. No lock may be held.
    pub(super) fn notify(self) {
        for subscriber in self.0 {
            let mut state = subscriber.lock();
            if !std::mem::replace(&mut state.is_notifying, true) {
                drop(state);
                subscriber.notify();
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

    /// Drops the queued changes of a key, whose shard must be locked: a later value is delivered
    /// instead.
    pub(super) fn forget_queued(&self, key: &str) {
        self.lock().queue.retain(|(event, _)| *event.key != *key);
    }

    /// Delivers a value that was there when the subscription began.
    pub(super) fn deliver_initial(&self, key: &Arc<str>, value: Option<Value>) {
        self.lock().note(key, value.as_ref());
        self.callback.deliver(Event {
            key: Arc::clone(key),
            value,
            is_initial: true,
        });
    }

    /// Delivers the queue until it is empty. This thread must have set `is_notifying`.
    pub(super) fn notify(&self) {
        loop {
            let mut state = self.lock();
            let Some((event, must)) = state.queue.pop_front() else {
                state.is_notifying = false;
                return;
            };
            let before = state.note(&event.key, event.value.as_ref());
            drop(state);
            // For a subscriber to a prefix, a key that was never delivered has no value.
            if must || before != event.value {
                self.callback.deliver(event);
            }
        }
    }
}

/// A subscription to keys. It ends when it is cancelled or dropped.
#[must_use = "a subscription ends when it is dropped"]
pub struct KeySubscription {
    subscriber: Arc<KeySubscriber>,
}

impl KeySubscription {
    pub(super) fn new(subscriber: Arc<KeySubscriber>) -> Self {
        Self { subscriber }
    }

    /// Ends the subscription. When this returns, no call of the callback is running and none
    /// follows. Inside a callback or handler it does not wait, and a call may still be running on
    /// another thread.
    pub fn cancel(&self) {
        self.subscriber.callback.cancel(!callback::is_running());
    }
}

impl KeySubscription {
    /// A handle that can end the subscription from elsewhere.
    pub(super) fn to_end(&self) -> Box<dyn HeldSubscription> {
        Box::new(KeySubscriptionEnd(Arc::downgrade(&self.subscriber)))
    }
}

/// Ends a subscription from elsewhere, if it has not ended.
struct KeySubscriptionEnd(Weak<KeySubscriber>);

impl HeldSubscription for KeySubscriptionEnd {
    fn is_over(&self) -> bool {
        let subscriber = self.0.upgrade();
        subscriber.is_none_or(|subscriber| subscriber.callback.is_cancelled())
    }

    fn end(&self) {
        if let Some(subscriber) = self.0.upgrade() {
            subscriber.callback.cancel(false);
        }
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
    fn removed_keys_take_no_memory_of_a_subscriber() {
        crate::sync::run(|| {
            let subscribers = KeySubscribers::default();
            let subscriber = subscribers.add(Pattern::Prefix("".into()), Box::new(drop));
            subscriber.notify();
            for n in 0..10 {
                let key: Arc<str> = n.to_string().into();
                subscribers
                    .queue(&key, Some(&Value::I64(n)), false)
                    .notify();
                if n > 0 {
                    subscribers.queue(&key, None, false).notify();
                }
            }
            assert_eq!(subscriber.lock().last_values.len(), 1);
        });
    }
}
