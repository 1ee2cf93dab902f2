//! Subscribing to objects, results, queries, counts and projections.

mod deliveries;
mod groups;
mod observable;
mod observation;
mod reading;
mod update;
mod watch;

pub use deliveries::{Deliveries, DeliveriesIter};
pub use dflat_engine::observe::{Difference, Move, Positions, Step, Subscription};
pub use observable::{LiveCount, Observable, Projection, SubscribedObject};
pub use observation::Observation;
pub use update::Update;
pub use watch::Watch;
