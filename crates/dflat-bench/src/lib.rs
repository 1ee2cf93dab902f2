//! Benchmarks of Dflat beside a floor of raw SQLite.
//!
//! A [`scenario`] does a piece of work through the public interface and, in turn with that, the
//! same work by the [`floor`]: as few calls of SQLite as it takes. Each checks what it did.
//! [`scaling`] does some of it in small and in large tables; [`idle`] counts what subscriptions
//! take; [`crossover`] says from how many on they are found by their values; [`counts`] compares
//! instruction counts with stored ones. [`measure`] says what is reported, [`workload`] what the
//! objects are, and [`allocator`] how memory is counted.
//! [`soak`] is a load for hours.

pub mod allocator;
pub mod counts;
pub mod crossover;
pub mod floor;
pub mod idle;
pub mod measure;
pub mod scaling;
pub mod scenario;
pub mod soak;
pub mod workload;

/// The outcome of what a benchmark does.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// An error unless what was measured is right.
pub(crate) fn check<T: PartialEq + std::fmt::Debug>(what: &str, is: &T, wanted: &T) -> Result<()> {
    if is == wanted {
        Ok(())
    } else {
        Err(format!("{what}: {is:?} instead of {wanted:?}").into())
    }
}
