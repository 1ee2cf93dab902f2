//! Vectors of unions may have members that older code does not know. An update of older code writes
//! these vectors over the stored ones, so that such members stay.

use dflat_schema::DefinitionId;

use super::Scope;
use crate::plan::{FieldPlan, Item, Kind, Target, Value};

impl Scope<'_> {
    /// Whether values of this type have vectors of unions, at any depth.
    pub(super) fn has_union_vectors(self) -> bool {
        self.has_members(self.id, &mut Vec::new())
    }

    /// Whether values of another type have vectors of unions.
    pub(super) fn other_has_union_vectors(self, id: DefinitionId) -> bool {
        self.has_members(id, &mut Vec::new())
    }

    fn has_members(self, id: DefinitionId, visited: &mut Vec<DefinitionId>) -> bool {
        if visited.contains(&id) {
            return false;
        }
        visited.push(id);
        match &self.plan.ty(id).kind {
            Kind::Table(plan) => plan.fields.iter().any(|field| match field.value {
                Value::Vector(Item::Union(_)) => true,
                Value::Vector(Item::Table(id)) | Value::Table { id, .. } | Value::Union(id) => {
                    self.has_members(id, visited)
                }
                _ => false,
            }),
            Kind::Union(members) => members.iter().any(|member| match member.target {
                Target::Table(id) => self.has_members(id, visited),
                _ => false,
            }),
            _ => false,
        }
    }

    /// The code that writes a value over a stored one, if the value has vectors of unions.
    pub(super) fn reference_over(self, field: &FieldPlan<'_>) -> Option<String> {
        let name = format!("self.{}", self.field_name(field));
        let at = field.source.voffset;
        let builder = "flatBufferBuilder";
        match field.value {
            Value::Table { id, .. } if self.other_has_union_vectors(id) => Some(format!(
                "{name}?._write(to: &{builder}, over: stored?.table({at})) ?? Offset()"
            )),
            Value::Union(id) if self.other_has_union_vectors(id) => Some(format!(
                "{name}?._write(to: &{builder}, over: stored?.member({at}, code: \
                 {name}?._code ?? 0)) ?? Offset()"
            )),
            Value::Vector(Item::Table(id)) if self.other_has_union_vectors(id) => {
                let made = format!(
                    "{builder}.createVector(ofTables: {name}, over: stored?.storedTables({at}, \
                     make: {{ {}($0) }})) {{ $0._write(to: &$2, over: $1) }}",
                    self.other(id)
                );
                Some(match field.source.required {
                    true => made,
                    false => format!("{name}.isEmpty ? Offset() : {made}"),
                })
            }
            Value::Vector(Item::Union(id)) => Some(self.members_over(id, field)),
            _ => None,
        }
    }

    fn members_over(self, id: DefinitionId, field: &FieldPlan<'_>) -> String {
        let (name, at) = (self.field_name(field), field.source.voffset);
        let (path, required) = (self.other(id), field.source.required);
        let write = match self.other_has_union_vectors(id) {
            true => "$0._write(to: &$2, over: $1)",
            false => "value, _, builder in value.to(flatBufferBuilder: &builder)",
        };
        format!(
            "flatBufferBuilder.createVector(ofMembers: self.{name}, over: \
             stored?.storedMembers({at}, make: {{ {path}(code: $0, $1) }}), \
             isRequired: {required}, code: {{ $0._code }}) {{ {write} }}"
        )
    }
}
