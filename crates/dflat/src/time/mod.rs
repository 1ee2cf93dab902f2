//! Dates and times: the number of seconds, or of parts of a second, since 1970.

#[cfg(feature = "jiff")]
mod timestamp;

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use dflat_model::{FieldKind, Scalar, Value, ValueRef};

use crate::codec::Enum;
use crate::query::{Field, FieldType, Operand};

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;

/// Makes a type that converts to a time, and an `Option` of it, an operand of its fields.
macro_rules! operand {
    ($type:ident: $operand:ty) => {
        #[diagnostic::do_not_recommend]
        impl<R> Operand<R, $type> for $operand {
            fn into_field(self) -> Field<R, $type> {
                $type::from(self).into_field()
            }
        }

        #[diagnostic::do_not_recommend]
        impl<R> Operand<R, $type> for Option<$operand> {
            fn into_field(self) -> Field<R, $type> {
                self.map($type::from).into_field()
            }

            fn into_present(self) -> Option<Field<R, $type>> {
                self.map(Operand::into_field)
            }
        }
    };
}

/// Defines a type of dates and times, with its unit in nanoseconds.
macro_rules! times {
    ($($(#[$docs:meta])* $type:ident $unit:expr, $plural:literal;)*) => {$(
        $(#[$docs])*
        ///
        /// It is the type of a schema's field `long` with the attribute `time`. The number is
        /// stored as it is, leap seconds are not counted, and numbers below 0 are times before
        /// 1970. A query compares it with a value of this type, with a [`SystemTime`], and with the
        /// feature `jiff` with a `jiff::Timestamp`, or an `Option` of one of these; a time between
        /// two units is rounded down, as when it is stored.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(i64);

        impl $type {
            /// The time that is this number of units after 1970-01-01T00:00:00Z.
            #[must_use]
            pub const fn new(count: i64) -> Self {
                Self(count)
            }

            /// The number of units since 1970-01-01T00:00:00Z.
            #[must_use]
            pub const fn get(self) -> i64 {
                self.0
            }

            /// The present time, by the clock of the system.
            #[must_use]
            pub fn now() -> Self {
                SystemTime::now().into()
            }

            /// The time with a number of nanoseconds, rounded down to the unit, and limited to the
            /// range of the type.
            fn from_nanoseconds(nanoseconds: i128) -> Self {
                let count = nanoseconds.div_euclid($unit);
                let limit = if count < 0 { i64::MIN } else { i64::MAX };
                Self(i64::try_from(count).unwrap_or(limit))
            }

            /// The nanoseconds since 1970.
            #[cfg(feature = "jiff")]
            const fn nanoseconds(self) -> i128 {
                self.0 as i128 * $unit
            }
        }

        /// Rounds down to the unit.
        impl From<SystemTime> for $type {
            fn from(time: SystemTime) -> Self {
                Self::from_nanoseconds(match time.duration_since(UNIX_EPOCH) {
                    Ok(after) => after.as_nanos().cast_signed(),
                    Err(before) => -before.duration().as_nanos().cast_signed(),
                })
            }
        }

        /// The number and its unit.
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{} ", $plural, " since 1970"), self.0)
            }
        }

        impl Enum for $type {
            type Base = i64;

            fn from_base(base: i64) -> Option<Self> {
                Some(Self(base))
            }

            fn to_base(self) -> i64 {
                self.0
            }
        }

        impl FieldType for $type {
            type Owned = Self;
            const KIND: FieldKind = FieldKind::Scalar(Scalar::I64);

            fn to_value(&self) -> Value {
                Value::Int(self.0)
            }

            fn from_value(value: ValueRef<'_>) -> Option<Self> {
                i64::from_value(value).map(Self)
            }
        }

        operand!($type: SystemTime);

        #[cfg(feature = "jiff")]
        timestamp::conversions!($type);
    )*};
}

times! {
    /// A date and time in seconds since 1970-01-01T00:00:00Z.
    Seconds SECOND, "seconds";
    /// A date and time in milliseconds since 1970-01-01T00:00:00Z.
    Milliseconds SECOND / 1_000, "milliseconds";
    /// A date and time in microseconds since 1970-01-01T00:00:00Z.
    Microseconds SECOND / 1_000_000, "microseconds";
    /// A date and time in nanoseconds since 1970-01-01T00:00:00Z: from the year 1677 to 2262.
    Nanoseconds 1, "nanoseconds";
}
