//! How a subscription is to be told.

use std::fmt;
use std::sync::Arc;

use dflat_engine::engine::Engine;
use dflat_engine::observe::{DeliveryOptions, Executor, Job};

use super::observable::Observed;
use super::{Deliveries, Subscription, Watch};
use crate::{Observable, Result};

/// Something to subscribe to, and how it is to be told; made by
/// [`Workspace::observe`](crate::Workspace::observe).
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(
/// #         env!("CARGO_MANIFEST_DIR"),
/// #         "/../dflat-codegen/tests/data/post/rust.rs"
/// #     ));
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

    /// Tells a query, count or projection only what changes, and not what is there at first.
    pub fn without_initial(mut self) -> Self {
        self.initial = false;
        self
    }

    /// Calls the callback by jobs that this executor is given, one at a time, on a thread of its
    /// choice. A job makes 16 calls at most; if more deliveries wait then, it has another job run
    /// before it ends. Transactions wait neither for it nor for the callback.
    ///
    /// The executor itself is called where deliveries are made and by jobs, and must not block. A
    /// job that it drops is made up for with the next delivery.
    pub fn on(mut self, executor: impl Fn(Job) + Send + Sync + 'static) -> Self {
        self.executor = Some(Arc::new(executor));
        self
    }

    /// How many deliveries wait at most for a stream, an iterator or an executor; those beyond are
    /// made one with the last, whose difference then tells all their changes. 1 unless this is
    /// called, and at least: what waits is the newest. An error takes a place of its own.
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

    /// The deliveries as a stream, which subscribes when it is polled for the first time. What an
    /// executor would be used for is left to whoever polls.
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
