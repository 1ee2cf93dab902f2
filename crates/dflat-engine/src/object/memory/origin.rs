//! Where and when an object was read.

use dflat_model::CommitSeq;

/// The engine, the state and the transaction in which an object was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The engine that read it. Row ids and commit numbers are valid within one engine only.
    pub engine: u64,
    /// The latest commit that is certain to be reflected; 0 for uncommitted changes.
    pub seq: CommitSeq,
    /// The transaction that read it, or 0. Until that transaction ends, no other one changes the
    /// object.
    pub transaction: u64,
}
