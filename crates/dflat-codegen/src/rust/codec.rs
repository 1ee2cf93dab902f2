//! The functions that decode a table from its view, and encode it.

use std::collections::BTreeSet;

use super::layout::{Expr, atom, call};
use super::lints::local_lint;
use super::names::Member;
use super::tables::Named;
use super::text::Text;
use super::{SOME, Scope};
use crate::plan::{FieldPlan, Inline, Item, TablePlan, Value};

impl Scope<'_> {
    pub(super) fn codec(self, plan: &TablePlan<'_>, fields: &[Named<'_>], text: &mut Text) {
        let (base, codegen) = (self.base(), self.codegen());
        text.item(|text| {
            text.implementation(&format!("{codegen}::Message"), &self.own_owned(), |text| {
                text.line(format!("type Ref<'a> = {base}Ref<'a>;"));
                text.item(|text| {
                    let table = format!("table: {codegen}::TableReader<'_>");
                    text.function("fn view", &[&table], &format!("{base}Ref<'_>"), |text| {
                        text.line(format!("{base}Ref(table)"));
                    });
                });
                text.item(|text| {
                    if self.is_linked() {
                        let view = format!("view: {base}Ref<'_>");
                        text.function("fn decode", &[&view], "Self", |text| {
                            let table = atom("view").field("0");
                            text.value(&self.link("Self").method("decode", [table]));
                        });
                    } else {
                        self.decode_fields("fn decode", fields, text);
                    }
                });
                text.item(|text| {
                    self.allow_literals(fields, text);
                    let names = locals(fields)
                        .into_iter()
                        .flat_map(|(slot, codes)| [slot, codes]);
                    let lint = local_lint(&names.collect::<Vec<_>>());
                    lint.into_iter().for_each(|lint| lint.print(text));
                    let lint = self.underscore_lint("clippy::used_underscore_binding");
                    lint.into_iter().for_each(|lint| lint.print(text));
                    let encoder = format!("encoder: &mut {codegen}::Encoder<'_>");
                    text.function("fn encode", &["&self", &encoder], "", |text| {
                        self.encode(plan, fields, text);
                    });
                });
            });
        });
    }

    /// The function that converts a view to an owned struct.
    pub(super) fn decode_fields(self, head: &str, fields: &[Named<'_>], text: &mut Text) {
        let name = if fields.is_empty() { "_" } else { "view" };
        let view = format!("{name}: {}Ref<'_>", self.base());
        let lint = self.underscore_lint("clippy::used_underscore_items");
        lint.into_iter().for_each(|lint| lint.print(text));
        text.function(head, &[&view], "Self", |text| {
            let value = |(member, field): &Named<'_>| {
                (member.field.clone(), self.decode(member, field.value))
            };
            text.literal("Self", &fields.iter().map(value).collect::<Vec<_>>());
        });
    }

    fn decode(self, member: &Member, value: Value<'_>) -> Expr {
        let codegen = self.codegen();
        let get = atom("view").method(&member.method, []);
        let string = format!("{codegen}::String::from");
        let map = |chain: Expr, function: &str| {
            chain.method("map", [atom(format!("{codegen}::{function}"))])
        };
        match value {
            Value::Scalar { .. } | Value::Enum { .. } | Value::Time { .. } | Value::Struct(_) => {
                get
            }
            Value::Text { default: Some(_) } => call(string, [get]),
            Value::Text { default: None } => map(get, "String::from"),
            Value::Table {
                boxed, required, ..
            } => {
                let function = match boxed {
                    true => "decode_boxed",
                    false => "Message::decode",
                };
                match required {
                    true => call(format!("{codegen}::{function}"), [get]),
                    false => map(get, function),
                }
            }
            Value::Union(_) => map(get, "Union::decode"),
            Value::Vector(item) => {
                let elements = get.method("iter", []);
                let elements = match item {
                    Item::Scalar(_) | Item::Enum(_) | Item::Struct(_) => elements,
                    Item::Text => map(elements, "String::from"),
                    Item::Table(_) => map(elements, "Message::decode"),
                    Item::Union(_) => map(elements, "decode_optional"),
                };
                elements.method("collect", [])
            }
        }
    }

    fn encode(self, plan: &TablePlan<'_>, fields: &[Named<'_>], text: &mut Text) {
        let locals = locals(fields);
        for inline in &plan.inline {
            let (position, code) = match *inline {
                Inline::Value(position) => (position, false),
                Inline::Code(position) => (position, true),
            };
            let (member, field) = fields[position];
            let (slot, codes) = &locals[position];
            if code {
                self.encode_code(member, field, codes, text);
            } else {
                self.encode_inline(member, field, slot, text);
            }
        }
        for (member, field) in fields {
            let absent = matches!(field.value, Value::Struct(_) | Value::Union(_));
            if field.source.required && absent {
                let present = atom("self").field(&member.field).method("is_some", []);
                let fault = atom(format!("\"the field {} is required\"", field.source.name));
                text.statement(&atom("encoder").method("require", [present, fault]));
            }
        }
        text.line("encoder.end_table();");
        for ((member, field), (slot, codes)) in fields.iter().zip(&locals) {
            encode_child(member, field.value, slot, codes, text);
        }
    }

    fn encode_code(self, member: &Member, field: &FieldPlan<'_>, codes: &str, text: &mut Text) {
        let value = atom("self").field(&member.field);
        let voffset = field.source.voffset;
        if matches!(field.value, Value::Vector(_)) {
            let present = value.method("is_empty", []).negated();
            let slot = slot_call(voffset - 2, present, field);
            text.assignment(&format!("let {codes}"), &slot);
        } else {
            let value = value.method("as_ref", []);
            let arguments = [atom(voffset.to_string()), value];
            text.statement(&atom("encoder").method("union_code", arguments));
        }
    }

    fn encode_inline(self, member: &Member, field: &FieldPlan<'_>, slot: &str, text: &mut Text) {
        let value = atom("self").field(&member.field);
        let voffset = field.source.voffset;
        let inline = |method: &str, value: Expr, default: Option<Expr>| {
            let arguments = [atom(voffset.to_string()), value];
            atom("encoder").method(method, arguments.into_iter().chain(default))
        };
        let default = || Some(atom(self.default(field)));
        let present = match field.value {
            Value::Scalar {
                optional: false, ..
            } => {
                return text.statement(&inline("scalar", value, default()));
            }
            Value::Scalar { optional: true, .. } => {
                return text.statement(&inline("optional_scalar", value, None));
            }
            Value::Enum {
                optional: false, ..
            }
            | Value::Time {
                optional: false, ..
            } => {
                return text.statement(&inline("enumeration", value, default()));
            }
            Value::Enum { optional: true, .. } | Value::Time { optional: true, .. } => {
                return text.statement(&inline("optional_enumeration", value, None));
            }
            Value::Struct(_) => {
                let value = value.method("as_ref", []);
                return text.statement(&inline("structure", value, None));
            }
            Value::Text { default: Some("") } | Value::Vector(_) => {
                value.method("is_empty", []).negated()
            }
            Value::Text {
                default: Some(default),
            } => atom(format!("{} != {default:?}", value.flat())),
            Value::Text { default: None } | Value::Table { .. } | Value::Union(_) => {
                value.method("is_some", [])
            }
        };
        text.assignment(&format!("let {slot}"), &slot_call(voffset, present, field));
    }
}

