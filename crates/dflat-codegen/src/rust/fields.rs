//! The query fields of tables and structs inside objects.

use super::layout::{Expr, atom, call};
use super::tables::Named;
use super::text::Text;
use super::{MUST_USE, Scope, linked, scalar_type};
use crate::plan::{FieldPlan, Item, StructPlan, Value};

/// The operations that a query has for a field.
pub(super) enum Query {
    /// Comparisons with values of this type.
    Compare(String),
    /// Access to nested fields, by this type.
    Enter(String),
    /// Conditions on its members, which have this type.
    Members(String),
    /// None.
    Nothing,
}

/// The method with the query field of a nested value.
struct Accessor<'t> {
    method: &'t str,
    /// The name of the field in the schema.
    name: &'t str,
    query: Query,
    /// The type argument for the presence, after a comma, or nothing.
    presence: &'t str,
    /// The step from the value to the field.
    step: Expr,
}

impl<'p> Scope<'p> {
    pub(super) fn query(self, value: Value<'_>) -> Query {
        match value {
            Value::Scalar { scalar, .. } => Query::Compare(scalar_type(scalar).to_owned()),
            Value::Enum { id, .. } => Query::Compare(self.path(id, "")),
            Value::Time { unit, .. } => Query::Compare(self.time_type(unit)),
            Value::Text { .. } => Query::Compare("str".to_owned()),
            Value::Struct(id) | Value::Table { id, .. } | Value::Union(id) => {
                Query::Enter(self.path(id, "Fields"))
            }
            Value::Vector(item) => Query::Members(match item {
                Item::Scalar(scalar) => scalar_type(scalar).to_owned(),
                Item::Text => "str".to_owned(),
                Item::Enum(id) | Item::Struct(id) | Item::Union(id) => self.path(id, ""),
                Item::Table(id) => self.owned(id),
            }),
        }
    }

    /// The type argument for the presence of a field's value: the presence `outer` of the table
    /// around it if the table always has the value, and otherwise none. NaN counts as missing, so
    /// a float may be missing, except in a key, which refuses NaN. A union's tag has a value even
    /// if the union is empty.
    pub(super) fn presence(self, field: &FieldPlan<'_>, outer: &str) -> String {
        let always = match field.value {
            Value::Scalar { scalar, optional } => {
                !optional && (field.source.storage.primary || !scalar.is_float())
            }
            Value::Enum { optional, .. } | Value::Time { optional, .. } => !optional,
            Value::Text { default } => default.is_some(),
            Value::Struct(_) => field.source.required || field.source.storage.primary,
            Value::Table { required, .. } => required,
            Value::Union(_) => true,
            Value::Vector(_) => false,
        };
        if always {
            format!(", {outer}")
        } else {
            String::new()
        }
    }

    /// Prints the type with the query fields of a table, a struct or a union, according to `kind`:
    /// its function `new`, then `methods`.
    pub(super) fn query_fields(self, kind: &str, methods: impl FnOnce(&mut Text), text: &mut Text) {
        let (base, codegen) = (self.base(), self.codegen());
        let owned = match self.ty().stored {
            Some(_) => format!("{base}Data"),
            None => base.to_owned(),
        };
        text.item(|text| {
            let linked = linked(&owned);
            text.line(format!(
                "/// The query fields of {linked} inside an object of type `R`."
            ));
            text.line("#[derive(Clone, Debug)]");
            self.allow(&[], text);
            let parameters = format!("R, P = {}::Maybe", self.dflat());
            text.line(format!(
                "pub struct {base}Fields<{parameters}>({codegen}::Path<R, P>);"
            ));
        });
        text.item(|text| {
            self.allow(&self.accessor_lints(), text);
            text.block(format!("impl<R, P> {base}Fields<R, P>"), |text| {
                text.member(|text| {
                    text.line("/// The query fields of the value at a path.");
                    text.line("#[doc(hidden)]");
                    text.line(MUST_USE);
                    let path = format!("path: {codegen}::Path<R, P>");
                    text.function("pub const fn new", &[&path], "Self", |text| {
                        text.line("Self(path)");
                    });
                });
                methods(text);
            });
        });
        text.item(|text| {
            let dflat = self.dflat();
            let line = format!("{dflat}::__query_element!({kind} {owned}, {base}Fields);");
            text.line(line);
        });
    }

