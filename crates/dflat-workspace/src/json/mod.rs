//! Payloads as JSON, converted by their type descriptors, in the form of `flatc --json`.
//!
//! Fields that are absent, and numbers that equal their default, are left out. An enum is written
//! as its name, or as a number if it has no name. A union has a second field with the suffix
//! `_type`. NaN and the infinities are the strings `nan`, `inf` and `-inf`.

mod number;
mod read;
mod tree;
mod write;

use dflat_engine::object::{TableView, exceeded_limit, verify_as};
use dflat_model::{ROOT_TYPE, Table, TypeDescriptor, TypeId};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, Serializer};

/// A type of a schema, with which payloads are read from JSON and written as JSON.
#[derive(Clone, Copy, Debug)]
pub struct JsonType<'t> {
    types: &'t [TypeDescriptor],
    root: TypeId,
}

impl<'t> JsonType<'t> {
    /// The type of a table's objects.
    #[must_use]
    pub fn of(table: &'t Table) -> Self {
        Self::new(&table.types, ROOT_TYPE)
    }

    /// The type at the position `root` of `types`, which hold every type that it refers to.
    #[must_use]
    pub const fn new(types: &'t [TypeDescriptor], root: TypeId) -> Self {
        Self { types, root }
    }

    /// A payload of this type, to be written as JSON. Writing verifies the payload, and fails if it
    /// is malformed.
    #[must_use]
    pub const fn value<'a>(self, payload: &'a [u8]) -> JsonValue<'a>
    where
        't: 'a,
    {
        JsonValue { ty: self, payload }
    }
}

/// A payload as JSON, made by [`JsonType::value`].
#[derive(Clone, Copy, Debug)]
pub struct JsonValue<'a> {
    ty: JsonType<'a>,
    payload: &'a [u8],
}

impl Serialize for JsonValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (types, id) = (self.ty.types, self.ty.root);
        let malformed = |_| {
            let limit = exceeded_limit(types, id, self.payload);
            S::Error::custom(limit.unwrap_or("the payload is malformed"))
        };
        verify_as(types, id, self.payload).map_err(malformed)?;
        let view = TableView::root(self.payload).map_err(malformed)?;
        write::Table { types, id, view }.serialize(serializer)
    }
}

/// Reads JSON into a payload of the type. The payload is verified at the end.
impl<'de> DeserializeSeed<'de> for JsonType<'_> {
    type Value = Vec<u8>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<u8>, D::Error> {
        let json = tree::Json::deserialize(deserializer)?;
        let payload = read::payload(self.types, self.root, &json).map_err(D::Error::custom)?;
        verify_as(self.types, self.root, &payload)
            .map_err(|_| D::Error::custom("the value does not fit the type"))?;
        Ok(payload)
    }
}
