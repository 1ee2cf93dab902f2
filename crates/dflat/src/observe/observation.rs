//! How the deliveries of a subscription are made.

use std::fmt;
use std::sync::Arc;

use dflat_engine::engine::Engine;
use dflat_engine::observe::{DeliveryOptions, Executor, Job};

use super::observable::Observed;
use super::{Deliveries, Subscription, Watch};
use crate::{Observable, Result};

/// A prepared subscription: its subject, and how its deliveries are made.
/// [`Workspace::observe`](crate::Workspace::observe) makes one.
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
/// # }
/// use dflat::Workspace;
/// use post::Post;
/// use std::sync::mpsc;
/// # fn main() -> dflat::Result<()> {
/// let workspace = Workspace::in_memory();
/// let (send, jobs) = mpsc::channel();
/// let subscription = workspace
///     .observe(workspace.fetch::<Post>())?
///     .on(move |job| drop(send.send(job)))
///     .call(|posts| println!("{} posts", posts.map_or(0, |posts| posts.len())))?;
/// // The thread that shows them:
/// let job = jobs.recv().expect("the result as it is");
/// job();
/// subscription.cancel();
/// # Ok(())
/// # }
/// ```
#[must_use = "an observation does nothing until it is called, streamed, iterated or watched"]
pub struct Observation<D> {
    engine: Engine,
    observed: Observed<D>,
    executor: Option<Arc<Executor>>,
    capacity: usize,
    initial: bool,
}

impl<D: Send + 'static> Observation<D> {
    pub(crate) fn new<O: Observable<Delivery = D>>(observable: O, engine: &Engine) -> Result<Self> {
        Ok(Self {
            engine: engine.clone(),
            observed: observable.observed(engine)?,
            executor: None,
            capacity: 1,
            initial: true,
        })
    }

    /// Delivers only changes of a query, count or projection, and not its initial state.
    pub fn without_initial(mut self) -> Self {
        self.initial = false;
        self
    }

    /// Calls the callback in jobs that are given to this executor, one at a time, on a thread of
    /// the executor's choice. A job makes 16 calls at most; if more deliveries wait then, it hands
    /// the executor another job before it ends. Transactions wait neither for the executor nor for
    /// the callback.
    ///
    /// The executor itself is called on threads that make deliveries, and by jobs; it must not
    /// block. If it drops a job, the next delivery makes up for it.
    pub fn on(mut self, executor: impl Fn(Job) + Send + Sync + 'static) -> Self {
        self.executor = Some(Arc::new(executor));
        self
    }

    /// How many deliveries wait at most for a stream, an iterator or an executor. Further
    /// deliveries are merged into the last one, whose difference then has the changes of all.
    /// Defaults to 1, which is the least: the newest delivery waits. Errors are not merged.
    pub fn buffer(mut self, deliveries: usize) -> Self {
        self.capacity = deliveries.max(1);
        self
    }

    /// Calls `callback` with each delivery, from now on until the subscription is cancelled or
    /// dropped: see [`Workspace::subscribe`](crate::Workspace::subscribe).
    ///
    /// # Errors
    /// [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    pub fn call(self, mut callback: impl FnMut(D) + Send + 'static) -> Result<Subscription> {
        let Observed {
            table,
            subject,
            mut convert,
            ..
        } = self.observed;
        let delivery_options = DeliveryOptions {
            executor: self.executor,
            capacity: self.capacity,
        };
        let initial = self.initial;
        let function = Box::new(move |event| {
            if let Some(delivery) = convert(event, initial) {
                callback(delivery);
            }
        });
        self.engine
            .observe(&table, subject, delivery_options, function)
    }

    /// The deliveries as a stream, which subscribes when it is polled for the first time. An
    /// executor that was set is not used: the polling task decides where it runs.
    pub fn stream(self) -> Deliveries<D> {
        Deliveries::new(self.engine, self.observed, self.capacity, self.initial)
    }

    /// A cell that holds the latest delivery.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn watch(self) -> Result<Watch<D>>
    where
        D: Clone,
    {
        Watch::new(self)
    }
}

impl<D> fmt::Debug for Observation<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Observation(of {})", self.observed.table.type_name)
    }
}
