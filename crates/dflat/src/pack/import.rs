//! Importing the objects of a pack into a workspace.

use dflat_engine::object::field_value;
use dflat_model::ValueRef;

use super::{Pack, PackIter};
use crate::{
    ChangeRequest, Error, ErrorKind, Object, OnConflict, Result, TransactionContext, Workspace,
};

/// The number of objects of a transaction, small enough that other transactions do not wait long.
const BATCH: usize = 500;

/// A transaction ends with the object that makes it as large as this.
const BATCH_BYTES: usize = 4 << 20;

/// The number of objects of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The objects that were written, those that equal the ones in the workspace included.
    pub written: u64,
    /// The objects that were left out, because the workspace has their keys.
    pub kept: u64,
}

impl Workspace {
    /// Writes the objects of one type of a pack, in transactions of 500 objects or 4 MiB each, on
    /// this thread. Subscribers are notified as of any transaction. Memory is bounded, however
    /// large the pack is.
    ///
    /// Changes that other transactions commit in between are treated as objects that were there
    /// before.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::pack::Pack;
    /// use dflat::{OnConflict, Workspace};
    /// use post::{Post, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a directory");
    /// let post = |title: &str| PostData { title: title.into(), ..PostData::default() };
    /// let pack = Pack::build::<Post>(directory.path(), ["a", "b"].map(post))?;
    /// let workspace = Workspace::in_memory();
    /// let imported = workspace.import::<Post>(&pack, OnConflict::Fail)?;
    /// assert_eq!((imported.written, workspace.fetch::<Post>().count()?), (2, 2));
    /// assert_eq!(workspace.import::<Post>(&pack, OnConflict::Keep)?.kept, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// An error ends the import, and objects that earlier transactions have written stay. Import
    /// again with [`OnConflict::Keep`] to go on.
    /// - [`AlreadyExists`](ErrorKind::AlreadyExists) if the workspace has the key of an object and
    ///   `on_conflict` is [`OnConflict::Fail`], or has a unique value of an object.
    /// - As [`Pack::objects`].
    /// - [`Corrupt`](ErrorKind::Corrupt) if the pack is damaged.
    /// - [`WouldDeadlock`](ErrorKind::WouldDeadlock) inside a handler or a callback; otherwise as
    ///   [`TransactionHandle::wait`](crate::TransactionHandle::wait).
    pub fn import<T: Object>(&self, pack: &Pack, on_conflict: OnConflict) -> Result<Imported> {
        let mut objects: PackIter<T> = pack.objects::<T>()?.iter();
        let mut imported = Imported::default();
        loop {
            let batch = next_batch(&mut objects)?;
            if batch.is_empty() {
                return Ok(imported);
            }
            let done = self
                .perform_changes_blocking_retrying([T::TABLE], |tx| put(tx, &batch, on_conflict))?;
            imported.written += done.written;
            imported.kept += done.kept;
        }
    }
}

/// The next objects.
fn next_batch<T: Object>(objects: &mut PackIter<T>) -> Result<Vec<T>> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < BATCH && bytes < BATCH_BYTES {
        let Some(object) = objects.next().transpose()? else {
            break;
        };
        bytes += object.handle().payload().len();
        batch.push(object);
    }
    Ok(batch)
}

/// Writes objects whose keys differ.
fn put<T: Object>(
    tx: &TransactionContext,
    batch: &[T],
    on_conflict: OnConflict,
) -> Result<Imported> {
    let payloads: Vec<&[u8]> = batch
        .iter()
        .map(|object| object.handle().payload())
        .collect();
    let present = match on_conflict {
        OnConflict::Replace => vec![false; batch.len()],
        OnConflict::Keep | OnConflict::Fail => tx.have_keys_of::<T>(&payloads)?,
    };
    let mut present = present.into_iter().zip(batch);
    if on_conflict == OnConflict::Fail
        && let Some((_, object)) = present.clone().find(|(is_present, _)| *is_present)
    {
        let message = format!(
            "cannot import {}: the workspace has an object with the primary key {}; import with \
             `OnConflict::Keep` or `OnConflict::Replace`",
            T::TABLE.type_name,
            key_of(object)
        );
        return Err(Error::new(ErrorKind::AlreadyExists, message));
    }
    let absent = present.by_ref().filter(|(is_present, _)| !is_present);
    let outcomes = tx.submit_many(absent.map(|(_, object)| ChangeRequest::restoration(object)));
    let written = outcomes.into_iter().collect::<Result<Vec<_>>>()?.len() as u64;
    Ok(Imported {
        written,
        kept: batch.len() as u64 - written,
    })
}

/// The primary key of an object, for a message.
fn key_of<T: Object>(object: &T) -> String {
    let table = T::TABLE;
    let parts = table.primary_key.iter().map(|field| {
        let value = field_value(object.handle().payload(), field).unwrap_or(ValueRef::Null);
        format!("{field} = {value}")
    });
    parts.collect::<Vec<_>>().join(", ")
}