    pub(super) fn table_query_fields(self, fields: &[Named<'p>], text: &mut Text) {
        let methods = |text: &mut Text| {
            for (member, field) in fields {
                let step = self.field_step(field);
                let query = self.query(field.value);
                let default = || self.plain_default(field);
                let docs = |text: &mut Text| self.field_docs(field, text);
                let presence = self.presence(field, "P");
                let accessor = Accessor {
                    method: &member.method,
                    name: &field.source.name,
                    query,
                    presence: &presence,
                    step,
                };
                self.query_method(accessor, docs, default, text);
            }
        };
        self.query_fields("table", methods, text);
    }

    pub(super) fn struct_query_fields(self, plan: &StructPlan<'_>, text: &mut Text) {
        let codegen = self.codegen();
        let methods = |text: &mut Text| {
            for (member, field) in self.members().iter().zip(&plan.fields) {
                let query = match (field.source.array, field.item) {
                    (None, Item::Struct(id)) => Query::Enter(self.path(id, "Fields")),
                    (None, item) => self
                        .compared_type(item)
                        .map_or(Query::Nothing, Query::Compare),
                    (Some(_), _) => Query::Nothing,
                };
                let source = field.source;
                let step = atom(format!("{codegen}::Step::Offset({})", source.offset));
                let zero = || match field.item {
                    Item::Scalar(scalar) if scalar.is_float() => {
                        atom(format!("{codegen}::Value::Float(0.0)"))
                    }
                    _ => atom(format!("{codegen}::Value::Int(0)")),
                };
                let docs = |text: &mut Text| self.struct_field_docs(field, text);
                let presence = match field.item {
                    Item::Scalar(scalar) if scalar.is_float() => "",
                    _ => ", P",
                };
                let accessor = Accessor {
                    method: &member.method,
                    name: &source.name,
                    query,
                    presence,
                    step,
                };
                self.query_method(accessor, docs, zero, text);
            }
        };
        self.query_fields("struct", methods, text);
    }

    fn query_method(
        self,
        accessor: Accessor<'_>,
        docs: impl FnOnce(&mut Text),
        default: impl FnOnce() -> Expr,
        text: &mut Text,
    ) {
        let Accessor {
            method,
            name,
            query,
            presence,
            step,
        } = accessor;
        let name = atom(format!("{name:?}"));
        let path = atom("self").field("0");
        let (result, value) = match query {
            Query::Nothing => return,
            Query::Compare(ty) => {
                let field = path.method("field", [name, step, default()]);
                (format!("{}::Field<R, {ty}{presence}>", self.dflat()), field)
            }
            Query::Enter(ty) => {
                let is_self = ty == format!("{}Fields", self.base()) && !presence.is_empty();
                let (ty, result) = match is_self {
                    true => ("Self".to_owned(), "Self".to_owned()),
                    false => (ty.clone(), format!("{ty}<R{presence}>")),
                };
                let inner = call(format!("{ty}::new"), [path.method("then", [name, step])]);
                (result, inner)
            }
            Query::Members(ty) => {
                let vector = path.method("vector", [name, step]);
                (format!("{}::VectorField<R, {ty}>", self.dflat()), vector)
            }
        };
        text.item(|text| {
            docs(text);
            text.line(MUST_USE);
            text.function(&format!("pub fn {method}"), &["&self"], &result, |text| {
                text.value(&value);
            });
        });
    }

    /// The step from a table to one of its fields.
    pub(super) fn field_step(self, field: &FieldPlan<'_>) -> Expr {
        atom(format!(
            "{}::Step::Field({})",
            self.codegen(),
            field.source.voffset
        ))
    }
}
