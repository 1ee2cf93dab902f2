//! Calls one subscriber's callback, one call at a time, and keeps the deliveries that must wait.
//!
//! This room uses no other room of `observe`, and knows nothing about rows and results: an event is
//! any type that can [absorb](Absorb) the event after it.

mod callback;
mod mailbox;
mod notifier;

pub use crate::callback::{Executor, Job};
pub use callback::Callback;
pub use mailbox::{Absorb, Mailbox};
pub use notifier::Notifier;
