//! Scalar types of the schema language.

/// The type of a number or a boolean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// `bool`, one byte.
    Bool,
    /// `byte`, `int8`.
    I8,
    /// `ubyte`, `uint8`.
    U8,
    /// `short`, `int16`.
    I16,
    /// `ushort`, `uint16`.
    U16,
    /// `int`, `int32`.
    I32,
    /// `uint`, `uint32`.
    U32,
    /// `long`, `int64`.
    I64,
    /// `ulong`, `uint64`.
    U64,
    /// `float`, `float32`.
    F32,
    /// `double`, `float64`.
    F64,
}

impl Scalar {
    /// Size and alignment in bytes.
    #[must_use]
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The name in the schema language.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "byte",
            Self::U8 => "ubyte",
            Self::I16 => "short",
            Self::U16 => "ushort",
            Self::I32 => "int",
            Self::U32 => "uint",
            Self::I64 => "long",
            Self::U64 => "ulong",
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }

    /// Whether the type is `float` or `double`.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// The smallest and the largest integer of the type, or `None` for floats.
    #[must_use]
    pub const fn integer_range(self) -> Option<(i128, i128)> {
        Some(match self {
            Self::Bool => (0, 1),
            Self::I8 => (i8::MIN as i128, i8::MAX as i128),
            Self::U8 => (0, u8::MAX as i128),
            Self::I16 => (i16::MIN as i128, i16::MAX as i128),
            Self::U16 => (0, u16::MAX as i128),
            Self::I32 => (i32::MIN as i128, i32::MAX as i128),
            Self::U32 => (0, u32::MAX as i128),
            Self::I64 => (i64::MIN as i128, i64::MAX as i128),
            Self::U64 => (0, u64::MAX as i128),
            Self::F32 | Self::F64 => return None,
        })
    }
}
