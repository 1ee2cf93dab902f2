//! Payloads as JSON, in the form of `flatc --json`.

use dflat_model::{TypeDescriptor, TypeId};
use dflat_workspace::JsonType;
pub use serde;
use serde::de::{DeserializeSeed, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, Serializer};

/// Writes a payload, which is verified first.
///
/// # Errors
/// An error if the payload is malformed; otherwise the errors of the serializer.
pub fn serialize<S: Serializer>(
    types: &[TypeDescriptor],
    root: TypeId,
    payload: &[u8],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    JsonType::new(types, root)
        .value(payload)
        .serialize(serializer)
}

/// Reads a payload, which is verified at the end.
///
/// # Errors
/// An error if the text is not JSON of this type; otherwise the errors of the deserializer.
pub fn deserialize<'de, D: Deserializer<'de>>(
    types: &[TypeDescriptor],
    root: TypeId,
    deserializer: D,
) -> Result<Vec<u8>, D::Error> {
    JsonType::new(types, root).deserialize(deserializer)
}

/// Implements serde's traits for a generated table, or for a stored object.
#[doc(hidden)]
#[macro_export]
macro_rules! __json {
    (table $type:ty) => {
        impl $crate::codegen::json::serde::Serialize for $type {
            fn serialize<S: $crate::codegen::json::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                $crate::codegen::json::serialize_table(self, serializer)
            }
        }

        impl<'de> $crate::codegen::json::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::codegen::json::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                $crate::codegen::json::deserialize_table(deserializer)
            }
        }
    };
    (object $type:ty) => {
        impl $crate::codegen::json::serde::Serialize for $type {
            fn serialize<S: $crate::codegen::json::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                $crate::codegen::json::serialize_object(self, serializer)
            }
        }
    };
}

/// Writes an owned table.
///
/// # Errors
/// An error if the value can't be encoded as a payload; otherwise the errors of the serializer.
pub fn serialize_table<M: crate::Payload, S: Serializer>(
    table: &M,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let payload = table.to_bytes().map_err(S::Error::custom)?;
    serialize(&M::types(), M::TYPE, &payload, serializer)
}

/// Reads an owned table.
///
/// # Errors
/// An error if the text is not JSON of this type; otherwise the errors of the deserializer.
pub fn deserialize_table<'de, M: crate::Payload, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<M, D::Error> {
    let payload = deserialize(&M::types(), M::TYPE, deserializer)?;
    M::from_bytes(&payload).map_err(D::Error::custom)
}

/// Writes a stored object.
///
/// # Errors
/// The errors of the serializer.
pub fn serialize_object<T: crate::Object, S: Serializer>(
    object: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let payload = object.handle().payload();
    serialize(&T::TABLE.types, dflat_model::ROOT_TYPE, payload, serializer)
}
