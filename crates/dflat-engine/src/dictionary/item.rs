//! The row of a value: the layout of Dflat for Swift, whose schema is `schemas/dict.fbs`.

use std::borrow::Cow;
use std::sync::Arc;

use dflat_model::{
    Element, EnumLayout, EnumValueLayout, Field, FieldKind, FieldLayout, Scalar, Shape, Step,
    Table, TableDescriptor, TableLayout, TypeDescriptor, TypeId, Value as Cell,
};

use crate::error::{Error, ErrorKind, Result};
use crate::object::{Malformed, TableView, Writer};

/// A value of the dictionary, as it is stored. Cloning allocates nothing.
#[derive(Clone, Debug)]
pub enum Value {
    /// A boolean.
    Bool(bool),
    /// A signed number.
    I64(i64),
    /// An unsigned number.
    U64(u64),
    /// A float of 32 bits.
    F32(f32),
    /// A float of 64 bits.
    F64(f64),
    /// A text.
    Text(Arc<str>),
    /// Bytes in an encoding that their prefix names, or that another program defines.
    Codable(Arc<[u8]>),
    /// A payload of FlatBuffers.
    FlatBuffers {
        /// The version of its schema; empty if it has none.
        version: Arc<str>,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
}

/// Equal values are stored as the same bytes: floats are compared by their bits.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::I64(a), Self::I64(b)) => a == b,
            (Self::U64(a), Self::U64(b)) => a == b,
            (Self::F32(a), Self::F32(b)) => a.to_bits() == b.to_bits(),
            (Self::F64(a), Self::F64(b)) => a.to_bits() == b.to_bits(),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Codable(a), Self::Codable(b)) => a == b,
            (
                Self::FlatBuffers { version, bytes },
                Self::FlatBuffers {
                    version: other_version,
                    bytes: other_bytes,
                },
            ) => version == other_version && bytes == other_bytes,
            _ => false,
        }
    }
}

// The vtable offsets of the fields in `schemas/dict.fbs`.
const KEY: u16 = 4;
const NAMESPACE: u16 = 6;
const VERSION: u16 = 8;
const VALUE_TYPE: u16 = 10;
const BOOL_VALUE: u16 = 12;
const LONG_VALUE: u16 = 14;
const UNSIGNED_LONG_VALUE: u16 = 16;
const FLOAT_VALUE: u16 = 18;
const DOUBLE_VALUE: u16 = 20;
const STRING_VALUE: u16 = 22;
const CODABLE: u16 = 24;

/// The values of `ValueType`.
const KINDS: [&str; 8] = [
    "BoolValue",
    "LongValue",
    "UnsignedLongValue",
    "FloatValue",
    "DoubleValue",
    "StringValue",
    "CodableValue",
    "FlatBuffersValue",
];

impl Value {
    /// The name of the value's kind in the schema.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        KINDS[self.code()]
    }

    fn code(&self) -> usize {
        match self {
            Self::Bool(_) => 0,
            Self::I64(_) => 1,
            Self::U64(_) => 2,
            Self::F32(_) => 3,
            Self::F64(_) => 4,
            Self::Text(_) => 5,
            Self::Codable(_) => 6,
            Self::FlatBuffers { .. } => 7,
        }
    }
}

/// The largest payload that [`Writer`] finishes, in bytes.
const SIZE_MAX_BYTES: usize = 1_000_000_000;

