//! Subscriptions to objects, queries and counts, and what they deliver.

mod delivery;
mod subscription;

pub(crate) use subscription::SubscriptionHandle;
