//! Stored objects: the handle, the query constants, the key.

use dflat_model::TableDescriptor;

use super::descriptor::print_descriptor;
use super::fields::Query;
use super::layout::{Expr, atom, call};
use super::tables::{Named, Receiver};
use super::text::Text;
use super::{Scope, linked, scalar_type};
use crate::plan::Value;

impl<'p> Scope<'p> {
    pub(super) fn object(
        self,
        descriptor: &TableDescriptor,
        fields: &[Named<'p>],
        text: &mut Text,
    ) {
        let (base, dflat, codegen) = (self.base(), self.dflat(), self.codegen());
        text.item(|text| {
            let docs = "A stored object of the schema: immutable, cheaply cloned.";
            text.docs_or(&self.ty().definition.docs, docs);
            text.line("///");
            text.line(format!(
                "/// [`{base}Data`] has its values as a plain struct."
            ));
            text.line("#[derive(Clone)]");
            self.allow(&[], text);
            text.line(format!("pub struct {base}({codegen}::Handle);"));
        });
        text.item(|text| {
            let change = "a creation, an update, an upsert or a deletion";
            text.line(format!("/// A change to {}: {change}.", linked(base)));
            self.allow(&[], text);
            text.line(format!(
                "pub type {base}ChangeRequest = {dflat}::ChangeRequest<{base}>;"
            ));
        });
        text.item(|text| {
            let mut lints = self.accessor_lints();
            lints.extend(
                fields
                    .iter()
                    .find_map(|(_, field)| self.literal_lints(field)),
            );
            self.allow(&lints, text);
            text.block(format!("impl {base}"), |text| {
                self.constants(fields, text);
                for field in fields {
                    self.accessor(*field, Receiver::Object, text);
                }
            });
        });
        self.object_trait(descriptor, fields, text);
        text.item(|text| {
            text.implementation("::core::cmp::PartialEq", base, |text| {
                text.function("fn eq", &["&self", "other: &Self"], "bool", |text| {
                    text.value(&call(
                        format!("{codegen}::same"),
                        [atom("self"), atom("other")],
                    ));
                });
            });
        });
        text.item(|text| {
            text.implementation("::core::fmt::Debug", base, |text| {
                let parameters = ["&self", "f: &mut ::core::fmt::Formatter<'_>"];
                text.function("fn fmt", &parameters, "::core::fmt::Result", |text| {
                    let view = call(format!("{dflat}::Object::view"), [atom("self")]).reference();
                    text.value(&call("::core::fmt::Debug::fmt", [view, atom("f")]));
                });
            });
        });
    }

    fn constants(self, fields: &[Named<'_>], text: &mut Text) {
        let dflat = self.dflat();
        text.member(|text| {
            text.line("/// The table of the type's objects, an argument of `perform_changes`.");
            let table = atom(format!("<Self as {dflat}::Object>::TABLE"));
            text.assignment(&format!("pub const TABLE: {dflat}::Table"), &table);
        });
        let mut first = true;
        for (member, field) in fields {
            let query = self.query(field.value);
            let name = &field.source.name;
            let write = |text: &mut Text| {
                let steps = Expr::Array(vec![self.field_step(field)]).reference();
                let path = [atom(format!("{name:?}")), steps];
                let facts = self.field_facts(field);
                let constant = &member.constant;
                let presence = self.presence(field, &format!("{}::Sure", self.dflat()));
                match query {
                    Query::Nothing => {}
                    Query::Compare(ty) => {
                        text.line(format!("/// The query field `{name}`: {facts}."));
                        let arguments = path.into_iter().chain([self.plain_default(field)]);
                        let value = call(format!("{dflat}::Field::new"), arguments);
                        let left =
                            format!("pub const {constant}: {dflat}::Field<Self, {ty}{presence}>");
                        text.assignment(&left, &value);
                    }
                    Query::Enter(ty) => {
                        text.line(format!("/// The query fields of `{name}`: {facts}."));
                        let path = call(format!("{}::Path::new", self.codegen()), path);
                        let value = call(format!("{ty}::new"), [path]);
                        let left = format!("pub const {constant}: {ty}<Self{presence}>");
                        text.assignment(&left, &value);
                    }
                    Query::Members(ty) => {
                        text.line(format!("/// The query field `{name}`: {facts}."));
                        let value = call(format!("{dflat}::VectorField::new"), path);
                        let ty = format!("{dflat}::VectorField<Self, {ty}>");
                        text.assignment(&format!("pub const {constant}: {ty}"), &value);
                    }
                }
            };
            if std::mem::take(&mut first) {
                text.item(write);
            } else {
                text.member(write);
            }
        }
    }

    fn object_trait(self, descriptor: &TableDescriptor, fields: &[Named<'p>], text: &mut Text) {
        let (base, dflat, codegen) = (self.base(), self.dflat(), self.codegen());
        let key: Vec<Named<'p>> = fields
            .iter()
            .filter(|(_, field)| field.source.storage.primary)
            .copied()
            .collect();
        text.item(|text| {
            text.implementation(&format!("{dflat}::Object"), base, |text| {
                text.member(|text| {
                    text.line(format!("const TABLE: {dflat}::Table = {{"));
                    text.body(|text| {
                        print_descriptor(descriptor, codegen, text);
                        text.line(format!("{dflat}::Table::from_static(&DESCRIPTOR)"));
                    });
                    text.line("};");
                });
                text.item(|text| {
                    let types = key
                        .iter()
                        .map(|(_, field)| self.key_type(field.value, "&'k "));
                    let types = tuple(&types.collect::<Vec<_>>(), text);
                    text.line(format!("type Key<'k> = {types};"));
                });
                text.member(|text| text.line(format!("type Data = {base}Data;")));
                text.item(|text| self.key_values(&key, text));
                text.item(|text| {
                    let handle = format!("handle: {codegen}::Handle");
                    text.function("fn from_handle", &[&handle], "Self", |text| {
                        text.line("Self(handle)");
                    });
                });
                text.item(|text| {
                    let result = format!("&{codegen}::Handle");
                    text.function("fn handle", &["&self"], &result, |text| {
                        text.line("&self.0")
                    });
                });
            });
        });
    }

    fn key_values(self, key: &[Named<'_>], text: &mut Text) {
        let codegen = self.codegen();
        let names: Vec<String> = key.iter().map(|(member, _)| member.field.clone()).collect();
        let parameter = format!("{}: Self::Key<'_>", tuple(&names, text));
        let result = format!("{codegen}::KeyParts<'_>");
        text.function("fn key_values", &[&parameter], &result, |text| {
            let parts = key.iter().map(|(member, field)| {
                let value = atom(&member.field);
                let function = match field.value {
                    Value::Text { .. } => "text",
                    _ => "number",
                };
                call(format!("{codegen}::{function}"), [value])
            });
            text.value(&call(
                format!("{codegen}::key"),
                [Expr::Array(parts.collect())],
            ));
        });
    }

    /// The type of a field of the key; a reference begins with `reference`.
    fn key_type(self, value: Value<'_>, reference: &str) -> String {
        match value {
            Value::Scalar { scalar, .. } => scalar_type(scalar).to_owned(),
            Value::Enum { id, .. } => self.path(id, ""),
            Value::Time { unit, .. } => self.time_type(unit),
            // Invariant: the fields of a key are scalars, enums and strings.
            _ => format!("{reference}str"),
        }
    }
}

/// A single item as it is, several in parentheses.
fn tuple(parts: &[String], text: &mut Text) -> String {
    /// The number of columns up to which rustfmt leaves a tuple on one line.
    const ONE_LINE_MAX: usize = 60;
    match parts {
        [only] => only.clone(),
        _ => {
            let all = parts.join(", ");
            if all.len() > ONE_LINE_MAX {
                text.skip_rustfmt();
            }
            format!("({all})")
        }
    }
}
