//! Numbers and booleans as a payload stores them: little-endian, unaligned.

use dflat_model::ValueRef;

/// A Rust type for a scalar of the schema language.
pub trait ScalarType: Copy + PartialEq + 'static {
    /// Size in bytes, from 1 to 8.
    const SIZE: usize;

    /// The value at the start of `bytes`; `None` if there are too few bytes.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// Appends the value to `out`.
    fn append(self, out: &mut Vec<u8>);

    /// Writes the value over the start of `out`; if `out` is too short, nothing is written.
    fn write(self, out: &mut [u8]);

    /// Whether both have the same bits. Unlike with `==`, 0.0 differs from -0.0, and NaN equals
    /// itself.
    fn same_bits(self, other: Self) -> bool;

    /// The value as predicates, keys and indexes see it.
    fn to_value_ref(self) -> ValueRef<'static>;
}

macro_rules! scalar {
    ($type:ty, $bits:expr, $value:expr) => {
        impl ScalarType for $type {
            const SIZE: usize = size_of::<$type>();

            #[inline]
            fn read(bytes: &[u8]) -> Option<Self> {
                bytes
                    .first_chunk()
                    .map(|chunk| <$type>::from_le_bytes(*chunk))
            }

            #[inline]
            fn append(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn write(self, out: &mut [u8]) {
                if let Some(chunk) = out.first_chunk_mut() {
                    *chunk = self.to_le_bytes();
                }
            }

            #[inline]
            fn same_bits(self, other: Self) -> bool {
                let bits = $bits;
                bits(self) == bits(other)
            }

            #[inline]
            fn to_value_ref(self) -> ValueRef<'static> {
                $value(self)
            }
        }
    };
}

scalar!(i8, |v| v, |v: i8| ValueRef::Int(v.into()));
scalar!(u8, |v| v, |v: u8| ValueRef::Int(v.into()));
scalar!(i16, |v| v, |v: i16| ValueRef::Int(v.into()));
scalar!(u16, |v| v, |v: u16| ValueRef::Int(v.into()));
scalar!(i32, |v| v, |v: i32| ValueRef::Int(v.into()));
scalar!(u32, |v| v, |v: u32| ValueRef::Int(v.into()));
scalar!(i64, |v| v, ValueRef::Int);
scalar!(u64, |v| v, ValueRef::from_u64);
scalar!(f32, f32::to_bits, |v: f32| ValueRef::from_f64(v.into()));
scalar!(f64, f64::to_bits, ValueRef::from_f64);

impl ScalarType for bool {
    const SIZE: usize = 1;

    #[inline]
    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.first().map(|byte| *byte != 0)
    }

    #[inline]
    fn append(self, out: &mut Vec<u8>) {
        out.push(self.into());
    }

    #[inline]
    fn write(self, out: &mut [u8]) {
        if let Some(byte) = out.first_mut() {
            *byte = self.into();
        }
    }

    #[inline]
    fn same_bits(self, other: Self) -> bool {
        self == other
    }

    #[inline]
    fn to_value_ref(self) -> ValueRef<'static> {
        ValueRef::Int(self.into())
    }
}
