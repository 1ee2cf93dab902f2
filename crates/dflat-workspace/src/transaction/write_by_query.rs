//! Writes by query: all objects that meet a condition, changed or deleted inside a transaction.

use dflat_engine::fetch;
use dflat_engine::storage::View;
use dflat_engine::transaction::{Change, TransactionObject};
use dflat_model::{Query, Table};

use super::TransactionContext;
use crate::{Fetch, Result};

/// The number of objects that are held in memory at a time.
const BATCH: usize = 256;

impl TransactionContext {
    /// Deletes all objects of a query, those that lack required values included. Returns their
    /// number.
    ///
    /// # Errors
    /// The errors of [`Fetch::all`] and of deleting an object. If there is an error, no object is
    /// deleted.
    ///
    /// # Memory
    /// As [`write_each`](Self::write_each).
    pub fn delete_where(&self, table: &Table, query: Query) -> Result<usize> {
        let mut fetch = Fetch::new(self.source(), table.clone());
        fetch.query = query;
        fetch.control.incomplete = true;
        self.write_each_of(&fetch, |base| {
            let change = Change::Delete { base };
            self.transaction().submit(table, change).map(drop)
        })
    }

    /// Calls `write` with the current state of each object that the query has now, in the order of
    /// the query. Changes that `write` submits meanwhile do not change the list of objects, but an
    /// object that `write` has deleted is skipped. If `write` fails, all changes that it submitted
    /// are undone. Returns the number of the query's objects.
    ///
    /// # Errors
    /// The errors of `write`; otherwise, those of [`Fetch::all`].
    ///
    /// # Memory
    /// 256 objects, and eight bytes for each object of the query, besides the memory that the
    /// transaction keeps of each change for its subscribers.
    pub fn write_each(
        &self,
        table: &Table,
        query: Query,
        write: impl FnMut(TransactionObject) -> Result<()>,
    ) -> Result<usize> {
        let mut fetch = Fetch::new(self.source(), table.clone());
        fetch.query = query;
        self.write_each_of(&fetch, write)
    }

    fn write_each_of(
        &self,
        fetch: &Fetch<'_>,
        mut write: impl FnMut(TransactionObject) -> Result<()>,
    ) -> Result<usize> {
        let (table, control) = (&fetch.table, &fetch.control);
        let row_ids = fetch.row_ids()?;
        self.nested(|| {
            for row_ids in row_ids.chunks(BATCH) {
                let objects = self
                    .source()
                    .read(table, View::Pinned, |snapshot, origin| {
                        fetch::find_many(snapshot, table, row_ids, control, origin)
                    })?;
                for object in objects {
                    if let Some(found) = self.transaction().latest(table, &object)? {
                        write(found)?;
                    }
                }
            }
            Ok(row_ids.len())
        })
    }
}
