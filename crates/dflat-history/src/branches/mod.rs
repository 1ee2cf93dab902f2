//! Branches: names for commits, whose objects the tables can be given.

mod checkout;
mod names;
mod set;

pub use checkout::{Checkout, checkout};
pub use names::{create, delete, tip_of};
