//! Dflat beside other stores that a Rust program can embed.
//!
//! A [`scenario`] is a piece of work that each of the [`store`]s does with the objects of
//! [`record`], and that is compared with an oracle. [`dictionary`] does the same with small values.
//! [`measure`] lets the stores take turns, [`figures`] is the file that they end in, and [`usage`]
//! counts what the process used.

pub mod dictionary;
pub mod figures;
pub mod measure;
pub mod record;
pub mod scenario;
pub mod store;
pub mod usage;

/// The outcome of an operation of a benchmark.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// The types of the schemas.
mod schema {
    include!(concat!(env!("OUT_DIR"), "/record.rs"));
}
