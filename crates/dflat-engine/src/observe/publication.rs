//! What is to be told because of a commit or a registration.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Event;
use super::subscriber::Subscriber;
use crate::object::Object;
use crate::telemetry::Telemetry;

/// A delivery to come.
pub(super) struct Call {
    pub(super) subscriber: Arc<Subscriber>,
    pub(super) event: Event,
}

/// Deliveries that are made one after the other, by one thread at a time: the one whose turn it is.
pub struct Publication {
    telemetry: Arc<Telemetry>,
    state: Mutex<State>,
    /// Results from before, which are let go with it: nobody waits for that to be told.
    _replaced: Vec<Arc<Vec<Object>>>,
}

struct State {
    calls: VecDeque<Call>,
    /// Who is told now.
    told: Option<Arc<Subscriber>>,
    begun: u64,
    turn: u64,
}

impl Publication {
    /// The deliveries in this order, which keep the results from before; `None` if there are none.
    pub(super) fn of(
        telemetry: &Arc<Telemetry>,
        calls: VecDeque<Call>,
        replaced: Vec<Arc<Vec<Object>>>,
    ) -> Option<Arc<Self>> {
        let state = State {
            calls,
            told: None,
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

    fn lock(&self) -> MutexGuard<'_, State> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the next delivery; false if there is none, or the turn is another's.
    #[must_use]
    pub fn tell_next(&self, turn: u64) -> bool {
        let mut state = self.lock();
        if state.turn != turn {
            return false;
        }
        state.begun += 1;
        state.told = None;
        let Some(Call { subscriber, event }) = state.calls.pop_front() else {
            return false;
        };
        state.told = Some(Arc::clone(&subscriber));
        drop(state);
        let type_name = &subscriber.registration.table.type_name;
        self.telemetry
            .delivery(type_name, || subscriber.deliver(event));
        true
    }

    /// How many deliveries have begun.
    #[must_use]
    pub fn progress(&self) -> u64 {
        self.lock().begun
    }

    /// Lets nobody wait for the delivery that is being made, or its subscriber, until a call took
    /// less than `quick`; the turn of who makes those left.
    #[must_use]
    pub fn give_up(&self, quick: Duration) -> u64 {
        let mut state = self.lock();
        state.turn += 1;
        let (turn, told) = (state.turn, state.told.take());
        drop(state);
        if let Some(told) = told {
            told.give_up(quick);
        }
        turn
    }
}