/// The table of the values.
pub const TABLE: Table = {
    static DESCRIPTOR: TableDescriptor = TableDescriptor {
        name: Cow::Borrowed("dictitem_v_dflat_internal__"),
        // Messages name the type as programs do; the file has the name of the table.
        type_name: Cow::Borrowed("Dictionary"),
        auto_key: None,
        primary_key: Cow::Borrowed(&[
            key_part("key", &[Step::Field(KEY)]),
            key_part("namespace", &[Step::Field(NAMESPACE)]),
        ]),
        indexes: Cow::Borrowed(&[]),
        types: Cow::Borrowed(&[
            TypeDescriptor::Table(TableLayout {
                name: Cow::Borrowed("DictItem"),
                end: 26,
                fields: Cow::Borrowed(&[
                    field("key", KEY, TEXT, Cell::Null),
                    field("namespace", NAMESPACE, TEXT, Cell::Null),
                    field("version", VERSION, TEXT, Cell::Null),
                    field(
                        "value_type",
                        VALUE_TYPE,
                        Shape::Single(Element::Enum(TypeId(1))),
                        ZERO,
                    ),
                    field("bool_value", BOOL_VALUE, scalar(Scalar::Bool), ZERO),
                    field("long_value", LONG_VALUE, scalar(Scalar::I64), ZERO),
                    field(
                        "unsigned_long_value",
                        UNSIGNED_LONG_VALUE,
                        scalar(Scalar::U64),
                        ZERO,
                    ),
                    field(
                        "float_value",
                        FLOAT_VALUE,
                        scalar(Scalar::F32),
                        Cell::Float(0.0),
                    ),
                    field(
                        "double_value",
                        DOUBLE_VALUE,
                        scalar(Scalar::F64),
                        Cell::Float(0.0),
                    ),
                    field("string_value", STRING_VALUE, TEXT, Cell::Null),
                    field(
                        "codable",
                        CODABLE,
                        Shape::Vector(Element::Scalar(Scalar::U8)),
                        Cell::Null,
                    ),
                ]),
            }),
            TypeDescriptor::Enum(EnumLayout {
                name: Cow::Borrowed("ValueType"),
                base: Scalar::I8,
                bit_flags: false,
                values: Cow::Borrowed(&[
                    kind(0),
                    kind(1),
                    kind(2),
                    kind(3),
                    kind(4),
                    kind(5),
                    kind(6),
                    kind(7),
                ]),
            }),
        ]),
    };
    Table::from_static(&DESCRIPTOR)
};

const TEXT: Shape = Shape::Single(Element::Text);
const ZERO: Cell = Cell::Int(0);

const fn scalar(scalar: Scalar) -> Shape {
    Shape::Single(Element::Scalar(scalar))
}

const fn key_part(name: &'static str, steps: &'static [Step]) -> Field {
    Field {
        name: Cow::Borrowed(name),
        steps: Cow::Borrowed(steps),
        kind: FieldKind::Text,
        default: Cell::Null,
    }
}

const fn field(name: &'static str, voffset: u16, shape: Shape, default: Cell) -> FieldLayout {
    FieldLayout {
        name: Cow::Borrowed(name),
        voffset,
        shape,
        default,
        required: false,
    }
}

const fn kind(code: usize) -> EnumValueLayout {
    EnumValueLayout {
        name: Cow::Borrowed(KINDS[code]),
        value: Cell::Int(code as i64),
    }
}

/// The primary key of a row.
pub(super) fn key_of(key: &str, namespace: &str) -> [Cell; 2] {
    [key, namespace].map(|text| Cell::Text(Cow::Owned(text.to_owned())))
}

