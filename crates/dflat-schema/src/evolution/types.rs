//! Structs, enums and unions.

use super::Comparison;
use super::code::{ADDED, ENUM_CHANGED, STRUCT_CHANGED, UNION_CHANGED};
use crate::diagnostic::Diagnostic;
use crate::schema::{Enum, EnumValue, Span, Struct, StructField, Union, UnionMember};

impl Comparison<'_> {
    pub(super) fn structs(&mut self, old: &Struct, new: &Struct, before: &Span, after: &Span) {
        const HELP: &str = "keep the struct, and add another struct or a table";
        let shape = |found: &Struct| (found.size, found.align, found.fields.len());
        if shape(old) != shape(new) {
            let change = Diagnostic::error(STRUCT_CHANGED, "the layout of the struct changed");
            return self.report_both(change.help(HELP), before, after);
        }
        for (field, same) in old.fields.iter().zip(&new.fields) {
            let place = |field: &StructField| (field.offset, field.array);
            let elsewhere =
                |name: &str, all: &[StructField]| all.iter().any(|other| other.name == name);
            let renamed = field.name != same.name;
            let swapped = renamed
                && (elsewhere(&field.name, &new.fields) || elsewhere(&same.name, &old.fields));
            if swapped
                || place(field) != place(same)
                || !self.same_element(field.element, same.element)
            {
                let message = format!("the field `{}` of a struct changed", field.name);
                let change = Diagnostic::error(STRUCT_CHANGED, message).help(HELP);
                self.report_both(change, &field.span, &same.span);
            } else if renamed {
                self.renamed("field", &field.name, &field.span, &same.name, &same.span);
            }
            let (old, new) = ((field.storage, &field.span), (same.storage, &same.span));
            self.storage(&same.name, old, new);
        }
    }

    pub(super) fn enums(&mut self, old: &Enum, new: &Enum, before: &Span, after: &Span) {
        if old.base != new.base || old.bit_flags != new.bit_flags {
            let property = if old.base == new.base {
                "meaning of its numbers"
            } else {
                "type"
            };
            let change =
                Diagnostic::error(ENUM_CHANGED, format!("the enum has a different {property}"))
                    .help("add another enum, and a field for it");
            return self.report_both(change, before, after);
        }
        let mut taken = Vec::new();
        for value in &old.values {
            let by_name = new.values.iter().find(|other| other.name == value.name);
            let by_number = new.values.iter().find(|other| other.value == value.value);
            match (by_name, by_number) {
                (Some(same), _) if same.value == value.value => {}
                (Some(same), _) => self.renumbered(value, same),
                (None, Some(successor))
                    if !old.values.iter().any(|value| value.name == successor.name) =>
                {
                    taken.push(successor.value);
                    self.renamed(
                        "value",
                        &value.name,
                        &value.span,
                        &successor.name,
                        &successor.span,
                    );
                }
                (None, _) => {
                    let message = format!("the value `{}` was removed", value.name);
                    let change = Diagnostic::error(ENUM_CHANGED, message)
                        .at(&value.span, "the new version does not have this")
                        .help("keep it: stored objects may have it");
                    self.sink.push(change);
                }
            }
        }
        for value in &new.values {
            let known = old.values.iter().any(|other| other.name == value.name);
            if !known && !taken.contains(&value.value) {
                let change = Diagnostic::note(ADDED, format!("the value `{}` is new", value.name));
                self.report(change, &value.span, "");
            }
        }
    }

    fn renumbered(&mut self, old: &EnumValue, new: &EnumValue) {
        let (before, after) = (old.value, new.value);
        let message = format!("the value `{}` changed from {before} to {after}", new.name);
        let change = Diagnostic::error(ENUM_CHANGED, message).help(format!(
            "write `{} = {before}`, and give new values new numbers",
            new.name
        ));
        self.report_both(change, &old.span, &new.span);
    }

    pub(super) fn unions(&mut self, old: &Union, new: &Union) {
        let mut taken = Vec::new();
        for member in &old.members {
            let by_name = new.members.iter().find(|other| other.name == member.name);
            let by_code = new.members.iter().find(|other| other.code == member.code);
            let in_old = |name: &str| old.members.iter().any(|member| member.name == name);
            match (by_name, by_code) {
                (Some(same), _) if same.code == member.code => self.member(member, same),
                (Some(same), _) => {
                    let (before, after) = (member.code, same.code);
                    let name = &same.name;
                    let message = format!(
                        "the type code of the member `{name}` changed from {before} to {after}"
                    );
                    let change = Diagnostic::error(UNION_CHANGED, message)
                        .help("add new members after all others");
                    self.report_both(change, &member.span, &same.span);
                }
                (None, Some(successor)) if !in_old(&successor.name) => {
                    taken.push(successor.code);
                    self.renamed(
                        "member",
                        &member.name,
                        &member.span,
                        &successor.name,
                        &successor.span,
                    );
                    self.member(member, successor);
                }
                (None, _) => {
                    let message = format!("the member `{}` was removed", member.name);
                    let change = Diagnostic::error(UNION_CHANGED, message)
                        .at(&member.span, "the new version does not have this")
                        .help("keep it: stored objects may have it");
                    self.sink.push(change);
                }
            }
        }
        for member in &new.members {
            let known = old.members.iter().any(|other| other.name == member.name);
            if !known && !taken.contains(&member.code) {
                let message = format!("the member `{}` is new", member.name);
                self.report(Diagnostic::note(ADDED, message), &member.span, "");
            }
        }
    }

    fn member(&mut self, old: &UnionMember, new: &UnionMember) {
        if !self.same_target(old.target, new.target) {
            let message = format!("the type of the member `{}` changed", new.name);
            let change = Diagnostic::error(UNION_CHANGED, message)
                .help("add a member for the new type, after all others");
            self.report_both(change, &old.span, &new.span);
        }
    }
}
