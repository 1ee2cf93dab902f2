//! Equality of two payloads by value.
//!
//! An absent scalar equals one that is stored with its default. Floats are equal if their bits are.
//! An absent vector equals an empty one, because accessors show no difference. Union members that
//! the schema does not know are compared by type code, and unknown fields are not compared.

use dflat_model::{
    Element, FieldLayout, ROOT_TYPE, Scalar, Shape, StructLayout, TypeDescriptor, TypeId, Value,
};

use super::{Malformed, TableView, UnionView, VectorView};

type Compared = Result<bool, Malformed>;

/// Whether two verified payloads hold the same values by these types.
#[must_use]
pub fn equal(types: &[TypeDescriptor], a: &[u8], b: &[u8]) -> bool {
    if a == b {
        return true;
    }
    let roots = TableView::root(a).and_then(|a| Ok((a, TableView::root(b)?)));
    let comparer = Comparer { types };
    roots
        .and_then(|(a, b)| comparer.tables(ROOT_TYPE, a, b))
        .unwrap_or(false)
}

/// A vector, and the type codes of its unions.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    pub(super) values: VectorView<'a>,
    pub(super) codes: Option<VectorView<'a>>,
}

/// Compares parts of payloads.
#[derive(Clone, Copy)]
pub(super) struct Comparer<'t> {
    types: &'t [TypeDescriptor],
}

impl<'t> Comparer<'t> {
    pub(super) fn new(types: &'t [TypeDescriptor]) -> Self {
        Self { types }
    }

    /// Whether two tables have the same value in a field.
    pub(super) fn field(
        &self,
        field: &FieldLayout,
        a: TableView<'_>,
        b: TableView<'_>,
    ) -> Compared {
        match field.shape {
            Shape::Single(element) => self.singles(field, element, a, b),
            Shape::Vector(Element::Union(id)) => self.union_vectors(id, field.voffset, a, b),
            Shape::Vector(element) => self.vectors(element, field.voffset, a, b),
        }
    }

    /// Whether two members of vectors are the same.
    pub(super) fn element(
        &self,
        element: Element,
        (a, at): (Elements<'_>, usize),
        (b, bt): (Elements<'_>, usize),
    ) -> Compared {
        if let Element::Union(id) = element {
            let code = |e: Elements<'_>, i| e.codes.ok_or(Malformed)?.scalar::<u8>(i);
            let codes = (code(a, at)?, code(b, bt)?);
            return match codes {
                (a, b) if a != b => Ok(false),
                (0, _) => Ok(true),
                (code, _) => self.unions(id, a.values.union(at, code)?, b.values.union(bt, code)?),
            };
        }
        let size = self.inline_size(element)?;
        self.elements(element, size, (a.values, at), (b.values, bt))
    }

    fn descriptor(&self, id: TypeId) -> Result<&'t TypeDescriptor, Malformed> {
        self.types.get(usize::from(id.0)).ok_or(Malformed)
    }

    fn struct_layout(&self, id: TypeId) -> Result<&'t StructLayout, Malformed> {
        match self.descriptor(id)? {
            TypeDescriptor::Struct(layout) => Ok(layout),
            _ => Err(Malformed),
        }
    }

    fn enum_base(&self, id: TypeId) -> Result<Scalar, Malformed> {
        match self.descriptor(id)? {
            TypeDescriptor::Enum(layout) => Ok(layout.base),
            _ => Err(Malformed),
        }
    }

