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

/// Implements reading and writing of the names of a generated enum.
#[doc(hidden)]
#[macro_export]
macro_rules! __enum_names {
    ($type:ty) => {
        #[allow(dead_code, unreachable_pub)]
        impl $type {
            /// The value with a name of the schema; `None` if there is none.
            #[must_use]
            pub fn from_name(name: &str) -> ::core::option::Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }

        /// The name of the value in the schema.
        impl ::core::fmt::Display for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.name())
            }
        }

        /// Reads a name of the schema. Another text is the error
        /// [`InvalidArgument`]($crate::ErrorKind::InvalidArgument), which lists the names.
        impl ::core::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(name: &str) -> ::core::result::Result<Self, $crate::Error> {
                Self::from_name(name).ok_or_else(|| {
                    let names = Self::ALL.map(Self::name);
                    $crate::codegen::unknown_name(stringify!($type), name, &names)
                })
            }
        }
    };
}

/// Implements reading and writing of the names of a generated set of bit flags.
#[doc(hidden)]
#[macro_export]
macro_rules! __flag_names {
    ($type:ty) => {
        #[allow(dead_code, unreachable_pub)]
        impl $type {
            /// The flag with a name of the schema; `None` if there is none.
            #[must_use]
            pub fn from_name(name: &str) -> ::core::option::Option<Self> {
                let mut named = Self::NAMED.into_iter();
                named.find(|flag| flag.0 == name).map(|flag| flag.1)
            }
        }

        /// The names of the flags that are set, as in `Read | Write`; unknown bits follow as a
        /// hexadecimal number. Nothing if no flag is set.
        impl ::core::fmt::Display for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let number = $crate::codegen::FlagBits::to_number;
                let named = Self::NAMED.map(|(name, flag)| (name, number(flag.bits())));
                let text = $crate::codegen::write_flags(&named, number(self.bits()));
                f.pad(&text)
            }
        }

        /// Reads the form of `Display`. Another text is the error
        /// [`InvalidArgument`]($crate::ErrorKind::InvalidArgument), which lists the names.
        impl ::core::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(text: &str) -> ::core::result::Result<Self, $crate::Error> {
                let number = $crate::codegen::FlagBits::to_number;
                let named = Self::NAMED.map(|(name, flag)| (name, number(flag.bits())));
                $crate::codegen::read_flags(stringify!($type), &named, text).map(Self::from_bits)
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
