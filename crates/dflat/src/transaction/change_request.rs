//! A change to one object.

use std::fmt;
use std::ops::{Deref, DerefMut};

use dflat_engine::object::Writer;
use dflat_engine::transaction::{Change, Outcome, Transaction, TransactionObject};
use dflat_model::{RowId, Table};

use super::encoded::{Encoded, encode_named, encode_update};
use super::{TransactionContext, UpdatedObject};
use crate::codec::{Encoder, Handle, Message, TableReader};
use crate::object::{Stored, view_of};
use crate::{Object, Result};

/// A change to an object of type `T`: its creation, an update, an upsert, its restoration or its
/// deletion.
///
/// It holds the new values of the object; change them through it before it is submitted. Generated
/// code names it `PostChangeRequest` for the type `Post`.
///
/// A request belongs to the transaction it was made for: [`change`](Self::change) and
/// [`deletion`](Self::deletion) look their object up there, and submitting the request in another
/// transaction is an error.
///
/// # Examples
/// ```
/// # mod post {
/// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
/// # }
/// use dflat::{ErrorKind, UpdatedObject, Workspace};
/// use post::{Post, PostChangeRequest, PostData};
/// # fn main() -> dflat::Result<()> {
/// let workspace = Workspace::in_memory();
/// let done = workspace.perform_changes([Post::TABLE], |tx| {
///     let data = PostData { title: "a".into(), ..PostData::default() };
///     tx.submit(PostChangeRequest::creation(data.clone()))?;
///     // The key is taken now. That is no reason to give up: the transaction goes on.
///     let again = tx.submit(PostChangeRequest::creation(data.clone())).unwrap_err();
///     assert_eq!(again.kind(), ErrorKind::AlreadyExists);
///     let same = tx.submit(PostChangeRequest::upsert(data.clone()))?;
///     assert!(matches!(same, UpdatedObject::Identity(_)));
///     let other = tx.submit(PostChangeRequest::upsert(PostData { priority: 1, ..data }))?;
///     let Some(post) = other.into_object() else { return Ok(None) };
///     PostChangeRequest::deletion(tx, &post)?.map(|request| tx.submit(request)).transpose()
/// });
/// assert!(matches!(done.wait()?, Some(UpdatedObject::Deleted(_))));
/// # Ok(())
/// # }
/// ```
pub struct ChangeRequest<T: Object> {
    data: T::Data,
    target: Target,
}

/// The part of a request that does not depend on its type.
struct Target {
    kind: Kind,
    /// The state that the stored object must have, if the request is optimistic.
    seen: Option<Handle>,
}

pub(super) enum Kind {
    Creation,
    Upsert,
    Restoration(Handle),
    Update(TransactionObject),
    Deletion(TransactionObject),
}

impl<T: Object> ChangeRequest<T> {
    /// The creation of an object with these values.
    ///
    /// Submitting it fails with [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) if
    /// there is an object with its primary key. If the schema has `auto` on the key, and the key is
    /// 0 or empty, the library assigns one;
    /// [`submit`](TransactionContext::submit) returns the object with it.
    #[must_use]
    pub fn creation(data: T::Data) -> Self {
        Self::new(data, Kind::Creation)
    }

    /// The creation of an object with these values; if there is an object with its primary key, the
    /// replacement of all its values.
    #[must_use]
    pub fn upsert(data: T::Data) -> Self {
        Self::new(data, Kind::Upsert)
    }