    fn tables(&self, id: TypeId, a: TableView<'_>, b: TableView<'_>) -> Compared {
        let TypeDescriptor::Table(layout) = self.descriptor(id)? else {
            return Err(Malformed);
        };
        // Inline values first: most changes are among them, and the rest need not be read then.
        let (inline, children) = (true, false);
        for pass in [inline, children] {
            for field in layout
                .fields
                .iter()
                .filter(|field| is_inline(field.shape) == pass)
            {
                if !self.field(field, a, b)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn singles(
        &self,
        field: &FieldLayout,
        element: Element,
        a: TableView<'_>,
        b: TableView<'_>,
    ) -> Compared {
        let voffset = field.voffset;
        match element {
            Element::Scalar(scalar) => scalars(scalar, field, a, b),
            Element::Enum(id) => scalars(self.enum_base(id)?, field, a, b),
            Element::Text => {
                let default = match &field.default {
                    Value::Text(text) => Some(text.as_bytes()),
                    _ => None,
                };
                Ok(a.text_bytes(voffset)?.or(default) == b.text_bytes(voffset)?.or(default))
            }
            Element::Struct(id) => {
                let layout = self.struct_layout(id)?;
                let size = layout.size as usize;
                match (a.structure(voffset, size)?, b.structure(voffset, size)?) {
                    (Some(a), Some(b)) => self.structs(layout, a, b),
                    (a, b) => Ok(a.is_none() && b.is_none()),
                }
            }
            Element::Table(id) => match (a.table(voffset)?, b.table(voffset)?) {
                (Some(a), Some(b)) => self.tables(id, a, b),
                (a, b) => Ok(a.is_none() && b.is_none()),
            },
            Element::Union(id) => match (a.union(voffset)?, b.union(voffset)?) {
                (Some(a), Some(b)) => self.unions(id, a, b),
                (a, b) => Ok(a.is_none() && b.is_none()),
            },
        }
    }

    fn structs(&self, layout: &StructLayout, a: &[u8], b: &[u8]) -> Compared {
        if a == b {
            return Ok(true);
        }
        // Padding may differ, so fields are compared one by one.
        for field in layout.fields.as_ref() {
            let count = usize::from(field.array.unwrap_or(1));
            let start = field.offset as usize;
            let size = match field.element {
                Element::Scalar(scalar) => scalar.size_bytes(),
                Element::Enum(id) => self.enum_base(id)?.size_bytes(),
                Element::Struct(id) => self.struct_layout(id)?.size as usize,
                _ => return Err(Malformed),
            };
            for index in 0..count {
                let range = start + index * size..start + (index + 1) * size;
                let a = a.get(range.clone()).ok_or(Malformed)?;
                let b = b.get(range).ok_or(Malformed)?;
                let same = match field.element {
                    Element::Struct(id) => self.structs(self.struct_layout(id)?, a, b)?,
                    _ => a == b,
                };
                if !same {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn unions(&self, id: TypeId, a: UnionView<'_>, b: UnionView<'_>) -> Compared {
        if a.code != b.code {
            return Ok(false);
        }
        let TypeDescriptor::Union(layout) = self.descriptor(id)? else {
            return Err(Malformed);
        };
        match layout
            .members
            .iter()
            .find(|member| member.code == a.code)
            .map(|m| m.element)
        {
            Some(Element::Table(id)) => self.tables(id, a.table()?, b.table()?),
            Some(Element::Text) => Ok(a.text_bytes()? == b.text_bytes()?),
            Some(Element::Struct(id)) => {
                let layout = self.struct_layout(id)?;
                let size = layout.size as usize;
                self.structs(layout, a.structure(size)?, b.structure(size)?)
            }
            _ => Ok(true),
        }
    }

    fn vectors(
        &self,
        element: Element,
        voffset: u16,
        a: TableView<'_>,
        b: TableView<'_>,
    ) -> Compared {
        let size = self.inline_size(element)?;
        let (a, b) = (a.vector(voffset, size)?, b.vector(voffset, size)?);
        let (Some(a), Some(b)) = (a, b) else {
            return Ok(a.or(b).is_none_or(|vector| vector.is_empty()));
        };
        if a.len() != b.len() {
            return Ok(false);
        }
        for index in 0..a.len() {
            if !self.elements(element, size, (a, index), (b, index))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn inline_size(&self, element: Element) -> Result<usize, Malformed> {
        Ok(match element {
            Element::Scalar(scalar) => scalar.size_bytes(),
            Element::Enum(id) => self.enum_base(id)?.size_bytes(),
            Element::Struct(id) => self.struct_layout(id)?.size as usize,
            Element::Text | Element::Table(_) | Element::Union(_) => 4,
        })
    }

    fn elements(
        &self,
        element: Element,
        size: usize,
        (a, at): (VectorView<'_>, usize),
        (b, bt): (VectorView<'_>, usize),
    ) -> Compared {
        match element {
            Element::Text => Ok(a.text_bytes(at)? == b.text_bytes(bt)?),
            Element::Table(id) => self.tables(id, a.table(at)?, b.table(bt)?),
            Element::Struct(id) => {
                let layout = self.struct_layout(id)?;
                self.structs(layout, a.structure(at, size)?, b.structure(bt, size)?)
            }
            _ => Ok(a.structure(at, size)? == b.structure(bt, size)?),
        }
    }

    fn union_vectors(
        &self,
        id: TypeId,
        voffset: u16,
        a: TableView<'_>,
        b: TableView<'_>,
    ) -> Compared {
        let codes = (a.vector(voffset - 2, 1)?, b.vector(voffset - 2, 1)?);
        let values = (a.vector(voffset, 4)?, b.vector(voffset, 4)?);
        let ((Some(a_codes), Some(b_codes)), (Some(a), Some(b))) = (codes, values) else {
            let empty = |vector: Option<VectorView<'_>>| vector.is_none_or(|v| v.is_empty());
            return Ok(empty(codes.0) && empty(codes.1));
        };
        if a_codes.bytes() != b_codes.bytes() {
            return Ok(false);
        }
        for (index, code) in a_codes.bytes().iter().enumerate() {
            let same =
                *code == 0 || self.unions(id, a.union(index, *code)?, b.union(index, *code)?)?;
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether a field's value is stored inline in its table.
fn is_inline(shape: Shape) -> bool {
    matches!(
        shape,
        Shape::Single(Element::Scalar(_) | Element::Enum(_) | Element::Struct(_))
    )
}

/// Compares two inline scalars by their bytes; an absent one has the bytes of its default.
fn scalars(scalar: Scalar, field: &FieldLayout, a: TableView<'_>, b: TableView<'_>) -> Compared {
    let size = scalar.size_bytes();
    let (a, b) = (
        a.structure(field.voffset, size)?,
        b.structure(field.voffset, size)?,
    );
    let (some, other) = match (a, b) {
        (None, None) => return Ok(true),
        (Some(a), Some(b)) => return Ok(a == b),
        (Some(some), None) | (None, Some(some)) => (some, &field.default),
    };
    let Some(default) = encoded(scalar, other) else {
        return Ok(false);
    };
    Ok(default.get(..size) == Some(some))
}

/// The bytes of a default; `None` if the field has no default (`= null`).
fn encoded(scalar: Scalar, value: &Value) -> Option<[u8; 8]> {
    Some(match (value, scalar) {
        (Value::Float(value), Scalar::F32) => u64::from((*value as f32).to_bits()).to_le_bytes(),
        (Value::Float(value), _) => value.to_le_bytes(),
        (Value::Int(value), _) => value.to_le_bytes(),
        (Value::UInt(value), _) => value.to_le_bytes(),
        (Value::Null | Value::Text(_), _) => return None,
    })
}