/// Refuses a value that is too large for a row, before the value waits to be written. A value with
/// a few bytes less than the limit may be refused when it is written: the row has other parts.
pub(super) fn check_size(key: &str, value: &Value) -> Result<()> {
    let size = match value {
        Value::Text(text) => text.len(),
        Value::Codable(bytes) | Value::FlatBuffers { bytes, .. } => bytes.len(),
        _ => 0,
    };
    if size <= SIZE_MAX_BYTES {
        return Ok(());
    }
    let message = format!(
        "cannot set {key:?}: the value has {size} bytes, and {SIZE_MAX_BYTES} is the limit"
    );
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// Encodes a row.
pub(super) fn encode<'w>(
    writer: &'w mut Writer,
    key: &str,
    namespace: &str,
    value: &Value,
) -> Result<&'w [u8]> {
    let root = writer.begin();
    if writer.begin_table(root) {
        // Order: the largest values first, which saves padding. Defaults are not written.
        match value {
            Value::I64(number) if *number != 0 => writer.scalar(LONG_VALUE, *number),
            Value::U64(number) if *number != 0 => writer.scalar(UNSIGNED_LONG_VALUE, *number),
            Value::F64(number) if number.to_bits() != 0 => writer.scalar(DOUBLE_VALUE, *number),
            Value::F32(number) if number.to_bits() != 0 => writer.scalar(FLOAT_VALUE, *number),
            _ => {}
        }
        let key_slot = writer.slot(KEY);
        let namespace_slot = writer.slot(NAMESPACE);
        let version = match value {
            Value::FlatBuffers { version, .. } if !version.is_empty() => {
                Some((writer.slot(VERSION), version))
            }
            _ => None,
        };
        let content = match value {
            Value::Text(_) => Some(writer.slot(STRING_VALUE)),
            Value::Codable(_) | Value::FlatBuffers { .. } => Some(writer.slot(CODABLE)),
            _ => None,
        };
        if value.code() != 0 {
            writer.scalar(VALUE_TYPE, value.code() as i8);
        }
        if matches!(value, Value::Bool(true)) {
            writer.scalar(BOOL_VALUE, true);
        }
        writer.end_table();
        writer.text(key_slot, key);
        writer.text(namespace_slot, namespace);
        if let Some((slot, version)) = version {
            writer.text(slot, version);
        }
        match (content, value) {
            (Some(slot), Value::Text(text)) => writer.text(slot, text),
            (Some(slot), Value::Codable(bytes) | Value::FlatBuffers { bytes, .. }) => {
                writer.byte_vector(slot, bytes);
            }
            _ => {}
        }
        writer.leave();
    }
    writer.finish()
}

/// A row's key, namespace and value; no value if a later version of Dflat wrote its kind.
pub(super) fn decode(payload: &[u8]) -> Result<(&str, &str, Option<Value>), Malformed> {
    let row = TableView::root(payload)?;
    let bytes = || -> Result<Arc<[u8]>, Malformed> {
        let vector = row.vector(CODABLE, 1)?;
        Ok(vector.map_or(&[][..], |vector| vector.bytes()).into())
    };
    let value = match row.scalar::<i8>(VALUE_TYPE)?.unwrap_or(0) {
        0 => Value::Bool(row.scalar(BOOL_VALUE)?.unwrap_or(false)),
        1 => Value::I64(row.scalar(LONG_VALUE)?.unwrap_or(0)),
        2 => Value::U64(row.scalar(UNSIGNED_LONG_VALUE)?.unwrap_or(0)),
        3 => Value::F32(row.scalar(FLOAT_VALUE)?.unwrap_or(0.0)),
        4 => Value::F64(row.scalar(DOUBLE_VALUE)?.unwrap_or(0.0)),
        5 => Value::Text(row.text(STRING_VALUE)?.unwrap_or("").into()),
        6 => Value::Codable(bytes()?),
        7 => Value::FlatBuffers {
            version: row.text(VERSION)?.unwrap_or("").into(),
            bytes: bytes()?,
        },
        _ => {
            let key = row.text(KEY)?.unwrap_or("");
            return Ok((key, row.text(NAMESPACE)?.unwrap_or(""), None));
        }
    };
    let key = row.text(KEY)?.unwrap_or("");
    Ok((key, row.text(NAMESPACE)?.unwrap_or(""), Some(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::verify;

    #[test]
    fn a_value_is_read_as_it_was_written() {
        let values = [
            Value::Bool(false),
            Value::Bool(true),
            Value::I64(0),
            Value::I64(i64::MIN),
            Value::U64(u64::MAX),
            Value::F32(-0.0),
            Value::F64(f64::NAN),
            Value::Text("".into()),
            Value::Text("文字\0".into()),
            Value::Codable([][..].into()),
            Value::Codable([1, 2, 3][..].into()),
            Value::FlatBuffers {
                version: "v1".into(),
                bytes: [9; 40][..].into(),
            },
            Value::FlatBuffers {
                version: "".into(),
                bytes: [9; 3][..].into(),
            },
        ];
        let mut writer = Writer::new();
        for value in values {
            let payload = encode(&mut writer, "key", "space", &value).unwrap();
            assert!(verify(&TABLE.types, payload).is_ok(), "{value:?}");
            let (key, namespace, read) = decode(payload).unwrap();
            assert_eq!((key, namespace, read), ("key", "space", Some(value)));
        }
    }
}
