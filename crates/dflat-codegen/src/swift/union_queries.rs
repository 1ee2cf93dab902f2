//! The typed fields of unions, and the protocols that lead from a member's type to its fields.

use dflat_model::{Field, FieldKind, Scalar, Step, TableDescriptor, Value as Constant};
use dflat_schema::DefinitionId;

use super::queries::{Compared, Way};
use super::text::Text;
use super::{Scope, names};
use crate::plan::{FieldPlan, Kind, MemberPlan, Target};

/// The beginning of the names of protocols.
const PROTOCOL: &str = "zzz_DflatGen_Proto__";

impl Scope<'_> {
    pub(super) fn union_field<'s>(
        self,
        field: &FieldPlan<'_>,
        id: DefinitionId,
        way: &Way,
        stored: &TableDescriptor,
        unions: &mut Vec<(String, &'s [MemberPlan<'s>], Way)>,
        text: &mut Text,
    ) where
        Self: 's,
    {
        let Kind::Union(members) = &self.plan.ty(id).kind else {
            return;
        };
        let (name, at) = (self.field_name(field), field.source.voffset);
        let mut inner = way.clone();
        inner.names.push(field.source.name.clone());
        inner.fields = format!("{}.{}", inner.fields, names::query(&name));
        inner.steps.push(Step::Field(at));
        // The statements to a member replace this one.
        inner.payload.push(at.to_string());
        inner.object.push(name.clone());
        let protocol = self.protocol(&inner);
        let suffix = protocol.trim_start_matches(PROTOCOL);
        text.block(format!("public struct {}", names::query(&name)), |text| {
            let object = self.path();
            text.line(format!(
                "public static func match<T: {protocol}>(_ ofType: T.Type) -> EqualToExpr<\n  \
                 FieldExpr<Int32, {object}>, ValueExpr<Int32, {object}>, {object}\n> {{"
            ));
            text.indented(|text| text.line(format!("ofType.zzz_match__{suffix}")));
            text.line("}");
            let head = format!(
                "public static func `as`<T: {protocol}>(_ ofType: T.Type) -> T.zzz_AsType__{suffix}.Type"
            );
            let result = format!("T.zzz_AsType__{suffix}.self");
            text.block(head, |text| text.line(result));
            let mut tag = way.clone();
            tag.names.push(field.source.name.clone());
            tag.steps.push(Step::Field(at));
            let compared = Compared {
                name: "_type".to_owned(),
                ty: "Int32".to_owned(),
                step: Step::Tag,
                kind: FieldKind::Scalar(Scalar::U8),
                absent: Constant::Int(0),
                payload: format!("Int32(§.number({}, UInt8(0)))", at - 2),
                object: format!("Int32(§.{name}?._code ?? 0)"),
                key: None,
            };
            self.field(&compared, "type", &tag, stored, text);
        });
        unions.push((protocol, members, inner));
    }

    /// The name of the protocol of a union's members.
    fn protocol(self, way: &Way) -> String {
        let object = names::internal(self.ty().definition);
        let object = object.trim_start_matches("zzz_DflatGen_");
        format!("{PROTOCOL}{object}__{}", key_of(&way.steps))
    }

    /// Prints the fields of a union's members, and how a member's type leads to them.
    pub(super) fn members(
        self,
        protocol: &str,
        members: &[MemberPlan<'_>],
        way: &Way,
        stored: &TableDescriptor,
        text: &mut Text,
    ) {
        let object = self.path();
        let suffix = protocol.trim_start_matches(PROTOCOL);
        text.item(format!("public protocol {protocol}"), |text| {
            text.line(format!("associatedtype zzz_AsType__{suffix}"));
            text.line(format!(
                "static var zzz_match__{suffix}: EqualToExpr<\n  FieldExpr<Int32, {object}>, \
                 ValueExpr<Int32, {object}>, {object}\n> {{ get }}"
            ));
        });
        let mut seen = Vec::new();
        for member in members {
            if seen.contains(&member.source.target) {
                continue;
            }
            seen.push(member.source.target);
            let ty = self.target_type(member.target);
            let code = member.source.code;
            let fields = format!("zzz_{suffix}__u{code}");
            let mut inner = entered(member, way);
            inner.fields.clone_from(&fields);
            let mut unions = Vec::new();
            text.item(format!("public struct {fields}"), |text| {
                match member.target {
                    Target::Struct(id) => {
                        if let Kind::Struct(plan) = &self.plan.ty(id).kind {
                            self.struct_fields(plan, &inner, stored, text);
                        }
                    }
                    Target::Table(id) if !way.tables.contains(&id) => {
                        if let Kind::Table(plan) = &self.plan.ty(id).kind {
                            let mut inner = inner.clone();
                            inner.tables.push(id);
                            self.table_fields(plan, &inner, stored, &mut unions, text);
                        }
                    }
                    Target::Table(_) | Target::Text => {}
                }
            });
            text.item(format!("extension {ty}: {protocol}"), |text| {
                text.line(format!("public typealias zzz_AsType__{suffix} = {fields}"));
                text.line(format!(
                    "public static var zzz_match__{suffix}: EqualToExpr<\n  FieldExpr<Int32, {object}>, \
                     ValueExpr<Int32, {object}>, {object}\n> {{"
                ));
                text.indented(|text| {
                    text.line(format!("{}._type == Int32({code})", way.fields));
                });
                text.line("}");
            });
            for (protocol, members, way) in unions {
                self.members(&protocol, members, &way, stored, text);
            }
        }
    }
}

/// The way into a member of the union at the end of a way.
fn entered(member: &MemberPlan<'_>, way: &Way) -> Way {
    let mut inner = way.clone();
    let at = inner.payload.pop().unwrap_or_default();
    let name = inner.object.pop().unwrap_or_default();
    let case = names::escaped(&names::case(&member.source.name));
    let code = member.source.code;
    let table = match member.target {
        Target::Table(_) => "?.asTable",
        _ => "",
    };
    inner.payload.push(format!(
        "guard let ¶ = §.member({at}, code: {code}){table} else {{ return nil }}"
    ));
    inner.object.push(format!(
        "guard case .{case}(let ¶)? = §.{name} else {{ return nil }}"
    ));
    inner.names.push(member.source.name.clone());
    inner.steps.push(Step::Member(code));
    inner
}

fn key_of(steps: &[Step]) -> String {
    let field = Field {
        name: "".into(),
        steps: steps.to_vec().into(),
        kind: FieldKind::Text,
        default: Constant::Null,
    };
    field.storage_key()
}
