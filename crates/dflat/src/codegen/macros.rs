//! Implementations of traits for generated types.

/// Implements `VectorElement` for a generated table, struct or enum.
#[doc(hidden)]
#[macro_export]
macro_rules! __vector_element {
    (table $type:ty) => {
        impl $crate::codegen::VectorElement for $type {
            const SIZE: usize = 4;
            type Item<'a> = <$type as $crate::codegen::Message>::Ref<'a>;

            #[inline]
            fn at<'a>(
                vector: &$crate::codegen::VectorView<'a>,
                index: usize,
            ) -> ::core::option::Option<Self::Item<'a>> {
                let table = $crate::codegen::TableReader::new(vector.table(index).ok()?);
                ::core::option::Option::Some(<$type as $crate::codegen::Message>::view(table))
            }
        }
    };
    (struct $type:ty) => {
        impl $crate::codegen::VectorElement for $type {
            const SIZE: usize = <$type as $crate::codegen::Struct>::SIZE;
            type Item<'a> = $type;

            #[inline]
            fn at<'a>(
                vector: &$crate::codegen::VectorView<'a>,
                index: usize,
            ) -> ::core::option::Option<$type> {
                let size = <$type as $crate::codegen::Struct>::SIZE;
                vector
                    .structure(index, size)
                    .ok()
                    .map(<$type as $crate::codegen::Struct>::read)
            }
        }
    };
    (enum $type:ty) => {
        impl $crate::codegen::VectorElement for $type {
            const SIZE: usize =
                <<$type as $crate::codegen::Enum>::Base as $crate::codegen::Scalar>::SIZE;
            type Item<'a> = $type;

            /// A number that this code does not know is the enum's default.
            #[inline]
            fn at<'a>(
                vector: &$crate::codegen::VectorView<'a>,
                index: usize,
            ) -> ::core::option::Option<$type> {
                let base = vector.scalar(index).ok()?;
                let value = <$type as $crate::codegen::Enum>::from_base(base);
                ::core::option::Option::Some(value.unwrap_or_default())
            }
        }
    };
}

/// Implements `FieldType` for a generated enum or set of bit flags.
#[doc(hidden)]
#[macro_export]
macro_rules! __field_type {
    (flags $type:ty) => {
        $crate::__field_type!(enum $type);
        impl $crate::Flags for $type {}
    };
    (enum $type:ty) => {
        impl $crate::FieldType for $type {
            type Owned = Self;
            const KIND: $crate::codegen::FieldKind =
                <<Self as $crate::codegen::Enum>::Base as $crate::FieldType>::KIND;

            fn to_value(&self) -> $crate::codegen::Value {
                $crate::FieldType::to_value(&$crate::codegen::Enum::to_base(*self))
            }

            /// A number that this code does not know is the enum's default.
            fn from_value(
                value: $crate::codegen::ValueRef<'_>,
            ) -> ::core::option::Option<Self> {
                type Base = <$type as $crate::codegen::Enum>::Base;
                let base = <Base as $crate::FieldType>::from_value(value)?;
                let value = <Self as $crate::codegen::Enum>::from_base(base);
                ::core::option::Option::Some(value.unwrap_or_default())
            }
        }
    };
}

/// Implements `Element` for a generated table, struct or union.
#[doc(hidden)]
#[macro_export]
macro_rules! __query_element {
    (table $type:ty, $fields:ident) => {
        $crate::__query_element!(@ $type, $fields, $crate::codegen::VectorMember::Table);
    };
    (struct $type:ty, $fields:ident) => {
        $crate::__query_element!(
            @ $type,
            $fields,
            $crate::codegen::VectorMember::Struct(<$type as $crate::codegen::Struct>::SIZE as u32)
        );
    };
    (union $type:ty, $fields:ident) => {
        $crate::__query_element!(@ $type, $fields, $crate::codegen::VectorMember::Union);
    };
    (@ $type:ty, $fields:ident, $member:expr) => {
        impl $crate::Element for $type {
            const MEMBER: $crate::codegen::VectorMember = $member;
            type Fields<R> = $fields<R>;

            fn fields<R>(path: $crate::codegen::Path<R>) -> $fields<R> {
                $fields::new(path)
            }
        }
    };
}
