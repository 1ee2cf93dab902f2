//! Subscriptions: change sets in, deliveries out.
//!
//! A [`Registry`] has the subscriptions. It takes registrations and change sets in the order of
//! commits, and returns a [`Publication`] for each: the calls of callbacks to make, for objects
//! first, then for results. The caller makes these calls, with no lock held.

mod boundary;
mod changed_rows;
mod delivery;
mod difference;
mod event;
mod hash;
mod index_key;
mod interest;
mod intervals;
mod live_count;
mod live_queries;
mod live_query;
mod live_result;
mod mailbox;
mod matcher;
mod matching_rows;
mod merge;
mod notifier;
mod object_subscriptions;
mod positions;
mod publication;
mod registry;
mod row_merge;
mod shape;
mod slots;
mod subscriber;
mod subscription;

pub use delivery::Callback;
pub use difference::{Difference, Move, Step};
pub use event::{Event, ObjectEvent};
pub use interest::Interest;
pub use live_count::{LiveCount, unlimited};
pub use live_query::Refetch;
pub use live_result::{LiveResult, ResultUpdate, with_margin};
pub use mailbox::{Absorb, Mailbox};
pub use notifier::{Executor, Job, Notifier};
pub use positions::Positions;
pub use publication::Publication;
pub use registry::{DeliveryOptions, First, Latest, Registry};
pub use shape::ShapedQuery;
pub use subscriber::Subscriber;
pub use subscription::{Subscription, SubscriptionEnd};