/// `encoder.slot(voffset, present)`. A required field is always present.
fn slot_call(voffset: u16, present: Expr, field: &FieldPlan<'_>) -> Expr {
    let always = matches!(
        field.value,
        Value::Text { default: Some(_) } | Value::Vector(_) | Value::Table { required: true, .. }
    ) && (field.source.required || field.source.storage.primary);
    let present = if always { atom("true") } else { present };
    atom("encoder").method("slot", [atom(voffset.to_string()), present])
}

/// The local variables for the slot of each field, and of its type codes.
fn locals(fields: &[Named<'_>]) -> Vec<(String, String)> {
    let mut taken = BTreeSet::new();
    let mut free = |mut name: String| {
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        name
    };
    let mut locals = Vec::new();
    for (member, _) in fields {
        let slot = free(format!("{}_slot", member.plain));
        locals.push((slot, free(format!("{}_codes", member.plain))));
    }
    locals
}

fn encode_child(member: &Member, value: Value<'_>, slot: &str, codes: &str, text: &mut Text) {
    let owned = atom("self").field(&member.field);
    let child = |method: &str, value: Expr| atom("encoder").method(method, [atom(slot), value]);
    let statement = match value {
        Value::Scalar { .. } | Value::Enum { .. } | Value::Time { .. } | Value::Struct(_) => return,
        Value::Text { default: Some(_) } => child("text", call(SOME, [owned.method("as_str", [])])),
        Value::Text { default: None } => child("text", owned.method("as_deref", [])),
        Value::Table {
            boxed,
            required: true,
            ..
        } => {
            let value = match boxed {
                true => owned.method("as_ref", []),
                false => owned.reference(),
            };
            child("message", call(SOME, [value]))
        }
        Value::Table { boxed: false, .. } => child("message", owned.method("as_ref", [])),
        Value::Table { boxed: true, .. } => child("message", owned.method("as_deref", [])),
        Value::Union(_) => child("union", owned.method("as_ref", [])),
        Value::Vector(Item::Scalar(_)) => child("scalars", owned.reference()),
        Value::Vector(Item::Enum(_)) => child("enumerations", owned.reference()),
        Value::Vector(Item::Text) => child("texts", owned.reference()),
        Value::Vector(Item::Struct(_)) => child("structures", owned.reference()),
        Value::Vector(Item::Table(_)) => child("messages", owned.reference()),
        Value::Vector(Item::Union(_)) => {
            let codes = [atom(codes), owned.clone().reference()];
            text.statement(&atom("encoder").method("union_codes", codes));
            child("unions", owned.reference())
        }
    };
    text.statement(&statement);
}
