//! Structs, enums and unions.

use super::Comparison;
use super::code::{ADDED, ENUM_CHANGED, STRUCT_CHANGED, UNION_CHANGED};
use super::fields::Contents;
use super::shift::{Cause, Entries};
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
        self.uuids((old, before), (new, after));
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
            self.contents(&same.name, &contents(field), &contents(same));
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
        let entries = Entries {
            old: old.values.iter().map(|value| value.value).collect(),
            new: new.values.iter().map(|value| value.value).collect(),
            pairs: pairs(&named_values(old), &named_values(new)),
        };
        let added = entries.added();
        let causes = entries.causes(&added);
        let moved_by = |cause| entries.moved_by(cause, &causes, |at| old.values[at].name.as_str());
        for (at, value) in old.values.iter().enumerate() {
            let Some(same) = entries.pairs[at].map(|to| &new.values[to]) else {
                let message = format!("the value `{}` was removed", value.name);
                let mut change = Diagnostic::error(ENUM_CHANGED, message)
                    .at(&value.span, "the new version does not have this")
                    .help("keep it: stored objects may have it");
                if let Some(moved) = moved_by(Cause::Removed(at)) {
                    change = change.with_note(format!("the values behind it changed: {moved}"));
                }
                self.sink.push(change);
                continue;
            };
            if value.name != same.name {
                self.renamed("value", &value.name, &value.span, &same.name, &same.span);
            } else if value.value != same.value && causes[at].is_none() {
                self.renumbered(value, same);
            }
        }
        for at in added {
            let value = &new.values[at];
            let change = match moved_by(Cause::Added(at)) {
                None => Diagnostic::note(ADDED, format!("the value `{}` is new", value.name)),
                Some(moved) => {
                    let message = format!(
                        "the new value `{}` changes the numbers of those behind it",
                        value.name
                    );
                    Diagnostic::error(ENUM_CHANGED, message)
                        .with_note(format!("these values changed: {moved}"))
                        .help("add new values after all others, or give every value its old number")
                }
            };
            self.report(change, &value.span, "");
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
        let entries = Entries {
            old: old
                .members
                .iter()
                .map(|member| member.code.into())
                .collect(),
            new: new
                .members
                .iter()
                .map(|member| member.code.into())
                .collect(),
            pairs: pairs(&named_members(old), &named_members(new)),
        };
        let added = entries.added();
        let causes = entries.causes(&added);
        let moved_by = |cause| entries.moved_by(cause, &causes, |at| old.members[at].name.as_str());
        for (at, member) in old.members.iter().enumerate() {
            let Some(same) = entries.pairs[at].map(|to| &new.members[to]) else {
                let message = format!("the member `{}` was removed", member.name);
                let mut change = Diagnostic::error(UNION_CHANGED, message)
                    .at(&member.span, "the new version does not have this")
                    .help("keep it: stored objects may have it");
                if let Some(moved) = moved_by(Cause::Removed(at)) {
                    let note = format!("the type codes behind it changed: {moved}");
                    change = change.with_note(note);
                }
                self.sink.push(change);
                continue;
            };
            if member.name != same.name {
                self.renamed("member", &member.name, &member.span, &same.name, &same.span);
            }
            if member.code == same.code {
                self.member(member, same);
            } else if causes[at].is_none() {
                self.recoded(member, same);
            }
        }
        for at in added {
            let member = &new.members[at];
            let change = match moved_by(Cause::Added(at)) {
                None => Diagnostic::note(ADDED, format!("the member `{}` is new", member.name)),
                Some(moved) => {
                    let message = format!(
                        "the new member `{}` changes the type codes of those behind it",
                        member.name
                    );
                    Diagnostic::error(UNION_CHANGED, message)
                        .with_note(format!("these type codes changed: {moved}"))
                        .help("add new members after all others")
                }
            };
            self.report(change, &member.span, "");
        }
    }

    fn recoded(&mut self, old: &UnionMember, new: &UnionMember) {
        let (before, after) = (old.code, new.code);
        let name = &new.name;
        let message =
            format!("the type code of the member `{name}` changed from {before} to {after}");
        let change =
            Diagnostic::error(UNION_CHANGED, message).help("add new members after all others");
        self.report_both(change, &old.span, &new.span);
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

fn contents(field: &StructField) -> Contents<'_> {
    Contents {
        element: Some(field.element).filter(|_| field.array.is_none()),
        storage: field.storage,
        span: &field.span,
    }
}

fn named_values(found: &Enum) -> Vec<(&str, i128)> {
    let values = found.values.iter();
    values
        .map(|value| (value.name.as_str(), value.value))
        .collect()
}

fn named_members(found: &Union) -> Vec<(&str, i128)> {
    let members = found.members.iter();
    members
        .map(|member| (member.name.as_str(), member.code.into()))
        .collect()
}

/// By position of the old entry: the same entry of the new version. It has the same name, or the
/// same number and a new name.
fn pairs(old: &[(&str, i128)], new: &[(&str, i128)]) -> Vec<Option<usize>> {
    let same = |(name, number): &(&str, i128)| {
        let by_name = new.iter().position(|(other, _)| other == name);
        by_name.or_else(|| {
            let at = new.iter().position(|(_, other)| other == number)?;
            let in_old = old.iter().any(|(other, _)| *other == new[at].0);
            (!in_old).then_some(at)
        })
    };
    old.iter().map(same).collect()
}