    /// The restoration of an object as it was read: its bytes are stored as they are. If there is
    /// an object with its primary key, the bytes replace those of that object; otherwise they are
    /// inserted, as a new row.
    ///
    /// Use it to undo changes. The bytes also hold the values of fields that newer code wrote and
    /// this program's schema lacks; a request made from [`to_data`](Object::to_data) does not. The
    /// request shows the values of `object`, but changes to them are not stored. If the primary key
    /// was changed, the object with the new key stays. If `object` lacks required values, because
    /// [`Fetch::unchecked`](crate::Fetch::unchecked) read it, the restored object lacks them too.
    ///
    /// Submitting it fails with [`NewerSchema`](crate::ErrorKind::NewerSchema) if the bytes do not
    /// fit the schema of newer code that has written to the file. The transaction goes on.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::{Post, PostChangeRequest, PostData};
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let seen = workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///     let data = PostData { title: "a".into(), priority: 7, ..PostData::default() };
    ///     Ok(tx.submit(PostChangeRequest::creation(data))?.into_object())
    /// })?;
    /// let seen = seen.expect("it was inserted");
    /// let all = || Post::TITLE.is_not_null();
    /// workspace.perform_changes_blocking([Post::TABLE], |tx| tx.delete_where(all()))?;
    /// workspace.perform_changes_blocking([Post::TABLE], |tx| {
    ///     tx.submit(PostChangeRequest::restoration(&seen))
    /// })?;
    /// assert_eq!(workspace.get::<Post>("a")?.map(|post| post.priority()), Some(7));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn restoration(object: &T) -> Self {
        let handle = object.handle().clone();
        let data = T::Data::decode(view_of::<T::Data>(&handle));
        Self::new(data, Kind::Restoration(handle))
    }

    /// An update of an object. It starts from the latest values, which may differ from those of
    /// `object`. `None` if the object was deleted.
    ///
    /// If `object` lacks required values, because [`Fetch::unchecked`](crate::Fetch::unchecked)
    /// read it, these start as empty, and the update stores all values.
    ///
    /// # Errors
    /// As [`TransactionContext::get`].
    pub fn change(tx: &TransactionContext, object: &T) -> Result<Option<Self>> {
        let latest = tx.latest(object)?;
        Ok(latest.map(Self::update))
    }

    /// The deletion of an object; `None` if it was deleted already.
    ///
    /// # Errors
    /// As [`TransactionContext::get`].
    #[inline]
    pub fn deletion(tx: &TransactionContext, object: &T) -> Result<Option<Self>> {
        let latest = tx.latest_to_delete(object)?;
        // The values of a deletion are not used: those of a table without fields cost least.
        let unused = || T::Data::decode(T::Data::view(TableReader::default()));
        Ok(latest.map(|latest| Self::new(unused(), Kind::Deletion(latest))))
    }

    /// Makes the request optimistic: submitting it fails with
    /// [`ErrorKind::OutOfDate`](crate::ErrorKind::OutOfDate), and changes nothing, unless `seen` is
    /// still stored with the same values. The transaction goes on. Changes by the same transaction
    /// count too.
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
    /// workspace.perform_changes([Post::TABLE], |tx| {
    ///     let data = PostData { title: "a".into(), ..PostData::default() };
    ///     tx.submit(PostChangeRequest::creation(data))
    /// }).wait()?;
    /// // The object is shown to a user, who decides by its values.
    /// let seen = workspace.get::<Post>("a")?.expect("it was created");
    /// let decide = |seen: Post| workspace.perform_changes_retrying([Post::TABLE], move |tx| {
    ///     let Some(mut request) = PostChangeRequest::change(tx, &seen)? else { return Ok(()) };
    ///     request.priority += 1;
    ///     tx.submit(request.if_unchanged(&seen)).map(drop)
    /// });
    /// decide(seen.clone()).wait()?;
    /// let error = decide(seen).wait().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::OutOfDate);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cost
    /// A look-up by row id, unless this transaction has read `seen`, or the library knows that the
    /// object was not changed since it was read.
    #[must_use]
    pub fn if_unchanged(mut self, seen: &T) -> Self {
        self.target.seen = Some(seen.handle().clone());
        self
    }

    /// An update that starts from the latest values.
    pub(super) fn update(latest: TransactionObject) -> Self {
        let data = T::Data::decode(view_of::<T::Data>(latest.object()));
        Self::new(data, Kind::Update(latest))
    }

    #[inline]
    fn new(data: T::Data, kind: Kind) -> Self {
        let target = Target { kind, seen: None };
        Self { data, target }
    }

    /// Encodes the request and submits it.
    #[inline]
    pub(super) fn submit(self, transaction: &Transaction) -> Result<UpdatedObject<T>> {
        let Self { data, target } = self;
        let encode = |encoder: &mut Encoder<'_>| data.encode(encoder);
        let (object, made) = match target.submit(Stored::<T>::TABLE, transaction, &encode)? {
            Submitted::Stored(handle, made) => (T::from_handle(handle), made),
            Submitted::Deleted(row_id) => return Ok(UpdatedObject::Deleted(row_id)),
        };
        Ok(match made {
            Made::Inserted => UpdatedObject::Inserted(object),
            Made::Updated => UpdatedObject::Updated(object),
            Made::Identity => UpdatedObject::Identity(object),
        })
    }

    /// The payload that the request stores.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a deletion; otherwise the errors
    /// of encoding.
    #[cfg(feature = "history")]
    pub(crate) fn payload(self) -> Result<Vec<u8>> {
        let encoded = self.encoded()?;
        if matches!(encoded.kind, Kind::Deletion(_)) {
            let message = "a deletion has no values";
            return Err(crate::Error::new(
                crate::ErrorKind::InvalidArgument,
                message,
            ));
        }
        Ok(encoded.payload)
    }

    /// Encodes the request.
    pub(super) fn encoded(self) -> Result<Encoded> {
        let Self { data, target } = self;
        let encode = |encoder: &mut Encoder<'_>| data.encode(encoder);
        let table = Stored::<T>::TABLE;
        let (payload, lacking) = match &target.kind {
            Kind::Deletion(_) => (Vec::new(), None),
            Kind::Restoration(object) => (object.payload().to_vec(), None),
            Kind::Creation | Kind::Upsert => Writer::with_kept(|writer| {
                let payload = encode_named(writer, table, &encode)?;
                Ok((payload.to_vec(), None))
            })?,
            Kind::Update(_) => Writer::with_kept(|writer| {
                let (payload, lacking) = encode_update(writer, table, &encode)?;
                Ok((payload.to_vec(), lacking))
            })?,
        };
        Ok(Encoded {
            kind: target.kind,
            seen: target.seen,
            payload,
            lacking,
        })
    }
}

