//! Queries on a workspace, a snapshot or a transaction.

mod aggregate;
mod explain;
mod rows;
mod source;

use dflat_engine::fetch::{self, Control, Fetched};
use dflat_engine::object::Malformed;
use dflat_engine::storage::{Row, Snapshot};
use dflat_model::{Expression, Query, RowId, Table};

use crate::Result;
pub use aggregate::domain_of;
pub use explain::{Access, Explanation, KeyUse};
pub use rows::Rows;
pub use source::{OwnedSource, Source};

/// A query on a table, with the state that it reads and the limits of the read.
#[derive(Clone)]
pub struct Fetch<'w> {
    /// The state that the query reads.
    pub source: Source<'w>,
    /// The table.
    pub table: Table,
    /// The condition, the order and the window of the result.
    pub query: Query,
    /// The limits of the read, such as its deadline and its cancellation.
    pub control: Control,
}

impl<'w> Fetch<'w> {
    /// A query for all objects of a table, to be narrowed.
    #[must_use]
    pub fn new(source: Source<'w>, table: Table) -> Self {
        Self {
            source,
            table,
            query: Query::default(),
            control: Control::default(),
        }
    }

    /// Fetches the objects.
    ///
    /// # Errors
    /// - As [`Source::read`].
    /// - [`Corrupt`](crate::ErrorKind::Corrupt) if a row is damaged; the message names the row.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if a condition nests too deeply, or
    ///   the cursor belongs to another order.
    /// - [`Cancelled`](crate::ErrorKind::Cancelled) and
    ///   [`DeadlineExceeded`](crate::ErrorKind::DeadlineExceeded) as set in `control`.
    pub fn all(&self) -> Result<Fetched> {
        let view = fetch::view_for(&self.table, &self.query);
        self.source.read(&self.table, view, |snapshot, origin| {
            fetch::fetched(snapshot, &self.table, &self.query, &self.control, origin)
        })
    }

    /// Fetches the objects in batches, as the iterator is advanced: for results that are larger
    /// than memory. All objects are of the current state, which is held until the iterator is
    /// dropped. On a handler's thread, each batch is of the state that the transaction sees when
    /// the batch is fetched.
    ///
    /// # Errors
    /// [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown; otherwise the errors of
    /// [`all`](Self::all), from the iterator.
    pub fn rows(self) -> Result<Rows<'w>> {
        Rows::new(self)
    }

    /// Calls `read` with each row, in order, and collects the results. `read` may use the values of
    /// `expressions` only: if an index holds these values, the objects are not read. `read` must
    /// not call user code.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn select<R>(
        &self,
        expressions: &[Expression],
        read: &mut dyn FnMut(Row<'_>) -> Result<R, Malformed>,
    ) -> Result<Vec<R>> {
        self.read(|snapshot| {
            let (table, query) = (&self.table, &self.query);
            fetch::select(snapshot, table, query, expressions, &self.control, read)
        })
    }

    /// The row ids of the objects, in order.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn row_ids(&self) -> Result<Vec<RowId>> {
        self.select(&[], &mut |row| Ok(row.row_id))
    }

    fn read<R>(&self, read: impl FnOnce(&mut dyn Snapshot) -> Result<R>) -> Result<R> {
        let view = fetch::view_for(&self.table, &self.query);
        self.source
            .read(&self.table, view, |snapshot, _| read(snapshot))
    }
}
