//! Unions, as enums with payloads.

use super::text::Text;
use super::values::scalar_type;
use super::writing::HEAD_OVER;
use super::{Scope, names};
use crate::plan::{MemberPlan, Target};
use dflat_model::Scalar;

impl Scope<'_> {
    pub(super) fn union(self, members: &[MemberPlan<'_>], text: &mut Text) {
        text.docs(&self.ty().definition.docs);
        let head = format!("public enum {}: Equatable{}", self.name(), self.added());
        text.block(head, |text| {
            for member in members {
                text.docs(&member.source.docs);
                let case = names::escaped(&names::case(&member.source.name));
                let indirect = if member.boxed { "indirect " } else { "" };
                let ty = self.target_type(member.target);
                text.line(format!("{indirect}case {case}(_: {ty})"));
            }
            let cases = members.iter().map(|member| {
                let case = names::escaped(&names::case(&member.source.name));
                let plain = case.trim_matches('`');
                format!("case .{case}(let value): return \"{plain}(\\(value))\"")
            });
            self.cases_description(&cases.collect::<Vec<_>>(), text);
        });
    }

    pub(super) fn target_type(self, target: Target) -> String {
        match target {
            Target::Struct(id) | Target::Table(id) => self.other(id),
            Target::Text => "String".to_owned(),
        }
    }

    pub(super) fn union_payload(self, members: &[MemberPlan<'_>], text: &mut Text) {
        text.item(format!("extension {}", self.path()), |text| {
            let code = scalar_type(Scalar::U8);
            let head = format!("public init?(code: {code}, _ place: _PayloadReader)");
            text.block(head, |text| {
                text.block("switch code", |text| {
                    for member in members {
                        let case = names::escaped(&names::case(&member.source.name));
                        let value = match member.target {
                            Target::Struct(id) => format!("{}(place)", self.other(id)),
                            Target::Table(id) => format!("{}(place.asTable)", self.other(id)),
                            Target::Text => "place.asString".to_owned(),
                        };
                        let code = member.source.code;
                        text.line(format!("case {code}: self = .{case}({value})"));
                    }
                    text.line("default: return nil");
                });
            });
            let head = "public init?(_ place: _PayloadReader, at field: Int)";
            text.item(head, |text| {
                text.line("let code = place.number(field - 2, UInt8(0))");
                text.line("guard let member = place.member(field, code: code) else { return nil }");
                text.line("self.init(code: code, member)");
            });
            text.item("public var _code: UInt8", |text| {
                text.block("switch self", |text| {
                    for member in members {
                        let case = names::escaped(&names::case(&member.source.name));
                        text.line(format!("case .{case}: return {}", member.source.code));
                    }
                });
            });
        });
    }

    pub(super) fn union_writing(self, members: &[MemberPlan<'_>], text: &mut Text) {
        text.item(
            format!("extension {}: FlatBuffersEncodable", self.path()),
            |text| {
                let head = "public func to(flatBufferBuilder: inout FlatBufferBuilder) -> Offset";
                if self.has_union_vectors() {
                    text.block(head, |text| {
                        text.line("_write(to: &flatBufferBuilder, over: nil)");
                    });
                    let head = format!("public {HEAD_OVER}");
                    text.item(head, |text| self.member_writing(members, text));
                } else {
                    text.block(head, |text| self.member_writing(members, text));
                }
            },
        );
    }

    fn member_writing(self, members: &[MemberPlan<'_>], text: &mut Text) {
        text.block("switch self", |text| {
            for member in members {
                let case = names::escaped(&names::case(&member.source.name));
                let made = match member.target {
                    Target::Text => "flatBufferBuilder.create(string: value)",
                    Target::Table(id) if self.other_has_union_vectors(id) => {
                        "value._write(to: &flatBufferBuilder, over: stored?.asTable)"
                    }
                    _ => "value.to(flatBufferBuilder: &flatBufferBuilder)",
                };
                text.line(format!("case .{case}(let value): return {made}"));
            }
        });
    }
}
