//! The outlet for transactions that have ended.

use dflat_model::{CommitSeq, Table};

use crate::change_set::Ended;

/// Takes transactions that have ended. Its methods are called with the lock of the open commit
/// group, unless their documentation says otherwise, and do not wait for user code.
pub trait Outlet: Send + Sync {
    /// Takes transactions that have ended, in the order of their commits.
    fn push(&self, ended: &mut dyn Iterator<Item = Ended>);

    /// Notes that another program has committed, not before the commit `seq` of this engine.
    fn foreign_commit(&self, seq: CommitSeq);

    /// Whether a subscriber may keep objects of a table. It waits for no lock.
    fn is_observed(&self, table: &Table) -> bool;

    /// Whether a commit to a table that is made now may have a subscriber to notify: a subscriber
    /// that is registered, or whose registration is queued.
    fn may_be_observed(&self, table: &Table) -> bool;

    /// Has another thread deliver the transactions that were pushed. Called without a lock.
    fn hand_over(&self);
}
