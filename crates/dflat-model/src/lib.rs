//! Plain data of the Dflat object database: descriptors, values, predicates, queries.
mod scalar;
pub use scalar::Scalar;
