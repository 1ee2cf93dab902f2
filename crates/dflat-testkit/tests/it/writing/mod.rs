//! Transactions: durability, commit groups, histories and random work.

mod durability;
mod group_size;
pub(crate) mod groups;
mod history;
mod large;
mod large_objects;
mod patience;
pub(crate) mod scripted;
mod workload;
