//! Where transactions go that have ended.

use dflat_model::{CommitSeq, Table};

use crate::change_set::Ended;

/// Takes transactions that have ended. Its methods are called with the lock of the open group,
/// unless they say otherwise, and wait for no user code.
pub trait Outlet: Send + Sync {
    /// Takes transactions that have ended, in the order of their commits.
    fn push(&self, ended: &mut dyn Iterator<Item = Ended>);

    /// Takes note that another program has committed, not before the commit `seq` of this engine.
    fn foreign_commit(&self, seq: CommitSeq);

    /// Whether a subscriber may keep objects of a table. It waits for no lock.
    fn is_observed(&self, table: &Table) -> bool;

    /// Whether a subscriber may be notified of a commit to a table that is made now: one that is
    /// registered, or whose registration waits for its place.
    fn may_be_observed(&self, table: &Table) -> bool;

    /// Has a thread of its own deliver what was pushed. Called without a lock.
    fn hand_over(&self);
}
