//! The value of a field path in a payload that need not be verified.

use dflat_model::{Field, FieldKind, Scalar, Step, ValueRef, VectorField, VectorMember};

use super::{Malformed, ScalarType, TableView, UnionView, VectorView};

/// The part of a payload that the steps of a path have led to.
#[derive(Clone, Copy)]
enum PathEnd<'a> {
    Table(TableView<'a>),
    /// A field of a table; the next step determines its type.
    Field(TableView<'a>, u16),
    /// The bytes of a struct from an offset on.
    Struct(&'a [u8]),
    /// A union that holds the member that the path names, or a string of a vector.
    Union(UnionView<'a>),
    /// A union of a vector, which may be empty.
    Choice(Option<UnionView<'a>>),
}

/// The start of paths: the root table of an object, or a member of a vector.
#[derive(Clone, Copy)]
pub struct Scope<'a>(PathEnd<'a>);

impl<'a> From<TableView<'a>> for Scope<'a> {
    fn from(table: TableView<'a>) -> Self {
        Self(PathEnd::Table(table))
    }
}

impl<'a> Scope<'a> {
    /// The root table of a payload.
    ///
    /// # Errors
    /// If the bytes are malformed.
    #[inline]
    pub fn root(payload: &'a [u8]) -> Result<Self, Malformed> {
        Ok(Self(PathEnd::Table(TableView::root(payload)?)))
    }

    /// Reads the value of `field`. It is NULL if a table or struct on the way is absent, or if a
    /// union on the way holds another member.
    ///
    /// Costs a few nanoseconds a step and does not allocate.
    ///
    /// # Errors
    /// If the bytes on the way are malformed. Other bytes are not read.
    #[inline]
    pub fn value(self, field: &'a Field) -> Result<ValueRef<'a>, Malformed> {
        if let (PathEnd::Table(table), [Step::Field(voffset)]) = (self.0, field.steps.as_ref()) {
            // Most paths name a field of the root table.
            return terminal(PathEnd::Field(table, *voffset), field);
        }
        if let Some((Step::Tag, steps)) = field.steps.split_last() {
            return Ok(match walk(self.0, steps)? {
                None => ValueRef::Null,
                Some(end) => ValueRef::Int(union_at(end)?.map_or(0, |union| union.code.into())),
            });
        }
        match walk(self.0, &field.steps)? {
            None => Ok(ValueRef::Null),
            Some(end) => terminal(end, field),
        }
    }

    /// The members of a vector. An absent vector has no members; the result is `None` if the table
    /// that should hold the vector is absent.
    ///
    /// # Errors
    /// As [`Scope::value`].
    pub fn members(self, vector: &VectorField) -> Result<Option<Members<'a>>, Malformed> {
        let (table, voffset) = match walk(self.0, &vector.steps)? {
            None => return Ok(None),
            Some(PathEnd::Field(table, voffset)) => (table, voffset),
            Some(_) => return Err(Malformed),
        };
        let kind = vector.member;
        let values = table.vector(voffset, kind.size_bytes())?;
        let codes = match kind {
            VectorMember::Union => {
                let codes = table.vector(voffset.wrapping_sub(2), 1)?;
                let len = |vector: Option<VectorView<'_>>| vector.map_or(0, |vector| vector.len());
                if len(codes) != len(values) {
                    return Err(Malformed);
                }
                codes
            }
            _ => None,
        };
        Ok(Some(Members {
            kind,
            values,
            codes,
        }))
    }
}

/// The members of a vector.
#[derive(Clone, Copy)]
pub struct Members<'a> {
    kind: VectorMember,
    values: Option<VectorView<'a>>,
    codes: Option<VectorView<'a>>,
}

impl<'a> Members<'a> {
    /// The number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.map_or(0, |values| values.len())
    }

    /// Whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The member at a position.
    ///
    /// # Errors
    /// If there is no such member, or the bytes are malformed.
    #[inline]
    pub fn get(&self, index: usize) -> Result<Scope<'a>, Malformed> {
        let values = self.values.ok_or(Malformed)?;
        let size = self.kind.size_bytes();
        Ok(Scope(match self.kind {
            VectorMember::Scalar(_) | VectorMember::Struct(_) => {
                PathEnd::Struct(values.structure(index, size)?)
            }
            VectorMember::Table => PathEnd::Table(values.table(index)?),
            VectorMember::Text => PathEnd::Union(values.union(index, 0)?),
            VectorMember::Union => {
                let code = self.codes.ok_or(Malformed)?.scalar::<u8>(index)?;
                let union = (code != 0).then(|| values.union(index, code));
                PathEnd::Choice(union.transpose()?)
            }
        }))
    }
}

/// Reads the value of `field` in an object, as [`Scope::value`].
///
/// # Errors
/// As [`Scope::value`].
#[inline]
pub fn field_value<'a>(payload: &'a [u8], field: &'a Field) -> Result<ValueRef<'a>, Malformed> {
    Scope::root(payload)?.value(field)
}

