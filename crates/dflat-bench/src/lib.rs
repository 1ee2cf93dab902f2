//! Benchmarks of Dflat beside a floor of raw SQLite.
//!
//! A [`scenario`] does a piece of work through the public interface (`ours`) and, in turn with
//! that, the same work by the [`floor`], with as few calls of SQLite as possible. Each scenario
//! checks its results. [`scaling`] runs some scenarios in small and in large tables. [`idle`]
//! counts the memory of subscriptions. [`crossover`] measures the number of live queries from which
//! they should be found by the values in their conditions. [`counts`] compares instruction counts
//! with stored counts. [`measure`] defines the reported figures, [`workload`] the objects, and
//! [`allocator`] how memory is counted. [`soak`] is a load for hours.

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

/// The outcome of an operation of a benchmark.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// Returns an error unless the measured value `is` equals `wanted`.
pub(crate) fn check<T: PartialEq + std::fmt::Debug>(what: &str, is: &T, wanted: &T) -> Result<()> {
    if is == wanted {
        Ok(())
    } else {
        Err(format!("{what}: {is:?} instead of {wanted:?}").into())
    }
}
