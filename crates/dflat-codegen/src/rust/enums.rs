//! Enums, and enums of bit flags.

use dflat_schema::Enum;

use super::facts::enum_value_docs;
use super::layout::{Expr, atom, call};
use super::lints::variant_lints;
use super::names::Member;
use super::text::Text;
use super::{MUST_USE, NONE, OPTION, SOME, Scope, literals, scalar_type};
use crate::plan::default_value;

const DERIVES: &str =
    "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]";

impl Scope<'_> {
    pub(super) fn enumeration(self, found: &Enum, text: &mut Text) {
        let (name, base) = (self.base(), scalar_type(found.base));
        let values: Vec<(&Member, &dflat_schema::EnumValue)> =
            self.members().iter().zip(&found.values).collect();
        text.item(|text| {
            self.enum_docs(found, text);
            text.line(DERIVES);
            text.line(format!("#[repr({base})]"));
            let variants: Vec<&str> = values.iter().map(|(m, _)| m.variant.as_str()).collect();
            self.allow(&variant_lints(name, &variants), text);
            text.block(format!("pub enum {name}"), |text| {
                for (position, (member, value)) in values.iter().enumerate() {
                    enum_value_docs(value, text);
                    if position == default_value(found) {
                        text.line("#[default]");
                    }
                    let number = literals::integer(value.value);
                    text.line(format!("{} = {number},", member.variant));
                }
            });
        });
        text.item(|text| {
            self.allow(&[], text);
            text.block(format!("impl {name}"), |text| {
                self.enum_members(&values, text)
            });
        });
        text.item(|text| text.line(format!("{}::__enum_names!({name});", self.dflat())));
        self.enum_trait(found, text, |text| {
            text.block("match base", |text| {
                for (member, value) in &values {
                    let variant = atom(format!("Self::{}", member.variant));
                    text.arm(&literals::integer(value.value), &call(SOME, [variant]));
                }
                text.arm("_", &atom(NONE));
            });
        });
    }

    fn enum_members(self, values: &[(&Member, &dflat_schema::EnumValue)], text: &mut Text) {
        let variant = |member: &Member| format!("Self::{}", member.variant);
        text.member(|text| {
            text.line("/// All values, in the order of the schema.");
            let all = values
                .iter()
                .map(|(member, _)| atom(variant(member)))
                .collect();
            let declaration = format!("pub const ALL: [Self; {}]", values.len());
            text.assignment(&declaration, &Expr::Array(all));
        });
        text.item(|text| {
            text.line("/// The name of the value in the schema.");
            text.line(MUST_USE);
            text.function("pub const fn name", &["self"], "&'static str", |text| {
                text.block("match self", |text| {
                    for (member, value) in values {
                        text.arm(&variant(member), &atom(format!("{:?}", value.name)));
                    }
                });
            });
        });
    }

    /// The items that enums and bit flags have in common.
    fn enum_trait(self, found: &Enum, text: &mut Text, from_base: impl FnOnce(&mut Text)) {
        let (name, base) = (self.base(), scalar_type(found.base));
        let (dflat, codegen) = (self.dflat(), self.codegen());
        let to_base = if found.bit_flags {
            "self.0".to_owned()
        } else {
            format!("self as {base}")
        };
        text.item(|text| {
            text.implementation(&format!("{codegen}::Enum"), name, |text| {
                text.line(format!("type Base = {base};"));
                text.item(|text| {
                    let parameter = format!("base: {base}");
                    let result = format!("{OPTION}<Self>");
                    text.function("fn from_base", &[&parameter], &result, from_base);
                });
                text.item(|text| {
                    text.function("fn to_base", &["self"], base, |text| text.line(to_base));
                });
            });
        });
        if self.plan().storage {
            let kind = if found.bit_flags { "flags" } else { "enum" };
            text.item(|text| text.line(format!("{dflat}::__field_type!({kind} {name});")));
        }
        text.item(|text| text.line(format!("{dflat}::__vector_element!(enum {name});")));
    }

    pub(super) fn bit_flags(self, found: &Enum, text: &mut Text) {
        let (name, base) = (self.base(), scalar_type(found.base));
        text.item(|text| {
            self.enum_docs(found, text);
            text.line(DERIVES);
            self.allow(&[], text);
            text.line(format!("pub struct {name}({base});"));
        });
        text.item(|text| {
            self.allow(&[], text);
            text.block(format!("impl {name}"), |text| {
                self.flag_members(found, text)
            });
        });
        self.flag_operators(text);
        text.item(|text| text.line(format!("{}::__flag_names!({name});", self.dflat())));
        self.enum_trait(found, text, |text| {
            text.value(&call(SOME, [atom("Self(base)")]))
        });
    }

    fn flag_operators(self, text: &mut Text) {
        let name = self.base();
        let not = "Self(!self.0 & Self::ALL.0)";
        for (interface, method, parameter, value, docs) in [
            (
                "BitOr",
                "bitor",
                "other: Self",
                "Self(self.0 | other.0)",
                "The flags that are set in either operand.",
            ),
            (
                "BitAnd",
                "bitand",
                "other: Self",
                "Self(self.0 & other.0)",
                "The flags that are set in both operands.",
            ),
            (
                "BitXor",
                "bitxor",
                "other: Self",
                "Self(self.0 ^ other.0)",
                "The flags that are set in exactly one operand.",
            ),
            (
                "Not",
                "not",
                "",
                not,
                "The flags of the schema that are not set.",
            ),
        ] {
            text.item(|text| {
                text.implementation(&format!("::core::ops::{interface}"), name, |text| {
                    text.line("type Output = Self;");
                    text.item(|text| {
                        text.line(format!("/// {docs}"));
                        let parameters = ["self", parameter];
                        let count = if parameter.is_empty() { 1 } else { 2 };
                        let head = format!("fn {method}");
                        text.function(&head, &parameters[..count], "Self", |text| text.line(value));
                    });
                });
            });
        }
        text.item(|text| {
            text.implementation("::core::ops::BitOrAssign", name, |text| {
                text.line("/// Sets the flags of `other` too.");
                text.function(
                    "fn bitor_assign",
                    &["&mut self", "other: Self"],
                    "",
                    |text| {
                        text.line("self.0 |= other.0;");
                    },
                );
            });
        });
    }

    fn flag_members(self, found: &Enum, text: &mut Text) {
        let base = scalar_type(found.base);
        for (member, value) in self.members().iter().zip(&found.values) {
            text.member(|text| {
                enum_value_docs(value, text);
                let (constant, number) = (&member.constant, literals::integer(value.value));
                text.line(format!("pub const {constant}: Self = Self({number});"));
            });
        }
        text.member(|text| {
            text.line("/// All flags of the schema.");
            let all = found.values.iter().fold(0, |all, value| all | value.value);
            let all = literals::integer(all);
            text.line(format!("pub const ALL: Self = Self({all});"));
        });
        text.member(|text| {
            text.line("/// The flags by their names, in the order of the schema.");
            let pair = |(member, value): (&Member, &dflat_schema::EnumValue)| {
                let flag = atom(format!("Self::{}", member.constant));
                // A tuple is laid out as the arguments of a call.
                call("", [atom(format!("{:?}", value.name)), flag])
            };
            let pairs = self.members().iter().zip(&found.values).map(pair).collect();
            let declaration = format!(
                "pub const NAMED: [(&'static str, Self); {}]",
                found.values.len()
            );
            text.assignment(&declaration, &Expr::Array(pairs));
        });
        let bits = format!("bits: {base}");
        let functions: [(&str, &str, &[&str], &str, &str); 5] = [
            ("No flag.", "empty", &[], "Self", "Self(0)"),
            (
                "The flags of these bits; unknown bits are kept.",
                "from_bits",
                &[&bits],
                "Self",
                "Self(bits)",
            ),
            ("The bits.", "bits", &["self"], base, "self.0"),
            (
                "Whether no flag is set.",
                "is_empty",
                &["self"],
                "bool",
                "self.0 == 0",
            ),
            (
                "Whether all flags of `other` are set.",
                "contains",
                &["self", "other: Self"],
                "bool",
                "self.0 & other.0 == other.0",
            ),
        ];
        for (docs, name, parameters, result, value) in functions {
            text.item(|text| {
                text.line(format!("/// {docs}"));
                text.line(MUST_USE);
                let head = format!("pub const fn {name}");
                text.function(&head, parameters, result, |text| text.line(value));
            });
        }
    }
}
