//! The trait of generated objects.

mod objects;
mod payload;

use std::marker::PhantomData;

use dflat_engine::object::{Origin, TableView, exceeded_limit};
use dflat_model::{ROOT_TYPE, RowId, Table};

use crate::codec::{Handle, KeyParts, Message, TableReader};
use crate::{Error, ErrorKind, Result};
pub(crate) use objects::Objects;
pub use payload::Payload;

/// A stored type: implemented by generated code for each root table of a schema.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a stored type",
    label = "not a root table of a schema",
    note = "objects of a table are stored if its schema has `root_type` with the table's name, or \
            the table has the attribute `stored`"
)]
pub trait Object: Clone + Send + Sync + 'static {
    /// The type's table, as an argument of `perform_changes`.
    const TABLE: Table;

    /// The primary key's type; a tuple if it has several fields.
    type Key<'k>;

    /// The object's values as a plain struct, by which objects are created and changed.
    type Data: Message;

    /// The key as plain data.
    #[doc(hidden)]
    fn key_values<'k>(key: Self::Key<'k>) -> KeyParts<'k>;

    /// The typed handle on an object of this type.
    #[doc(hidden)]
    fn from_handle(handle: Handle) -> Self;

    /// The untyped handle.
    #[doc(hidden)]
    fn handle(&self) -> &Handle;

    /// The view on the object's values.
    #[doc(hidden)]
    #[inline]
    fn view(&self) -> <Self::Data as Message>::Ref<'_> {
        view_of::<Self::Data>(self.handle())
    }

    /// Reads an object from the bytes of a payload of any origin. The object is not stored, so its
    /// [`row_id`](Self::row_id) is 0, and it is looked up by its primary key.
    ///
    /// The bytes are verified and copied once. Fields of a newer schema are kept.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the bytes are not a payload of this type, lack a required field,
    /// or share parts beyond the limits of the format.
    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let table = Self::TABLE;
        let handle = Handle::new(&table, RowId(0), Origin::default(), bytes).map_err(|_| {
            let name = &table.type_name;
            let why = exceeded_limit(&table.types, ROOT_TYPE, bytes).unwrap_or("it is malformed");
            let message = format!("cannot read the payload of a {name}: {why}");
            Error::new(ErrorKind::Corrupt, message)
        })?;
        Ok(Self::from_handle(handle))
    }

    /// The bytes of the object's payload: a FlatBuffer, as `flatc` reads it. A copy.
    fn to_bytes(&self) -> Vec<u8> {
        self.handle().payload().to_vec()
    }

    /// The object's identity within its type: positive, increasing, never reused.
    fn row_id(&self) -> RowId {
        self.handle().row_id()
    }

    /// A copy of the object's values as a plain struct.
    fn to_data(&self) -> Self::Data {
        Self::Data::decode(self.view())
    }

    /// A copy that keeps no other object's bytes in memory. An object of a fetched result keeps up
    /// to 64 KiB of other objects in memory. So does an object returned by a transaction that
    /// writes many objects to a table without subscribers.
    #[must_use]
    fn detach(&self) -> Self {
        Self::from_handle(self.handle().detach())
    }
}

/// The table of a type by reference, which needs no copy where it is used.
pub(crate) struct Stored<T>(PhantomData<fn() -> T>);

impl<T: Object> Stored<T> {
    pub(crate) const TABLE: &'static Table = &T::TABLE;
}

/// The view on the values that an object holds.
#[inline]
pub(crate) fn view_of<M: Message>(handle: &Handle) -> M::Ref<'_> {
    let root = TableView::root(handle.payload());
    M::view(TableReader::new(root.unwrap_or_default()))
}
