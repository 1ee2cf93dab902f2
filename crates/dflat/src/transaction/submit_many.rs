//! Many changes in few round trips.

use dflat_engine::transaction::{Outcome, Transaction};
use dflat_model::Table;

use super::encoded::Encoded;
use super::{ChangeRequest, TransactionContext, UpdatedObject};
use crate::object::Stored;
use crate::{Object, Result};

impl TransactionContext {
    /// Carries out changes one after the other, and returns as many outcomes: those that
    /// [`submit`](Self::submit) would return. A change that is refused, for example because another
    /// object has its key, changes nothing, and those after it are carried out.
    ///
    /// On a server, many new objects and upserts share a round trip; in a file and in memory it is
    /// the same as a loop. An iterator that reads from this transaction may run before earlier
    /// changes are carried out.
    ///
    /// An error that loses the transaction is the outcome of its change, and maybe of others; the
    /// changes after it have the outcome [`Aborted`](crate::ErrorKind::Aborted).
    ///
    /// # Cost
    /// As `submit`, and on a server 1,024 encoded objects in memory. There, new objects take a
    /// round trip for each 1,024 of them, upserts and restorations two.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::{ErrorKind, Workspace};
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let titles = ["a", "b", "a", "c"];
    /// let refused = workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///     let data = titles.map(|title| PostData { title: title.into(), ..PostData::default() });
    ///     let outcomes = tx.submit_many(data.map(PostChangeRequest::creation));
    ///     let errors = outcomes.into_iter().filter_map(Result::err);
    ///     Ok(errors.map(|error| error.kind()).collect::<Vec<_>>())
    /// })?;
    /// assert_eq!(refused, [ErrorKind::AlreadyExists]);
    /// assert_eq!(workspace.fetch::<Post>().count()?, 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn submit_many<T: Object>(
        &self,
        requests: impl IntoIterator<Item = ChangeRequest<T>>,
    ) -> Vec<Result<UpdatedObject<T>>> {
        let transaction = self.inner.transaction();
        let mut requests = requests.into_iter();
        let max = transaction.batch_max();
        if max <= 1 {
            return requests.map(|request| self.submit(request)).collect();
        }
        let mut outcomes = Vec::new();
        loop {
            let batch: Vec<_> = requests
                .by_ref()
                .take(max)
                .map(ChangeRequest::encoded)
                .collect();
            if batch.is_empty() {
                return outcomes;
            }
            let batch = submit_batch(transaction, Stored::<T>::TABLE, batch);
            outcomes.extend(
                batch
                    .into_iter()
                    .map(|outcome| outcome.map(UpdatedObject::of)),
            );
        }
    }
}

/// Carries out requests. One that could not be encoded has its error as its outcome.
fn submit_batch(
    transaction: &Transaction,
    table: &Table,
    requests: Vec<Result<Encoded>>,
) -> Vec<Result<Outcome>> {
    let mut outcomes = Vec::with_capacity(requests.len());
    let mut together: Vec<Encoded> = Vec::new();
    let flush = |together: &mut Vec<Encoded>, outcomes: &mut Vec<_>| {
        let changes = together.iter().map(Encoded::change);
        outcomes.extend(transaction.submit_many(table, changes));
        together.clear();
    };
    for request in requests {
        match request {
            Ok(request) if request.seen.is_none() => together.push(request),
            request => {
                flush(&mut together, &mut outcomes);
                outcomes.push(request.and_then(|request| request.submit(table, transaction)));
            }
        }
    }
    flush(&mut together, &mut outcomes);
    outcomes
}
