//! FlatBuffers tables: the owned struct and the view.

use super::layout::{Expr, atom, call};
use super::lints::table_bools;
use super::names::Member;
use super::text::{Lint, Text};
use super::{MUST_USE, OPTION, SOME, Scope, linked, scalar_type};
use crate::plan::{FieldPlan, Item, TablePlan, Value};

/// The lint on a constructor with many required values.
const MANY_ARGUMENTS: Lint = Lint {
    lint: "clippy::too_many_arguments",
    reason: "required fields of the schema",
};

/// A field with its names.
pub(super) type Named<'p> = (&'p Member, &'p FieldPlan<'p>);

/// The type on which an accessor is generated.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Receiver {
    /// The view, whose accessors borrow from the payload.
    View,
    /// The object, whose accessors borrow from the object.
    Object,
}

impl<'p> Scope<'p> {
    pub(super) fn table(self, plan: &'p TablePlan<'p>, text: &mut Text) {
        let fields: Vec<Named<'p>> = self.members().iter().zip(&plan.fields).collect();
        self.owned_struct(&fields, text);
        self.view_struct(&fields, text);
        self.view_traits(&fields, text);
        self.codec(plan, &fields, text);
        if self.is_linked() {
            self.linked(&fields, text);
        }
        let (stored, nested) = (self.ty().stored.as_ref(), self.ty().nested);
        if stored.is_none() || nested {
            let line = format!(
                "{}::__vector_element!(table {});",
                self.dflat(),
                self.own_owned()
            );
            text.item(|text| text.line(line));
            if self.plan().storage {
                self.table_query_fields(&fields, text);
            }
        }
        if let Some(descriptor) = stored {
            self.object(descriptor, &fields, text);
        }
        self.payload(text);
    }

    /// The name of the owned form of the type.
    pub(super) fn own_owned(self) -> String {
        let suffix = if self.ty().stored.is_some() {
            "Data"
        } else {
            ""
        };
        format!("{}{suffix}", self.base())
    }

    fn owned_struct(self, fields: &[Named<'_>], text: &mut Text) {
        let (base, owned) = (self.base(), self.own_owned());
        let constructed = fields.iter().any(|(_, field)| field.source.required);
        let derived = !constructed && fields.iter().all(|(_, field)| self.is_plain_default(field));
        text.item(|text| {
            if self.ty().stored.is_some() {
                let linked = linked(base);
                text.line(format!("/// The values of {linked} as an owned struct."));
            } else {
                let docs = &self.ty().definition.docs;
                text.docs_or(docs, "A table of the schema as an owned struct.");
            }
            let default = if derived { "Default, " } else { "" };
            let total = if self.ty().total { ", Eq" } else { "" };
            text.line(format!(
                "#[derive(Clone, Debug, {default}PartialEq{total})]"
            ));
            self.allow(&self.field_lints(table_bools(fields)), text);
            if fields.is_empty() {
                return text.line(format!("pub struct {owned} {{}}"));
            }
            text.block(format!("pub struct {owned}"), |text| {
                for (member, field) in fields {
                    self.field_docs(field, text);
                    text.line(format!(
                        "pub {}: {},",
                        member.field,
                        self.owned_type(field.value)
                    ));
                }
            });
        });
        if constructed {
            self.constructor(fields, text);
        } else if !derived {
            text.item(|text| {
                self.allow_literals(fields, text);
                text.implementation("::core::default::Default", &owned, |text| {
                    text.function("fn default", &[], "Self", |text| {
                        let value = |(member, field): &Named<'_>| {
                            (member.field.clone(), self.owned_default(field))
                        };
                        text.literal("Self", &fields.iter().map(value).collect::<Vec<_>>());
                    });
                });
            });
        }
    }

    /// The function that takes the required values, instead of `Default`.
    fn constructor(self, fields: &[Named<'_>], text: &mut Text) {
        /// The number of arguments that clippy allows.
        const ARGUMENTS_MAX: usize = 7;
        let required: Vec<&Named<'_>> = fields
            .iter()
            .filter(|(_, field)| field.source.required)
            .collect();
        let parameters = required.iter().map(|(member, field)| {
            let ty = self.required_type(field.value);
            format!("{}: impl ::core::convert::Into<{ty}>", member.field)
        });
        let parameters: Vec<String> = parameters.collect();
        let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
        text.item(|text| {
            let mut literals = fields.iter();
            let lints = literals.find_map(|(_, field)| self.literal_lints(field));
            self.allow(lints.as_slice(), text);
            text.block(format!("impl {}", self.own_owned()), |text| {
                text.item(|text| {
                    text.line(
                        "/// The values with these required ones; the others have their defaults.",
                    );
                    text.line(MUST_USE);
                    if parameters.len() > ARGUMENTS_MAX {
                        MANY_ARGUMENTS.print(text);
                    }
                    text.function("pub fn new", &parameters, "Self", |text| {
                        let value = |(member, field): &Named<'_>| {
                            (member.field.clone(), self.initial(member, field))
                        };
                        text.literal("Self", &fields.iter().map(value).collect::<Vec<_>>());
                    });
                });
            });
        });
    }

