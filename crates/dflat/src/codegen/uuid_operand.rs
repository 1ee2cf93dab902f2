//! Conditions on generated structs that are UUIDs, and conversions of these.

/// A UUID for the comparison with a field of the generated struct `U`: the struct itself or, with
/// the feature `uuid`, a `uuid::Uuid`; or an `Option` of one, of which `None` stands for a missing
/// UUID.
#[diagnostic::on_unimplemented(
    message = "a UUID of the type `{U}` can't be compared with `{Self}`",
    label = "expected a `{U}`, a `uuid::Uuid` with the feature `uuid`, or an `Option` of one"
)]
pub trait UuidOperand<U> {
    /// The UUID; `None` if it is missing.
    fn into_uuid(self) -> Option<U>;
}

/// Implements the conversions of a generated struct that is a UUID, or the conditions on one.
#[doc(hidden)]
#[macro_export]
macro_rules! __uuid {
    ($type:ident, $high:ident, $low:ident) => {
        $crate::__uuid_conversions!($type, $high, $low);
    };
    ($type:ident, $high:ident, $low:ident, $fields:ident, $high_field:ident, $low_field:ident) => {
        $crate::__uuid_operand!($type);

        #[allow(dead_code, unreachable_pub)]
        impl<R, P> $fields<R, P> {
            /// The UUID equals `uuid`; for `None`, there is no UUID.
            #[must_use]
            pub fn eq(
                &self,
                uuid: impl $crate::codegen::UuidOperand<$type>,
            ) -> $crate::Predicate<R> {
                let uuid = uuid.into_uuid();
                self.$high_field().eq(uuid.map(|uuid| uuid.$high))
                    & self.$low_field().eq(uuid.map(|uuid| uuid.$low))
            }

            /// There is a UUID, and it differs from `uuid`; for `None`, there is a UUID.
            #[must_use]
            pub fn ne(
                &self,
                uuid: impl $crate::codegen::UuidOperand<$type>,
            ) -> $crate::Predicate<R> {
                !self.eq(uuid)
            }

            /// The UUID is less than `uuid`. UUIDs compare by their bytes; those of version 7 by
            /// the time at which they were made.
            #[must_use]
            pub fn lt(
                &self,
                uuid: impl $crate::codegen::UuidOperand<$type>,
            ) -> $crate::Predicate<R> {
                let uuid = uuid.into_uuid();
                let (high, low) = (uuid.map(|uuid| uuid.$high), uuid.map(|uuid| uuid.$low));
                self.$high_field().lt(high)
                    | (self.$high_field().eq(high) & self.$low_field().lt(low))
            }

            /// The UUID is at most `uuid`.
            #[must_use]
            pub fn le(
                &self,
                uuid: impl $crate::codegen::UuidOperand<$type>,
            ) -> $crate::Predicate<R> {
                !self.gt(uuid)
            }

            /// The UUID is greater than `uuid`.
            #[must_use]
            pub fn gt(
                &self,
                uuid: impl $crate::codegen::UuidOperand<$type>,
            ) -> $crate::Predicate<R> {
                let uuid = uuid.into_uuid();
                let (high, low) = (uuid.map(|uuid| uuid.$high), uuid.map(|uuid| uuid.$low));
                self.$high_field().gt(high)
                    | (self.$high_field().eq(high) & self.$low_field().gt(low))
            }

            /// The UUID is at least `uuid`.
            #[must_use]
            pub fn ge(
                &self,
                uuid: impl $crate::codegen::UuidOperand<$type>,
            ) -> $crate::Predicate<R> {
                !self.lt(uuid)
            }

            /// The UUID is one of `uuids`, of which `None` is met by a missing UUID. Without any,
            /// the condition is never true.
            #[must_use]
            pub fn in_<T: $crate::codegen::UuidOperand<$type>>(
                &self,
                uuids: impl ::core::iter::IntoIterator<Item = T>,
            ) -> $crate::Predicate<R> {
                let never = self.$high_field().in_(::core::iter::empty::<u64>());
                let equal = uuids.into_iter().map(|uuid| self.eq(uuid));
                equal.reduce(|any, one| any | one).unwrap_or(never)
            }

            /// There is a UUID, and it is none of `uuids`; `None` among them changes nothing.
            #[must_use]
            pub fn not_in<T: $crate::codegen::UuidOperand<$type>>(
                &self,
                uuids: impl ::core::iter::IntoIterator<Item = T>,
            ) -> $crate::Predicate<R> {
                !self.in_(uuids)
            }

            /// There is no UUID.
            #[must_use]
            pub fn is_null(&self) -> $crate::Predicate<R> {
                self.$high_field().is_null()
            }

            /// There is a UUID.
            #[must_use]
            pub fn is_not_null(&self) -> $crate::Predicate<R> {
                self.$high_field().is_not_null()
            }
        }
    };
}

/// Implements `UuidOperand` for a type that converts to the UUID, and for an `Option` of it.
#[doc(hidden)]
#[macro_export]
macro_rules! __uuid_operand_of {
    ($type:ident: $($operand:ty),*) => {$(
        impl $crate::codegen::UuidOperand<$type> for $operand {
            fn into_uuid(self) -> ::core::option::Option<$type> {
                ::core::option::Option::Some(self.into())
            }
        }

        impl $crate::codegen::UuidOperand<$type> for ::core::option::Option<$operand> {
            fn into_uuid(self) -> ::core::option::Option<$type> {
                self.map(::core::convert::Into::into)
            }
        }
    )*};
}

/// Without the feature `uuid`, the structs are compared with themselves alone.
#[cfg(not(feature = "uuid"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __uuid_operand {
    ($type:ident) => {
        $crate::__uuid_operand_of!($type: $type);
    };
}

/// UUIDs are compared with the structs and with UUIDs of the crate `uuid`.
#[cfg(feature = "uuid")]
#[doc(hidden)]
#[macro_export]
macro_rules! __uuid_operand {
    ($type:ident) => {
        $crate::__uuid_operand_of!($type: $type, $crate::codegen::uuid::Uuid);
    };
}

/// Without the feature `uuid`, the structs have no conversions.
#[cfg(not(feature = "uuid"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __uuid_conversions {
    ($type:ident, $high:ident, $low:ident) => {};
}

/// Converts a generated struct to a UUID, and a UUID to the struct.
#[cfg(feature = "uuid")]
#[doc(hidden)]
#[macro_export]
macro_rules! __uuid_conversions {
    ($type:ident, $high:ident, $low:ident) => {
        impl ::core::convert::From<$crate::codegen::uuid::Uuid> for $type {
            fn from(uuid: $crate::codegen::uuid::Uuid) -> Self {
                let ($high, $low) = uuid.as_u64_pair();
                Self { $high, $low }
            }
        }

        impl ::core::convert::From<$type> for $crate::codegen::uuid::Uuid {
            fn from(value: $type) -> Self {
                Self::from_u64_pair(value.$high, value.$low)
            }
        }
    };
}
