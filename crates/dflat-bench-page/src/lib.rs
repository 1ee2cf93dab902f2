//! The page of benchmarks, its charts, and the paragraph in README, all from stored figures.
//!
//! [`figures`] reads what a run has measured, [`losses`] the texts about scenarios in which a rival
//! is ahead. [`chart`] draws, [`page`] writes, and [`files`] puts all into the repository or
//! compares it with the repository.

pub mod amount;
pub mod chart;
pub mod compile;
pub mod figures;
pub mod files;
pub mod floors;
pub mod losses;
pub mod merge;
pub mod page;

/// The outcome of an operation of this program.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// The store whose figures are the measure of all others.
pub const OURS: &str = "Dflat";

/// The folder of stored figures and charts, below the root of the repository.
pub const FOLDER: &str = "docs/benchmarks";
