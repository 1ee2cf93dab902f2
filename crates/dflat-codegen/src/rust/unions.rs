//! Unions: the owned enum, the view, and the members in queries.

use dflat_schema::DefinitionId;

use super::layout::{Expr, atom, call};
use super::lints::variant_lints;
use super::names::Member;
use super::text::{Lint, Text};
use super::{MUST_USE, NONE, OPTION, SOME, Scope, linked};
use crate::plan::{Kind, MemberPlan, Target};

/// The lint on sizes, which the generator does not know.
const LARGE_VARIANT: Lint = Lint {
    lint: "clippy::large_enum_variant",
    reason: "sizes of the schema's types",
};

type Named<'p> = (&'p Member, &'p MemberPlan<'p>);

impl<'p> Scope<'p> {
    pub(super) fn union(self, members: &'p [MemberPlan<'p>], text: &mut Text) {
        let named: Vec<Named<'p>> = self.members().iter().zip(members).collect();
        self.union_types(&named, text);
        self.union_codec(&named, text);
        if self.plan().storage {
            for (member, plan) in &named {
                self.union_member(member, plan, text);
            }
            self.query_fields("union", |text| self.union_query(text), text);
        }
    }

    /// Prints a union's view. If all members are structs, the view borrows nothing.
    pub(super) fn union_view(self, id: DefinitionId, lifetime: &str) -> String {
        let path = self.path(id, "Ref");
        let borrows = match &self.plan().ty(id).kind {
            Kind::Union(members) => members
                .iter()
                .any(|member| !matches!(member.target, Target::Struct(_))),
            _ => false,
        };
        if borrows {
            format!("{path}<{lifetime}>")
        } else {
            path
        }
    }

    fn union_types(self, members: &[Named<'_>], text: &mut Text) {
        let (base, codegen) = (self.base(), self.codegen());
        let variants: Vec<&str> = members.iter().map(|(m, _)| m.variant.as_str()).collect();
        let mut lints = variant_lints(base, &variants);
        let variant = |name: &str, member: &Named<'_>, ty: String, text: &mut Text| {
            let source = member.1.source;
            self.union_member_docs(source, text);
            text.line(format!("{name}({ty}),"));
        };
        lints.extend((members.len() > 1).then_some(LARGE_VARIANT));
        text.item(|text| {
            text.docs_or(
                &self.ty().definition.docs,
                "A union of the schema, as an owned enum.",
            );
            let total = if self.ty().total { ", Eq" } else { "" };
            text.line(format!("#[derive(Clone, Debug, PartialEq{total})]"));
            self.allow(&lints, text);
            text.block(format!("pub enum {base}"), |text| {
                for member in members {
                    let ty = match member.1.target {
                        Target::Struct(id) => self.path(id, ""),
                        Target::Table(id) => self.held(id, member.1.boxed),
                        Target::Text => format!("{codegen}::String"),
                    };
                    variant(&member.0.variant, member, ty, text);
                }
            });
        });
        text.item(|text| {
            let linked = linked(base);
            text.line(format!("/// A view of {linked} inside an object."));
            // The views of tables have no `Eq`.
            let mut targets = members.iter().map(|member| member.1.target);
            let total = self.ty().total && !targets.any(|t| matches!(t, Target::Table(_)));
            let total = if total { ", Eq" } else { "" };
            text.line(format!("#[derive(Clone, Copy, Debug, PartialEq{total})]"));
            self.allow(&lints, text);
            let view = self.union_view(self.id, "'a");
            text.block(format!("pub enum {view}"), |text| {
                for member in members {
                    let ty = match member.1.target {
                        Target::Struct(id) => self.path(id, ""),
                        Target::Table(id) => format!("{}<'a>", self.path(id, "Ref")),
                        Target::Text => "&'a str".to_owned(),
                    };
                    variant(&member.0.variant, member, ty, text);
                }
            });
        });
    }

    fn union_codec(self, members: &[Named<'_>], text: &mut Text) {
        let (base, codegen) = (self.base(), self.codegen());
        let view = self.union_view(self.id, "'_");
        text.item(|text| {
            text.implementation(&format!("{codegen}::Union"), base, |text| {
                text.line(format!(
                    "type Ref<'a> = {};",
                    self.union_view(self.id, "'a")
                ));
                text.item(|text| {
                    let union = format!("union: {codegen}::UnionReader<'_>");
                    let result = format!("{OPTION}<{view}>");
                    text.function("fn view", &[&union], &result, |text| {
                        text.block("match union.code()", |text| {
                            for (member, plan) in members {
                                let code = plan.source.code.to_string();
                                text.arm(&code, &self.view_member(member, plan));
                            }
                            text.arm("_", &atom(NONE));
                        });
                    });
                });
                text.item(|text| {
                    text.function("fn decode", &[&format!("view: {view}")], "Self", |text| {
                        text.block("match view", |text| {
                            for (member, plan) in members {
                                let pattern = format!("{base}Ref::{}(member)", member.variant);
                                text.arm(&pattern, &self.decode_member(member, plan));
                            }
                        });
                    });
                });
                text.item(|text| {
                    text.function("fn code", &["&self"], "u8", |text| {
                        text.block("match self", |text| {
                            for (member, plan) in members {
                                let pattern = format!("Self::{}(_)", member.variant);
                                text.arm(&pattern, &atom(plan.source.code.to_string()));
                            }
                        });
                    });
                });
                text.item(|text| self.encode_members(members, text));
            });
        });
    }

    fn view_member(self, member: &Member, plan: &MemberPlan<'_>) -> Expr {
        let reader = atom("union");
        let value = match plan.target {
            Target::Struct(id) => reader.method(format!("structure::<{}>", self.path(id, "")), []),
            Target::Table(id) => reader.method(format!("message::<{}>", self.owned(id)), []),
            Target::Text => reader.method("text", []),
        };
        value.method(
            "map",
            [atom(format!("{}Ref::{}", self.base(), member.variant))],
        )
    }

    fn decode_member(self, member: &Member, plan: &MemberPlan<'_>) -> Expr {
        let codegen = self.codegen();
        let value = match plan.target {
            Target::Struct(_) => atom("member"),
            Target::Table(_) => {
                let decode = if plan.boxed {
                    "decode_boxed"
                } else {
                    "Message::decode"
                };
                call(format!("{codegen}::{decode}"), [atom("member")])
            }
            Target::Text => call(format!("{codegen}::String::from"), [atom("member")]),
        };
        call(format!("Self::{}", member.variant), [value])
    }

    fn encode_members(self, members: &[Named<'_>], text: &mut Text) {
        let codegen = self.codegen();
        let encoder = format!("encoder: &mut {codegen}::Encoder<'_>");
        let slot = format!("slot: {codegen}::Slot");
        text.function("fn encode", &["&self", &encoder, &slot], "", |text| {
            let inline = members
                .iter()
                .any(|(_, plan)| matches!(plan.target, Target::Struct(_)));
            let slot = if inline {
                call(SOME, [atom("slot")])
            } else {
                text.assignment("let slot", &call(SOME, [atom("slot")]));
                atom("slot")
            };
            text.block("match self", |text| {
                for (position, (_, plan)) in members.iter().enumerate() {
                    let same = |other: &&Named<'_>| other.1.target == plan.target;
                    if members[..position].iter().any(|other| same(&other)) {
                        continue;
                    }
                    // Members of one type have one arm.
                    let alike = members.iter().filter(same);
                    let patterns = alike.map(|(m, _)| format!("Self::{}(member)", m.variant));
                    let patterns: Vec<String> = patterns.collect();
                    let some = |value: &str| call(SOME, [atom(value)]);
                    let encoder = atom("encoder");
                    let statement = match plan.target {
                        Target::Struct(_) => {
                            encoder.method("boxed_structure", [atom("slot"), atom("member")])
                        }
                        Target::Text => {
                            encoder.method("text", [slot.clone(), some("member.as_str()")])
                        }
                        Target::Table(_) => {
                            let value = if plan.boxed { "&**member" } else { "member" };
                            encoder.method("message", [slot.clone(), some(value)])
                        }
                    };
                    text.alternatives(&patterns, |text| text.statement(&statement));
                }
            });
        });
    }

    /// The type that identifies the member in queries: the member's type, or a marker type if
    /// several members have that type.
    fn union_member(self, member: &Member, plan: &MemberPlan<'_>, text: &mut Text) {
        let (base, dflat, codegen) = (self.base(), self.dflat(), self.codegen());
        let marker = format!("{base}{}", member.variant);
        if plan.ambiguous {
            let linked = linked(base);
            text.item(|text| {
                let name = &plan.source.name;
                text.line(format!("/// The member `{name}` of {linked}, for queries."));
                text.line("#[derive(Clone, Copy, Debug)]");
                // A member's name may be an underscore and a number.
                let lint = Lint::name("non_camel_case_types");
                let lints = [lint]
                    .into_iter()
                    .filter(|_| member.variant.starts_with('_'));
                self.allow(&lints.collect::<Vec<_>>(), text);
                text.line(format!("pub struct {marker};"));
            });
        }
        let owned = match plan.target {
            _ if plan.ambiguous => marker,
            Target::Struct(id) | Target::Table(id) => self.owned(id),
            Target::Text => marker,
        };
        let (fields, value) = match plan.target {
            Target::Struct(id) | Target::Table(id) => {
                let fields = self.path(id, "Fields");
                let value = call(format!("{fields}::new"), [atom("path")]);
                (format!("{fields}<R>"), value)
            }
            Target::Text => (
                format!("{dflat}::Field<R, str>"),
                atom("path").method("text", []),
            ),
        };
        text.item(|text| {
            let interface = format!("{codegen}::UnionMember<{base}>");
            text.implementation(&interface, &owned, |text| {
                text.line(format!("const CODE: u8 = {};", plan.source.code));
                let name = atom(format!("{:?}", plan.source.name));
                text.assignment("const NAME: &'static str", &name);
                text.item(|text| text.line(format!("type Fields<R> = {fields};")));
                text.item(|text| {
                    let path = format!("path: {codegen}::Path<R>");
                    text.function("fn fields<R>", &[&path], &fields, |text| text.value(&value));
                });
            });
        });
    }

    fn union_query(self, text: &mut Text) {
        let (base, dflat, codegen) = (self.base(), self.dflat(), self.codegen());
        let member = format!("M: {codegen}::UnionMember<{base}>");
        let path = || atom("self").field("0");
        let as_docs = "The query fields of the member `M`; their values are missing if the union holds another.";
        for (docs, name, result, value) in [
            (
                as_docs,
                format!("as_<{member}>"),
                "M::Fields<R>".to_owned(),
                path().method(format!("member::<{base}, M>"), []),
            ),
            (
                "Whether the union holds the member `M`.",
                format!("matches<{member}>"),
                format!("{dflat}::Predicate<R>"),
                path().method(format!("matches::<{base}, M>"), []),
            ),
            (
                "The type code of the current member, or 0 if the union is empty.",
                "tag".to_owned(),
                format!("{dflat}::Field<R, u8, P>"),
                path().method("tag", []),
            ),
        ] {
            text.item(|text| {
                text.line(format!("/// {docs}"));
                text.line(MUST_USE);
                text.function(&format!("pub fn {name}"), &["&self"], &result, |text| {
                    text.value(&value);
                });
            });
        }
    }
}
