//! The outlet for transactions that have ended.

use dflat_model::Table;

use crate::change_set::Ended;
use crate::storage::WriteTransaction;

/// Takes transactions that have ended. Its methods are called with the lock of the open commit
/// group, unless their documentation says otherwise, and do not wait for user code.
pub trait Outlet: Send + Sync {
    /// Takes transactions that have ended, in the order of their commits.
    fn push(&self, ended: &mut dyn Iterator<Item = Ended>);

    /// Takes the commits of other programs up to the base state of a transaction of the backend
    /// that has written nothing. They get their numbers before this method returns. `is_foreign`
    /// says whether there may be any since this engine's previous transaction. Returns whether
    /// something is to be delivered.
    fn catch_up(&self, writer: &mut dyn WriteTransaction, is_foreign: bool) -> bool;

    /// Notes that it is not known whether a commit was made, so that subscribers may not have its
    /// changes.
    fn doubt(&self) {}

    /// Whether a subscriber may keep objects of a table. It waits for no lock.
    fn is_observed(&self, table: &Table) -> bool;

    /// Whether a commit to a table that is made now may have a subscriber to notify: a subscriber
    /// that is registered, or whose registration is queued.
    fn may_be_observed(&self, table: &Table) -> bool;

    /// Has another thread deliver the transactions that were pushed. Called without a lock.
    fn hand_over(&self);
}