/// Follows steps; `None` if a table or struct on the way is absent, or a union holds another
/// member.
#[inline]
fn walk<'a>(mut end: PathEnd<'a>, steps: &[Step]) -> Result<Option<PathEnd<'a>>, Malformed> {
    for step in steps {
        let next = match (end, *step) {
            (PathEnd::Table(table), Step::Field(voffset)) => Some(PathEnd::Field(table, voffset)),
            (PathEnd::Field(table, outer), Step::Field(voffset)) => table
                .table(outer)?
                .map(|inner| PathEnd::Field(inner, voffset)),
            (PathEnd::Field(table, outer), Step::Offset(offset)) => table
                .structure_from(outer, offset.into())?
                .map(PathEnd::Struct),
            (PathEnd::Field(..) | PathEnd::Choice(_), Step::Member(code)) => union_at(end)?
                .filter(|union| union.code == code)
                .map(PathEnd::Union),
            (PathEnd::Union(union), Step::Field(voffset)) => {
                Some(PathEnd::Field(union.table()?, voffset))
            }
            (PathEnd::Union(union), Step::Offset(offset)) => {
                Some(PathEnd::Struct(union.structure_from(offset.into())?))
            }
            (PathEnd::Struct(bytes), Step::Offset(offset)) => Some(PathEnd::Struct(
                bytes.get(offset.into()..).ok_or(Malformed)?,
            )),
            // Paths that are built from the schema never do this.
            _ => return Err(Malformed),
        };
        match next {
            None => return Ok(None),
            Some(next) => end = next,
        }
    }
    Ok(Some(end))
}

/// The value of the union at the end of a path, if it has one.
fn union_at(end: PathEnd<'_>) -> Result<Option<UnionView<'_>>, Malformed> {
    match end {
        PathEnd::Field(table, voffset) if voffset >= 2 => table.union(voffset),
        PathEnd::Choice(union) => Ok(union),
        _ => Err(Malformed),
    }
}

/// Whether a field has the same value in two payloads.
///
/// # Errors
/// As [`field_value`].
#[inline]
pub fn same_value(a: &[u8], b: &[u8], field: &Field) -> Result<bool, Malformed> {
    // Strings of the root table, as most keys are, can be compared without decoding them.
    if let (Some(a), Some(b)) = (root_text(a, field)?, root_text(b, field)?) {
        return Ok(a == b);
    }
    Ok(field_value(a, field)? == field_value(b, field)?)
}

/// The bytes of `field`, if it is a string of the root table and present.
///
/// # Errors
/// As [`field_value`]. The bytes are not checked to be UTF-8.
#[inline]
pub fn root_text<'a>(payload: &'a [u8], field: &Field) -> Result<Option<&'a [u8]>, Malformed> {
    match (field.steps.as_ref(), field.kind) {
        ([Step::Field(voffset)], FieldKind::Text) => TableView::root(payload)?.text_bytes(*voffset),
        _ => Ok(None),
    }
}

/// Reads the value at the end of a path.
#[inline]
fn terminal<'a>(end: PathEnd<'a>, field: &'a Field) -> Result<ValueRef<'a>, Malformed> {
    match (end, field.kind) {
        (PathEnd::Field(table, voffset), FieldKind::Text) => Ok(table
            .text(voffset)?
            .map_or(field.default.as_ref(), ValueRef::Text)),
        (PathEnd::Field(table, voffset), FieldKind::Scalar(scalar)) => {
            match table.structure_from(voffset, 0)? {
                None => Ok(default(field)),
                Some(bytes) => scalar_value(scalar, bytes).ok_or(Malformed),
            }
        }
        (PathEnd::Struct(bytes), FieldKind::Scalar(scalar)) => {
            scalar_value(scalar, bytes).ok_or(Malformed)
        }
        (PathEnd::Union(union), FieldKind::Text) => union.text().map(ValueRef::Text),
        _ => Err(Malformed),
    }
}

/// The value of an absent field. NaN is NULL, as everywhere in queries.
fn default(field: &Field) -> ValueRef<'_> {
    match field.default.as_ref() {
        ValueRef::Float(value) => ValueRef::from_f64(value),
        value => value,
    }
}

/// The number at the start of `bytes`; `None` if there are too few bytes.
#[inline]
pub(crate) fn scalar_value(scalar: Scalar, bytes: &[u8]) -> Option<ValueRef<'static>> {
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

/// The integer at the start of `bytes`; `None` for floats, and if there are too few bytes.
#[inline]
#[must_use]
pub fn whole_value(scalar: Scalar, bytes: &[u8]) -> Option<i128> {
    Some(match scalar {
        Scalar::Bool => bool::read(bytes)?.into(),
        Scalar::I8 => i8::read(bytes)?.into(),
        Scalar::U8 => u8::read(bytes)?.into(),
        Scalar::I16 => i16::read(bytes)?.into(),
        Scalar::U16 => u16::read(bytes)?.into(),
        Scalar::I32 => i32::read(bytes)?.into(),
        Scalar::U32 => u32::read(bytes)?.into(),
        Scalar::I64 => i64::read(bytes)?.into(),
        Scalar::U64 => u64::read(bytes)?.into(),
        Scalar::F32 | Scalar::F64 => return None,
    })
}
