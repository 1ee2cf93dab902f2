//! Conversions to and from `jiff::Timestamp`.

use jiff::Timestamp;

/// The timestamp with a number of nanoseconds since 1970, if it is in the range of `Timestamp`.
pub(super) fn from_nanoseconds(nanoseconds: i128) -> Result<Timestamp, jiff::Error> {
    Timestamp::from_nanosecond(nanoseconds)
}

/// Implements the conversions for a type of dates and times.
macro_rules! conversions {
    ($type:ident) => {
        impl $type {
            /// The time as a `jiff::Timestamp`. A time that `Timestamp` cannot hold, before the
            /// year -9999 or after 9999, becomes the first or the last `Timestamp`.
            #[must_use]
            pub fn timestamp(self) -> jiff::Timestamp {
                let limit = if self.0 < 0 {
                    jiff::Timestamp::MIN
                } else {
                    jiff::Timestamp::MAX
                };
                jiff::Timestamp::try_from(self).unwrap_or(limit)
            }
        }

        /// Rounds down to the unit.
        impl From<jiff::Timestamp> for $type {
            fn from(timestamp: jiff::Timestamp) -> Self {
                Self::from_nanoseconds(timestamp.as_nanosecond())
            }
        }

        /// Fails for a time before the year -9999 or after 9999.
        impl TryFrom<$type> for jiff::Timestamp {
            type Error = jiff::Error;

            fn try_from(time: $type) -> Result<Self, jiff::Error> {
                timestamp::from_nanoseconds(time.nanoseconds())
            }
        }

        operand!($type: jiff::Timestamp);
    };
}

pub(super) use conversions;
