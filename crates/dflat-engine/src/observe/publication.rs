//! The deliveries of a commit or a registration.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Event;
use super::subscriber::Subscriber;
use crate::object::Object;
use crate::telemetry::Telemetry;

/// A delivery to be made.
pub(super) struct Call {
    pub(super) subscriber: Arc<Subscriber>,
    pub(super) event: Event,
}

/// Deliveries that are made one after the other, by one thread at a time: the one that has the
/// turn.
pub struct Publication {
    telemetry: Arc<Telemetry>,
    state: Mutex<PublicationState>,
    /// Replaced results. They are dropped with the publication, so that deliveries do not wait for
    /// that.
    _replaced: Vec<Arc<Vec<Object>>>,
}

struct PublicationState {
    calls: VecDeque<Call>,
    /// The subscriber that is being notified.
    notified: Option<Arc<Subscriber>>,
    begun: u64,
    turn: u64,
}

impl Publication {
    /// A publication of deliveries, in order, which keeps the replaced results; `None` if there are
    /// no deliveries.
    pub(super) fn of(
        telemetry: &Arc<Telemetry>,
        calls: VecDeque<Call>,
        replaced: Vec<Arc<Vec<Object>>>,
    ) -> Option<Arc<Self>> {
        let state = PublicationState {
            calls,
            notified: None,
            begun: 0,
            turn: 0,
        };
        (!state.calls.is_empty()).then(|| {
            Arc::new(Self {
                telemetry: Arc::clone(telemetry),
                state: Mutex::new(state),
                _replaced: replaced,
            })
        })
    }

    fn lock(&self) -> MutexGuard<'_, PublicationState> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the next delivery. Returns false if there is none, or if another thread has the turn.
    #[must_use]
    pub fn deliver_next(&self, turn: u64) -> bool {
        let mut state = self.lock();
        if state.turn != turn {
            return false;
        }
        state.begun += 1;
        state.notified = None;
        let Some(Call { subscriber, event }) = state.calls.pop_front() else {
            return false;
        };
        state.notified = Some(Arc::clone(&subscriber));
        drop(state);
        let type_name = &subscriber.registration.table.type_name;
        self.telemetry
            .delivery(type_name, || subscriber.deliver(event));
        true
    }

    /// The number of deliveries that have begun.
    #[must_use]
    pub fn progress(&self) -> u64 {
        self.lock().begun
    }

    /// Gives up waiting for the running delivery and its subscriber, until a call takes less than
    /// `quick`. Returns the turn for the thread that makes the remaining deliveries.
    #[must_use]
    pub fn give_up(&self, quick: Duration) -> u64 {
        let mut state = self.lock();
        state.turn += 1;
        let (turn, notified) = (state.turn, state.notified.take());
        drop(state);
        if let Some(notified) = notified {
            notified.give_up(quick);
        }
        turn
    }
}
