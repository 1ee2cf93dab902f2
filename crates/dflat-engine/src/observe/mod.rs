//! The observing half: change sets in, deliveries out.
//!
//! A [`Registry`] holds what is subscribed. Whoever commits hands it the change set while it still
//! has the turn of the tables concerned, so that deliveries keep the order of commits. Objects are
//! told before results. No lock is held while a callback runs.

mod delivery;
mod live_result;
mod registry;

pub use delivery::Callback;
pub use live_result::LiveResult;
pub use registry::{ObjectEvent, Registry, Subscription, SubscriptionEnd};
