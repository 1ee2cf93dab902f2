//! The durability of commits, and the outcome of a commit whose answer was lost.

mod doubts;
mod durability;
mod isolation;
mod log;
