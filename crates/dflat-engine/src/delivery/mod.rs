//! Delivery of ended transactions, one at a time and in the order of commits.
//!
//! A commit's change set is matched with the subscriptions, its subscribers are called, then the
//! completion of its transaction. The queue knows neither how transactions commit nor how
//! subscriptions are matched: the engine pushes [`Ended`](crate::change_set::Ended) transactions
//! into it, and does the matching as a [`Deliver`].

mod arrivals;
mod call_limits;
mod deliveries;
mod queue;
mod threads;

pub use deliveries::Deliveries;
pub use queue::{Calls, Deliver, Registration};

/// Limit of the changed rows that wait to be matched with subscriptions. Beyond it, transactions
/// wait for the matching at their end.
pub const UNMATCHED_MAX: usize = 65_536;
