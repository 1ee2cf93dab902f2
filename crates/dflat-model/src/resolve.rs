//! Checks that paths are valid in a schema.

use crate::{
    Element, Expression, Field, FieldKind, FieldLayout, Predicate, Query, ROOT_TYPE, Scalar, Shape,
    Step, TableDescriptor, TypeDescriptor, TypeId, Value, ValueRef, VectorField, VectorMember,
};

/// The value that a path leads to.
#[derive(Clone, Copy)]
enum PathEnd {
    Value(Element),
    Vector(Element),
    Tag,
}

/// The types of a schema, and the type at which paths start.
#[derive(Clone, Copy)]
struct Scope<'t> {
    types: &'t [TypeDescriptor],
    primary_key: &'t [Field],
    start: Element,
}

impl Query {
    /// Whether all paths are valid from the root table of a type, and have the right types.
    #[must_use]
    pub fn is_about(&self, table: &TableDescriptor) -> bool {
        let scope = Scope::root(table);
        let predicate = self.predicate.as_ref();
        predicate.is_none_or(|predicate| scope.has(predicate))
            && self.order.iter().all(|order| scope.computes(&order.key))
    }
}

impl TableDescriptor {
    /// The type of the single value that a path from the root table leads to; `None` if there is no
    /// such path, or if it leads to a vector or to the type code of a union.
    #[must_use]
    pub fn element_at(&self, steps: &[Step]) -> Option<Element> {
        match Scope::root(self).follow(steps)? {
            PathEnd::Value(element) => Some(element),
            PathEnd::Vector(_) | PathEnd::Tag => None,
        }
    }
}

impl Predicate {
    /// Whether all paths are valid from the root table of a type, and have the right types.
    #[must_use]
    pub fn is_about(&self, table: &TableDescriptor) -> bool {
        Scope::root(table).has(self)
    }
}

impl<'t> Scope<'t> {
    fn root(table: &'t TableDescriptor) -> Self {
        Self {
            types: &table.types,
            primary_key: &table.primary_key,
            start: Element::Table(ROOT_TYPE),
        }
    }

    fn has(self, predicate: &Predicate) -> bool {
        match predicate {
            Predicate::Constant(_) => true,
            Predicate::Compare { left, right, .. } => self.computes(left) && self.computes(right),
            Predicate::In { operand, .. }
            | Predicate::IsNull(operand)
            | Predicate::Text { operand, .. } => self.computes(operand),
            Predicate::Any { vector, condition } => {
                let start = self.members(vector);
                start.is_some_and(|start| Self { start, ..self }.has(condition))
            }
            Predicate::And(parts) | Predicate::Or(parts) => parts.iter().all(|p| self.has(p)),
            Predicate::Not(inner) => self.has(inner),
        }
    }

    fn computes(self, expression: &Expression) -> bool {
        match expression {
            Expression::Field(field) => self.has_field(field),
            Expression::Literal(_) => true,
            Expression::Arithmetic { left, right, .. } => {
                self.computes(left) && self.computes(right)
            }
            Expression::Length(operand) | Expression::Position { operand, .. } => {
                self.computes(operand)
            }
            Expression::Count(vector) => self.members(vector).is_some(),
        }
    }

    fn has_field(self, field: &Field) -> bool {
        let kind = match self.follow(&field.steps) {
            Some(PathEnd::Tag) => Some(FieldKind::Scalar(Scalar::U8)),
            Some(PathEnd::Value(Element::Text)) => Some(FieldKind::Text),
            Some(PathEnd::Value(element)) => self.scalar(element).map(FieldKind::Scalar),
            Some(PathEnd::Vector(_)) | None => None,
        };
        kind == Some(field.kind) && self.has_default(field)
    }