    /// The type of a required field's value.
    fn required_type(self, value: Value<'_>) -> String {
        match value {
            Value::Struct(id) | Value::Union(id) => self.path(id, ""),
            value => self.owned_type(value),
        }
    }

    /// The value of a field in the constructor.
    fn initial(self, member: &Member, field: &FieldPlan<'_>) -> Expr {
        if !field.source.required {
            return self.owned_default(field);
        }
        let value = call("::core::convert::Into::into", [atom(&member.field)]);
        match field.value {
            Value::Struct(_) | Value::Union(_) => call(SOME, [value]),
            _ => value,
        }
    }

    fn view_struct(self, fields: &[Named<'_>], text: &mut Text) {
        let (base, codegen) = (self.base(), self.codegen());
        text.item(|text| {
            let values = if self.ty().stored.is_some() {
                "the values of "
            } else {
                ""
            };
            let inside = if values.is_empty() {
                " inside an object"
            } else {
                ""
            };
            let linked = linked(base);
            text.line(format!("/// A view of {values}{linked}{inside}."));
            text.line("#[derive(Clone, Copy)]");
            self.allow(&[], text);
            text.line(format!(
                "pub struct {base}Ref<'a>({codegen}::TableReader<'a>);"
            ));
        });
        if fields.is_empty() {
            return;
        }
        text.item(|text| {
            let mut lints = self.accessor_lints();
            lints.extend(
                fields
                    .iter()
                    .find_map(|(_, field)| self.literal_lints(field)),
            );
            self.allow(&lints, text);
            let borrows = |field: &Named<'_>| self.view_result(field.1.value).contains("'a");
            let head = if fields.iter().any(borrows) {
                format!("impl<'a> {base}Ref<'a>")
            } else {
                format!("impl {base}Ref<'_>")
            };
            text.block(head, |text| {
                for (member, field) in fields {
                    self.accessor((member, field), Receiver::View, text);
                }
            });
        });
    }

    /// The accessor of a field.
    pub(super) fn accessor(self, (member, field): Named<'_>, of: Receiver, text: &mut Text) {
        let receiver = match of {
            Receiver::View => "self",
            Receiver::Object => "&self",
        };
        text.item(|text| {
            self.field_docs(field, text);
            text.line(MUST_USE);
            let result = match of {
                Receiver::View => self.view_result(field.value),
                Receiver::Object => self.view_type(field.value, "'_").replace("&'_ ", "&"),
            };
            let head = format!("pub fn {}", member.method);
            text.function(&head, &[receiver], &result, |text| {
                text.value(&match of {
                    Receiver::View => self.read(field),
                    Receiver::Object => {
                        let view = call(format!("{}::Object::view", self.dflat()), [atom("self")]);
                        view.method(&member.method, [])
                    }
                });
            });
        });
    }

    fn owned_type(self, value: Value<'_>) -> String {
        let codegen = self.codegen();
        let optional = |optional, ty| {
            if optional {
                format!("{OPTION}<{ty}>")
            } else {
                ty
            }
        };
        match value {
            Value::Scalar {
                scalar,
                optional: absent,
            } => optional(absent, scalar_type(scalar).to_owned()),
            Value::Enum {
                id,
                optional: absent,
            } => optional(absent, self.path(id, "")),
            Value::Time {
                unit,
                optional: absent,
            } => optional(absent, self.time_type(unit)),
            Value::Text { default } => optional(default.is_none(), format!("{codegen}::String")),
            Value::Struct(id) | Value::Union(id) => optional(true, self.path(id, "")),
            Value::Table {
                id,
                boxed,
                required,
            } => optional(!required, self.held(id, boxed)),
            Value::Vector(Item::Table(id)) => {
                format!("{codegen}::Vec<{}>", self.held(id, false))
            }
            Value::Vector(item) => format!("{codegen}::Vec<{}>", self.item_type(item)),
        }
    }

    /// The result of a view's accessor.
    fn view_result(self, value: Value<'_>) -> String {
        match value {
            Value::Table { id, required, .. } if id == self.id => match required {
                true => "Self".to_owned(),
                false => format!("{OPTION}<Self>"),
            },
            _ => self.view_type(value, "'a"),
        }
    }

    fn view_type(self, value: Value<'_>, lifetime: &str) -> String {
        let codegen = self.codegen();
        match value {
            Value::Text { default: None } => format!("{OPTION}<&{lifetime} str>"),
            Value::Text { default: Some(_) } => format!("&{lifetime} str"),
            Value::Table { id, required, .. } => {
                let view = format!("{}<{lifetime}>", self.path(id, "Ref"));
                match required {
                    true => view,
                    false => format!("{OPTION}<{view}>"),
                }
            }
            Value::Union(id) => format!("{OPTION}<{}>", self.union_view(id, lifetime)),
            Value::Vector(Item::Union(id)) => {
                format!("{codegen}::UnionVector<{lifetime}, {}>", self.path(id, ""))
            }
            Value::Vector(item) => {
                let element = match item {
                    Item::Text => "str".to_owned(),
                    item => self.item_type(item),
                };
                format!("{codegen}::Vector<{lifetime}, {element}>")
            }
            Value::Scalar { .. } | Value::Enum { .. } | Value::Time { .. } | Value::Struct(_) => {
                self.owned_type(value)
            }
        }
    }

    fn read(self, field: &FieldPlan<'_>) -> Expr {
        let reader = atom("self").field("0");
        let voffset = atom(field.source.voffset.to_string());
        let default = || atom(self.default(field));
        match field.value {
            Value::Scalar {
                optional: false, ..
            } => reader.method("scalar", [voffset, default()]),
            Value::Scalar { optional: true, .. } => reader.method("optional_scalar", [voffset]),
            Value::Enum {
                optional: false, ..
            }
            | Value::Time {
                optional: false, ..
            } => reader.method("enumeration", [voffset, default()]),
            Value::Enum { optional: true, .. } | Value::Time { optional: true, .. } => {
                reader.method("optional_enumeration", [voffset])
            }
            Value::Text { default: Some(_) } => reader.method("text_or", [voffset, default()]),
            Value::Text { default: None } => reader.method("text", [voffset]),
            Value::Struct(_) => reader.method("structure", [voffset]),
            Value::Table { id, required, .. } => {
                let method = match required {
                    true => "required_message",
                    false => "message",
                };
                reader.method(format!("{method}::<{}>", self.owned(id)), [voffset])
            }
            Value::Union(id) => reader.method(format!("union::<{}>", self.path(id, "")), [voffset]),
            Value::Vector(Item::Union(_)) => reader.method("union_vector", [voffset]),
            Value::Vector(_) => reader.method("vector", [voffset]),
        }
    }

    fn view_traits(self, fields: &[Named<'_>], text: &mut Text) {
        let view = format!("{}Ref<'_>", self.base());
        let link = self.is_linked().then(|| self.link(&self.own_owned()));
        text.item(|text| {
            text.implementation("::core::cmp::PartialEq", &view, |text| {
                let other = if fields.is_empty() && link.is_none() {
                    "_: &Self"
                } else {
                    "other: &Self"
                };
                text.function("fn eq", &["&self", other], "bool", |text| match &link {
                    Some(link) => {
                        let tables = ["self", "other"].map(|view| atom(view).field("0"));
                        text.value(&link.clone().method("same", tables));
                    }
                    None => self.same_fields("self", "other", fields, text),
                });
            });
        });
        text.item(|text| {
            text.implementation("::core::fmt::Debug", &view, |text| {
                let parameters = ["&self", "f: &mut ::core::fmt::Formatter<'_>"];
                text.function("fn fmt", &parameters, "::core::fmt::Result", |text| {
                    text.value(&match &link {
                        Some(link) => {
                            let table = atom("self").field("0");
                            link.clone().method("debug", [table, atom("f")])
                        }
                        None => self.debug_fields("self", fields),
                    });
                });
            });
        });
    }

    /// Whether two views have the same fields.
    pub(super) fn same_fields(
        self,
        view: &str,
        other: &str,
        fields: &[Named<'_>],
        text: &mut Text,
    ) {
        let pair = |(member, _): &Named<'_>| {
            let method = &member.method;
            (format!("{view}.{method}()"), format!("{other}.{method}()"))
        };
        let pairs: Vec<_> = fields.iter().map(pair).collect();
        if pairs.is_empty() {
            text.line("true")
        } else {
            text.conjunction(&pairs)
        }
    }

    /// Prints code that writes the fields of a view to `f`.
    pub(super) fn debug_fields(self, view: &str, fields: &[Named<'_>]) -> Expr {
        let name = atom(format!("{:?}", self.base()));
        let begin = atom("f").method("debug_struct", [name]);
        let all = fields.iter().fold(begin, |chain, (member, _)| {
            let value = atom(view).method(&member.method, []).reference();
            chain.method("field", [atom(format!("{:?}", member.plain)), value])
        });
        all.method("finish", [])
    }

    /// Prints an attribute that allows the lints for the literals in an item, if they need one.
    pub(super) fn allow_literals(self, fields: &[Named<'_>], text: &mut Text) {
        if let Some(lint) = fields
            .iter()
            .find_map(|(_, field)| self.literal_lints(field))
        {
            lint.print(text);
        }
    }
}
