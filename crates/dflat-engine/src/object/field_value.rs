//! The value of a field path in a payload that need not be verified.

use dflat_model::{Field, FieldKind, Scalar, Step, ValueRef};

use super::{Malformed, ScalarType, TableView, UnionView};

/// Where the steps of a path have led.
#[derive(Clone, Copy)]
enum Place<'a> {
    Table(TableView<'a>),
    /// A field of a table, whose type the next step tells.
    Field(TableView<'a>, u16),
    /// Bytes of a struct from some offset on.
    Struct(&'a [u8]),
    /// A union that holds the member the path asks for.
    Union(UnionView<'a>),
}

/// Reads the value of `field`: NULL if a container on the way is absent or another union member.
///
/// Costs a few nanoseconds a step and does not allocate.
///
/// # Errors
/// If the bytes on the way are malformed; never on other bytes.
#[inline]
pub fn field_value<'a>(payload: &'a [u8], field: &'a Field) -> Result<ValueRef<'a>, Malformed> {
    let mut place = Place::Table(TableView::root(payload)?);
    for step in field.steps.as_ref() {
        let next = match (place, *step) {
            (Place::Table(table), Step::Field(voffset)) => Some(Place::Field(table, voffset)),
            (Place::Field(table, outer), Step::Field(voffset)) => table
                .table(outer)?
                .map(|inner| Place::Field(inner, voffset)),
            (Place::Field(table, outer), Step::Offset(offset)) => table
                .structure_from(outer, offset.into())?
                .map(Place::Struct),
            (Place::Field(table, outer), Step::Member(code)) => table
                .union(outer)?
                .filter(|union| union.code == code)
                .map(Place::Union),
            (Place::Field(table, outer), Step::Tag) => {
                return Ok(ValueRef::Int(
                    table.union(outer)?.map_or(0, |union| union.code.into()),
                ));
            }
            (Place::Union(union), Step::Field(voffset)) => {
                Some(Place::Field(union.table()?, voffset))
            }
            (Place::Union(union), Step::Offset(offset)) => {
                Some(Place::Struct(union.structure_from(offset.into())?))
            }
            (Place::Struct(bytes), Step::Offset(offset)) => {
                Some(Place::Struct(bytes.get(offset.into()..).ok_or(Malformed)?))
            }
            // A path that does not fit the schema can't be built from one.
            _ => return Err(Malformed),
        };
        match next {
            None => return Ok(ValueRef::Null),
            Some(next) => place = next,
        }
    }
    terminal(place, field)
}

/// Whether a field has the same value in two payloads.
///
/// # Errors
/// As [`field_value`].
#[inline]
pub fn same_value(a: &[u8], b: &[u8], field: &Field) -> Result<bool, Malformed> {
    if let ([Step::Field(voffset)], FieldKind::Text) = (field.steps.as_ref(), field.kind) {
        // Strings that stand in the root, as most keys do, need not be decoded to be compared.
        let (a, b) = (TableView::root(a)?, TableView::root(b)?);
        if let (Some(a), Some(b)) = (a.text_bytes(*voffset)?, b.text_bytes(*voffset)?) {
            return Ok(a == b);
        }
    }
    Ok(field_value(a, field)? == field_value(b, field)?)
}

/// Reads the value that the last step leads to.
#[inline]
fn terminal<'a>(place: Place<'a>, field: &'a Field) -> Result<ValueRef<'a>, Malformed> {
    match (place, field.kind) {
        (Place::Field(table, voffset), FieldKind::Text) => Ok(table
            .text(voffset)?
            .map_or(field.default.as_ref(), ValueRef::Text)),
        (Place::Field(table, voffset), FieldKind::Scalar(scalar)) => {
            match table.structure_from(voffset, 0)? {
                None => Ok(default(field)),
                Some(bytes) => scalar_value(scalar, bytes).ok_or(Malformed),
            }
        }
        (Place::Struct(bytes), FieldKind::Scalar(scalar)) => {
            scalar_value(scalar, bytes).ok_or(Malformed)
        }
        (Place::Union(union), FieldKind::Text) => union.text().map(ValueRef::Text),
        _ => Err(Malformed),
    }
}

/// The value of an absent field; NaN is NULL here as everywhere in queries.
fn default(field: &Field) -> ValueRef<'_> {
    match field.default.as_ref() {
        ValueRef::Float(value) => ValueRef::from_f64(value),
        value => value,
    }
}

#[inline]
fn scalar_value(scalar: Scalar, bytes: &[u8]) -> Option<ValueRef<'static>> {
    Some(match scalar {
        Scalar::Bool => bool::read(bytes)?.to_value_ref(),
        Scalar::I8 => i8::read(bytes)?.to_value_ref(),
        Scalar::U8 => u8::read(bytes)?.to_value_ref(),
        Scalar::I16 => i16::read(bytes)?.to_value_ref(),
        Scalar::U16 => u16::read(bytes)?.to_value_ref(),
        Scalar::I32 => i32::read(bytes)?.to_value_ref(),
        Scalar::U32 => u32::read(bytes)?.to_value_ref(),
        Scalar::I64 => i64::read(bytes)?.to_value_ref(),
        Scalar::U64 => u64::read(bytes)?.to_value_ref(),
        Scalar::F32 => f32::read(bytes)?.to_value_ref(),
        Scalar::F64 => f64::read(bytes)?.to_value_ref(),
    })
}
