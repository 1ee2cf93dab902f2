//! The layer of payloads: readers, and the descriptors of stored types.

use super::text::{Text, base64};
use super::{Scope, names};
use crate::plan::{Item, StructPlan, TablePlan};
use dflat_model::{AutoKey, TableDescriptor};

/// The digits of a descriptor on one line.
const LINE: usize = 88;

impl Scope<'_> {
    pub(super) fn struct_payload(self, plan: &StructPlan<'_>, text: &mut Text) {
        text.item(format!("extension {}", self.path()), |text| {
            text.block("public init(_ place: _PayloadReader)", |text| {
                let arguments = plan.fields.iter().map(|field| {
                    let name = names::escaped(&names::field(&field.source.name));
                    format!(
                        "{}: {}",
                        names::label(&name),
                        self.read_part(field, "place")
                    )
                });
                arguments_in("self.init", &arguments.collect::<Vec<_>>(), text);
            });
            text.item(
                "public static func _verify(_ place: _PayloadReader)",
                |text| {
                    text.line("_ = Self(place)");
                },
            );
            text.item("public func _write(to place: _StructWriter)", |text| {
                for field in &plan.fields {
                    let name = names::escaped(&names::field(&field.source.name));
                    let name = format!("self.{name}");
                    let offset = field.source.offset;
                    let (value, at) = match field.source.array {
                        Some(_) => {
                            let stride = field.stride;
                            (
                                format!("{name}[index]"),
                                format!("{offset} + index * {stride}"),
                            )
                        }
                        None => (name.clone(), offset.to_string()),
                    };
                    let line = match field.item {
                        Item::Enum(_) => format!("place.put({value}.rawValue, at: {at})"),
                        Item::Struct(_) => format!("{value}._write(to: place.inner(at: {at}))"),
                        _ => format!("place.put({value}, at: {at})"),
                    };
                    match field.source.array {
                        Some(count) => {
                            let head = format!("for index in 0..<min({count}, {name}.count)");
                            text.block(head, |text| text.line(line));
                        }
                        None => text.line(line),
                    }
                }
            });
        });
    }

    pub(super) fn table_payload(self, plan: &TablePlan<'_>, text: &mut Text) {
        if let Some(stored) = &self.ty().stored {
            descriptor(&names::internal(self.ty().definition), stored, text);
        }
        text.item(format!("extension {}", self.path()), |text| {
            if self.ty().stored.is_none() {
                text.block("public init(_ place: _PayloadReader)", |text| {
                    let arguments = plan.fields.iter().map(|field| {
                        let name = self.field_name(field);
                        format!("{}: {}", names::label(&name), self.read(field, "place"))
                    });
                    arguments_in("self.init", &arguments.collect::<Vec<_>>(), text);
                });
            }
            text.item(
                "public static func _verify(_ place: _PayloadReader)",
                |text| {
                    for field in &plan.fields {
                        text.line(format!("_ = {}", self.read(field, "place")));
                    }
                },
            );
        });
    }
}

/// Prints a call with each argument on a line.
pub(super) fn arguments_in(function: &str, arguments: &[String], text: &mut Text) {
    if arguments.is_empty() {
        return text.line(format!("{function}()"));
    }
    text.line(format!("{function}("));
    text.indented(|text| {
        let last = arguments.len() - 1;
        for (position, argument) in arguments.iter().enumerate() {
            text.line(format!(
                "{argument}{}",
                if position == last { ")" } else { "," }
            ));
        }
    });
}

/// Prints the description of a stored type, which the engine reads.
fn descriptor(name: &str, stored: &TableDescriptor, text: &mut Text) {
    let auto = match stored.auto_key {
        None => "none",
        Some(AutoKey::Increasing) => "increasing",
        Some(AutoKey::UuidV7) => "uuid",
    };
    text.item(format!("public enum {name}"), |text| {
        text.line("public static let table = _StoredTable(");
        text.indented(|text| {
            text.line(format!("autoKey: .{auto},"));
            text.line("descriptor: \"\"\"");
            text.indented(|text| {
                let digits = base64(&stored.to_bytes());
                let mut rest = digits.as_str();
                while rest.len() > LINE {
                    let (line, others) = rest.split_at(LINE);
                    text.line(format!("{line}\\"));
                    rest = others;
                }
                text.line(rest);
                text.line("\"\"\")");
            });
        });
    });
}