/// The outcome of a request, before its object gets a type.
enum Submitted {
    Stored(Handle, Made),
    Deleted(RowId),
}

enum Made {
    Inserted,
    Updated,
    Identity,
}

impl From<Outcome> for Submitted {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Inserted(object) => Self::Stored(object, Made::Inserted),
            Outcome::Updated(object) => Self::Stored(object, Made::Updated),
            Outcome::Identity(object) => Self::Stored(object, Made::Identity),
            Outcome::Deleted(row_id) => Self::Deleted(row_id),
        }
    }
}

impl Target {
    fn submit(
        self,
        table: &Table,
        transaction: &Transaction,
        encode: &dyn Fn(&mut Encoder<'_>),
    ) -> Result<Submitted> {
        let outcome = self.outcome(table, transaction, encode)?;
        Ok(outcome.into())
    }

    /// Submits the request with the values that `encode` writes.
    fn outcome(
        self,
        table: &Table,
        transaction: &Transaction,
        encode: &dyn Fn(&mut Encoder<'_>),
    ) -> Result<Outcome> {
        if let Some(seen) = &self.seen {
            transaction.check_unchanged(table, seen)?;
        }
        if let Kind::Deletion(base) = self.kind {
            return transaction.submit(table, Change::Delete { base });
        }
        if let Kind::Restoration(object) = &self.kind {
            let payload = object.payload();
            return transaction.submit(table, Change::Restore { payload });
        }
        Writer::with_kept(|writer| {
            if let Kind::Update(base) = self.kind {
                let (payload, lacking) = encode_update(writer, table, encode)?;
                let change = Change::Update {
                    base,
                    payload,
                    lacking,
                };
                return transaction.submit(table, change);
            }
            let payload = encode_named(writer, table, encode)?;
            let change = match self.kind {
                Kind::Creation => Change::Create { payload },
                _ => Change::Upsert { payload },
            };
            transaction.submit(table, change)
        })
    }
}

impl<T: Object> Deref for ChangeRequest<T> {
    type Target = T::Data;

    fn deref(&self) -> &T::Data {
        &self.data
    }
}

impl<T: Object> DerefMut for ChangeRequest<T> {
    fn deref_mut(&mut self) -> &mut T::Data {
        &mut self.data
    }
}

impl<T: Object> fmt::Debug for ChangeRequest<T>
where
    T::Data: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.target.kind {
            Kind::Creation => "Creation",
            Kind::Upsert => "Upsert",
            Kind::Restoration(_) => "Restoration",
            Kind::Update(_) => "Update",
            Kind::Deletion(_) => "Deletion",
        };
        f.debug_tuple(kind).field(&self.data).finish()
    }
}
