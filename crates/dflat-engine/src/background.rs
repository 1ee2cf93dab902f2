//! Background calls: blocking calls that threads of the library make for callers that must not
//! block.
//!
//! The number of the threads is bounded. The calls wait in the order in which they were queued, and
//! a call that waits can be withdrawn.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::sync::{self, Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How long a thread without a call waits before it ends.
const IDLE: Duration = Duration::from_secs(5);

/// A blocking call, with all that it needs.
pub type Call = Box<dyn FnOnce() + Send>;

/// The threads that make background calls, and the calls that wait for a thread.
pub struct Background {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Signalled when a call waits for an idle thread.
    queued: Condvar,
    name: &'static str,
    threads_max: usize,
}

#[derive(Default)]
struct State {
    /// The calls that have not begun, by number, in order.
    waiting: BTreeMap<u64, Call>,
    /// The number of the next call.
    next: u64,
    threads: usize,
    idle: usize,
    /// Whether threads end as soon as no call waits.
    closed: bool,
}

/// The place of a queued call.
#[derive(Clone)]
pub struct Place {
    shared: Arc<Shared>,
    number: u64,
}

impl Background {
    /// No threads yet, and at most `threads_max` later. `name` is the name of each thread.
    #[must_use]
    pub fn new(name: &'static str, threads_max: usize) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                queued: Condvar::new(),
                name,
                threads_max: threads_max.max(1),
            }),
        }
    }

    /// Queues a call, and returns at once.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if there is no thread and none can be started. The call is dropped then.
    pub fn queue(&self, call: Call) -> Result<Place> {
        let shared = &self.shared;
        let mut state = shared.lock();
        let number = state.next;
        state.next += 1;
        state.waiting.insert(number, call);
        if state.idle >= state.waiting.len() || state.threads >= shared.threads_max {
            drop(state);
            shared.queued.notify_one();
        } else if let Err(error) = shared.start_thread(&mut state) {
            let call = state.waiting.remove(&number);
            drop(state);
            drop(call);
            return Err(error);
        }
        let shared = Arc::clone(shared);
        Ok(Place { shared, number })
    }

    /// Lets each thread end as soon as no call waits, without waiting for a thread. Calls that are
    /// queued later are made all the same.
    pub fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.queued.notify_all();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.close();
    }
}

impl Place {
    /// Withdraws the call and drops it, unless the call has begun.
    pub fn withdraw(&self) {
        let call = self.shared.lock().waiting.remove(&self.number);
        // The call may hold values of the caller, which are dropped without the lock.
        drop(call);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Neither a call nor the drop of a call runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread. If a thread runs, a failure is no error: that thread makes the call.
    fn start_thread(self: &Arc<Self>, state: &mut State) -> Result<()> {
        let shared = Arc::clone(self);
        match sync::spawn(self.name, move || shared.work()) {
            Ok(()) => state.threads += 1,
            Err(_) if state.threads > 0 => self.queued.notify_one(),
            Err(error) => {
                let message = "no thread can be started";
                return Err(Error::with_source(ErrorKind::Io, message, error));
            }
        }
        Ok(())
    }

    /// Makes calls until there have been none for a while.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some((_, call)) = state.waiting.pop_first() {
                drop(state);
                // A panic must not end the thread: other calls wait for it.
                let _ = catch_unwind(AssertUnwindSafe(call));
                state = self.lock();
                continue;
            }
            if state.closed {
                break;
            }
            state.idle += 1;
            let waited = self.queued.wait_timeout(state, IDLE);
            let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if timeout.timed_out() && state.waiting.is_empty() {
                break;
            }
        }
        state.threads -= 1;
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({})", self.number)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A background whose only thread waits until the returned sender is dropped.
    fn busy() -> (Background, mpsc::Sender<()>) {
        let background = Background::new("test", 1);
        let (release, blocked) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        let call = move || {
            begin.send(()).unwrap();
            let _ = blocked.recv();
        };
        background.queue(Box::new(call)).unwrap();
        begun.recv().unwrap();
        (background, release)
    }

    #[test]
    fn calls_begin_in_the_order_of_the_queue() {
        let (background, release) = busy();
        let (send, numbers) = mpsc::channel();
        for number in 0..100 {
            let send = send.clone();
            let call = Box::new(move || send.send(number).unwrap());
            background.queue(call).unwrap();
        }
        drop((send, release));
        assert_eq!(
            numbers.iter().collect::<Vec<_>>(),
            (0..100).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_withdrawn_call_is_dropped_at_once_and_never_made() {
        let (background, release) = busy();
        let (send, made) = mpsc::channel();
        let sender = send.clone();
        let place = background.queue(Box::new(move || sender.send("withdrawn").unwrap()));
        place.unwrap().withdraw();
        let last = background.queue(Box::new(move || send.send("last").unwrap()));
        drop(release);
        assert_eq!(made.iter().collect::<Vec<_>>(), ["last"]);
        // The call has begun, so there is nothing to withdraw.
        last.unwrap().withdraw();
    }

    #[test]
    fn the_number_of_threads_is_bounded_and_each_call_is_made() {
        let background = Background::new("test", 3);
        let (send, threads) = mpsc::channel();
        for _ in 0..1_000 {
            let send = send.clone();
            let call = Box::new(move || send.send(std::thread::current().id()).unwrap());
            background.queue(call).unwrap();
        }
        drop(send);
        let made: Vec<_> = threads.iter().collect();
        let different: std::collections::HashSet<_> = made.iter().collect();
        assert_eq!(made.len(), 1_000);
        assert!(different.len() <= 3, "{different:?}");
    }

    #[test]
    fn a_panic_of_a_call_does_not_keep_others_from_being_made() {
        let background = Background::new("test", 1);
        background.queue(Box::new(|| panic!("expected"))).unwrap();
        let (send, made) = mpsc::channel();
        background
            .queue(Box::new(move || send.send(()).unwrap()))
            .unwrap();
        made.recv().unwrap();
    }

    #[test]
    fn a_closed_background_makes_the_calls_that_wait_and_later_ones() {
        let (background, release) = busy();
        let (send, made) = mpsc::channel();
        let waiting = send.clone();
        background
            .queue(Box::new(move || waiting.send(1).unwrap()))
            .unwrap();
        background.close();
        background
            .queue(Box::new(move || send.send(2).unwrap()))
            .unwrap();
        drop(release);
        assert_eq!(made.iter().collect::<Vec<_>>(), [1, 2]);
    }
}
