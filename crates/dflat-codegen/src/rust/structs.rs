//! Structs: plain, copied values.

use super::layout::{Expr, atom, call};
use super::lints::struct_bools;
use super::names::Member;
use super::text::Text;
use super::{Scope, scalar_type};
use crate::plan::{Item, StructFieldPlan, StructPlan};

/// The longest array that implements `Default`.
const DEFAULT_ARRAY_MAX: u16 = 32;

impl Scope<'_> {
    pub(super) fn structure(self, plan: &StructPlan<'_>, text: &mut Text) {
        let (name, codegen) = (self.base(), self.codegen());
        let fields: Vec<(&Member, &StructFieldPlan<'_>)> =
            self.members().iter().zip(&plan.fields).collect();
        let long = |field: &StructFieldPlan<'_>| field.source.array > Some(DEFAULT_ARRAY_MAX);
        let derived = !plan.fields.iter().any(long);
        text.item(|text| {
            text.docs_or(&self.ty().definition.docs, "A struct of the schema.");
            let default = if derived { "Default, " } else { "" };
            // Numbers of a UUID have an order and a hash.
            let more = match (plan.uuid, self.ty().total) {
                (true, _) => ", Eq, PartialOrd, Ord, Hash",
                (false, true) => ", Eq",
                (false, false) => "",
            };
            text.line(format!(
                "#[derive(Clone, Copy, Debug, {default}PartialEq{more})]"
            ));
            self.allow(&self.field_lints(struct_bools(&fields)), text);
            if fields.is_empty() {
                text.line(format!("pub struct {name} {{}}"));
                return;
            }
            text.block(format!("pub struct {name}"), |text| {
                for (member, field) in &fields {
                    self.struct_field_docs(field, text);
                    text.line(format!(
                        "pub {}: {},",
                        member.field,
                        self.struct_field_type(field)
                    ));
                }
            });
        });
        if !derived {
            self.struct_default(&fields, text);
        }
        text.item(|text| {
            text.implementation(&format!("{codegen}::Struct"), name, |text| {
                text.line(format!("const SIZE: usize = {};", plan.size));
                text.line(format!("const ALIGN: usize = {};", plan.align));
                self.struct_codec(&fields, text);
            });
        });
        let dflat = self.dflat();
        text.item(|text| text.line(format!("{dflat}::__vector_element!(struct {name});")));
        if self.plan().storage {
            self.struct_query_fields(plan, text);
        }
        if plan.uuid {
            let names: Vec<&str> = self.members().iter().map(|m| m.field.as_str()).collect();
            let names = names.join(", ");
            text.item(|text| text.line(format!("{dflat}::__uuid!({name}, {names});")));
            if self.plan().storage {
                let methods: Vec<&str> = self.members().iter().map(|m| m.method.as_str()).collect();
                let methods = methods.join(", ");
                let line = format!("{dflat}::__uuid!({name}, {names}, {name}Fields, {methods});");
                text.item(|text| text.line(line));
            }
        }
    }

    fn struct_field_type(self, field: &StructFieldPlan<'_>) -> String {
        let element = self.item_type(field.item);
        match field.source.array {
            Some(length) => format!("[{element}; {length}]"),
            None => element,
        }
    }

    /// Prints `Default`, which arrays of more than 32 elements do not implement.
    fn struct_default(self, fields: &[(&Member, &StructFieldPlan<'_>)], text: &mut Text) {
        text.item(|text| {
            text.implementation("::core::default::Default", self.base(), |text| {
                text.function("fn default", &[], "Self", |text| {
                    let fields = fields.iter().map(|(member, field)| {
                        let element = match field.item {
                            Item::Scalar(scalar) if scalar.is_float() => "0.0".to_owned(),
                            Item::Scalar(dflat_model::Scalar::Bool) => "false".to_owned(),
                            Item::Scalar(_) => "0".to_owned(),
                            _ => "::core::default::Default::default()".to_owned(),
                        };
                        let value = match field.source.array {
                            Some(length) => format!("[{element}; {length}]"),
                            None => element,
                        };
                        (member.field.clone(), atom(value))
                    });
                    text.literal("Self", &fields.collect::<Vec<_>>());
                });
            });
        });
    }

    fn struct_codec(self, fields: &[(&Member, &StructFieldPlan<'_>)], text: &mut Text) {
        let codegen = self.codegen();
        text.item(|text| {
            let bytes = if fields.is_empty() {
                "_: &[u8]"
            } else {
                "bytes: &[u8]"
            };
            text.function("fn read", &[bytes], "Self", |text| {
                let fields = fields.iter().map(|(member, field)| {
                    let offset = atom(field.source.offset.to_string());
                    let read = format!("{codegen}::read_{}", item_suffix(field.item));
                    let value = match field.source.array {
                        Some(_) => {
                            let stride = atom(field.stride.to_string());
                            let arguments = [atom("bytes"), offset, stride, atom(read)];
                            call(format!("{codegen}::read_array"), arguments)
                        }
                        None => call(read, [atom("bytes"), offset]),
                    };
                    (member.field.clone(), value)
                });
                text.literal("Self", &fields.collect::<Vec<_>>());
            });
        });
        text.item(|text| {
            let out = if fields.is_empty() {
                "_: &mut [u8]"
            } else {
                "out: &mut [u8]"
            };
            text.function("fn write", &["&self", out], "", |text| {
                for (member, field) in fields {
                    text.statement(&self.struct_write(member, field));
                }
            });
        });
    }

    fn struct_write(self, member: &Member, field: &StructFieldPlan<'_>) -> Expr {
        let codegen = self.codegen();
        let offset = atom(field.source.offset.to_string());
        let write = format!("{codegen}::write_{}", item_suffix(field.item));
        let value = atom("self").field(&member.field);
        match field.source.array {
            Some(_) => {
                let stride = atom(field.stride.to_string());
                let arguments = [atom("out"), offset, stride, value.reference(), atom(write)];
                call(format!("{codegen}::write_array"), arguments)
            }
            None => call(write, [atom("out"), offset, value]),
        }
    }

    /// The type of a scalar or an enum, in a query.
    pub(super) fn compared_type(self, item: Item) -> Option<String> {
        match item {
            Item::Scalar(scalar) => Some(scalar_type(scalar).to_owned()),
            Item::Text => Some("str".to_owned()),
            Item::Enum(id) => Some(self.path(id, "")),
            Item::Struct(_) | Item::Table(_) | Item::Union(_) => None,
        }
    }
}

/// The suffix of the functions that read and write such a value inside a struct.
fn item_suffix(item: Item) -> &'static str {
    match item {
        Item::Enum(_) => "enum_member",
        Item::Struct(_) => "struct_member",
        // Invariant: a struct holds no other type.
        Item::Scalar(_) | Item::Text | Item::Table(_) | Item::Union(_) => "member",
    }
}