    /// Whether the default of a path is that of the schema: the declared default for a field of a
    /// table, and zero for others.
    fn has_default(self, field: &Field) -> bool {
        let expected = match field.steps.split_last() {
            Some((Step::Field(voffset), before)) => {
                let Some(PathEnd::Value(Element::Table(id))) = self.follow(before) else {
                    return false;
                };
                let layout = self.table_field(id, *voffset);
                let is_empty = matches!(&field.default, Value::Text(text) if text.is_empty());
                if is_empty && layout.is_some_and(|layout| self.is_never_absent(id, layout)) {
                    return true;
                }
                layout.map(|layout| layout.default.as_ref())
            }
            Some((Step::Offset(_) | Step::Tag, _)) => Some(ValueRef::Int(0)),
            // A string in a union.
            Some((Step::Member(_), _)) => Some(ValueRef::Null),
            // A member of a vector is never absent.
            None => return true,
        };
        // In a query NaN is NULL.
        let known = |value: ValueRef<'_>| match value {
            ValueRef::Float(float) if float.is_nan() => Value::Null,
            value => value.to_value(),
        };
        expected.is_some_and(|expected| {
            let (expected, found) = (known(expected), known(field.default.as_ref()));
            expected.as_ref().order(found.as_ref()).is_eq()
        })
    }

    /// Whether a field may be a string that is required or belongs to a primary key. If such a
    /// string is absent, generated code reads the empty string, although the layout has no default.
    /// The layout does not tell the keys of other tables than the root.
    fn is_never_absent(self, id: TypeId, layout: &FieldLayout) -> bool {
        let mut key = self.primary_key.iter();
        let is_text = layout.shape == Shape::Single(Element::Text);
        is_text
            && (layout.required
                || id != ROOT_TYPE
                || key.any(|key| *key.steps == [Step::Field(layout.voffset)]))
    }

    fn table_field(self, id: TypeId, voffset: u16) -> Option<&'t FieldLayout> {
        let TypeDescriptor::Table(layout) = self.ty(id)? else {
            return None;
        };
        layout.fields.iter().find(|field| field.voffset == voffset)
    }

    /// The type of a vector's members, or `None` if there is no such vector.
    fn members(self, vector: &VectorField) -> Option<Element> {
        let Some(PathEnd::Vector(element)) = self.follow(&vector.steps) else {
            return None;
        };
        let member = match element {
            Element::Text => VectorMember::Text,
            Element::Table(_) => VectorMember::Table,
            Element::Union(_) => VectorMember::Union,
            Element::Struct(id) => match self.ty(id)? {
                TypeDescriptor::Struct(layout) => VectorMember::Struct(layout.size),
                _ => return None,
            },
            Element::Scalar(_) | Element::Enum(_) => VectorMember::Scalar(self.scalar(element)?),
        };
        (member == vector.member).then_some(element)
    }

    fn ty(self, id: TypeId) -> Option<&'t TypeDescriptor> {
        self.types.get(usize::from(id.0))
    }

    fn scalar(self, element: Element) -> Option<Scalar> {
        match element {
            Element::Scalar(scalar) => Some(scalar),
            Element::Enum(id) => match self.ty(id)? {
                TypeDescriptor::Enum(layout) => Some(layout.base),
                _ => None,
            },
            _ => None,
        }
    }

    fn follow(self, steps: &[Step]) -> Option<PathEnd> {
        let mut at = PathEnd::Value(self.start);
        for step in steps {
            let PathEnd::Value(element) = at else {
                return None;
            };
            at = match (element, *step) {
                (Element::Table(id), Step::Field(voffset)) => {
                    match self.table_field(id, voffset)?.shape {
                        Shape::Single(element) => PathEnd::Value(element),
                        Shape::Vector(element) => PathEnd::Vector(element),
                    }
                }
                (Element::Struct(id), Step::Offset(offset)) => {
                    let TypeDescriptor::Struct(layout) = self.ty(id)? else {
                        return None;
                    };
                    let mut fields = layout.fields.iter();
                    let field = fields.find(|f| f.offset == offset.into() && f.array.is_none())?;
                    PathEnd::Value(field.element)
                }
                (Element::Union(id), Step::Member(code)) => {
                    let TypeDescriptor::Union(layout) = self.ty(id)? else {
                        return None;
                    };
                    let member = layout.members.iter().find(|member| member.code == code)?;
                    PathEnd::Value(member.element)
                }
                (Element::Union(_), Step::Tag) => PathEnd::Tag,
                _ => return None,
            };
        }
        Some(at)
    }
}
