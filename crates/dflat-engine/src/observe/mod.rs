//! Subscriptions: change sets in, deliveries out.
//!
//! A [`Registry`] has the subscriptions. It takes registrations and change sets in the order of
//! commits, and returns a [`Publication`] for each: the calls of callbacks to make, for objects
//! first, then for results. The caller makes these calls, with no lock held.
//!
//! Three rooms lie below: `matching` finds the changed rows of each live query, `result` changes
//! its list or its number, and `notification` calls one subscriber. Only the files of this folder
//! know all three.

mod event;
mod live_queries;
mod live_query;
mod matching;
mod notification;
mod object_subscriptions;
mod publication;
mod registering;
mod registry;
mod rereading;
mod result;
mod subscriber;
mod subscription;

pub use event::{Event, ObjectEvent};
pub use live_query::Refetch;
pub use matching::{Interest, ShapedQuery};
pub use notification::{Absorb, Callback, Executor, Job, Mailbox, Notifier};
pub use publication::Publication;
pub use registering::{InitialState, LatestResult};
pub use registry::{DeliveryOptions, Registry};
pub use result::{
    Difference, LiveCount, LiveGroups, LiveResult, Move, Positions, ResultUpdate, Step,
    list_difference, unlimited, with_margin,
};
pub use subscriber::Subscriber;
pub use subscription::{Subscription, SubscriptionEnd};
