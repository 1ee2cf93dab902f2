//! The members of unions.

use std::collections::HashMap;

use super::{Kind, Scope};
use crate::ast::{Declaration, MemberDecl, Name};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::schema::{Element, Span, Union, UnionMember, UnionTarget};

pub(super) fn resolve(
    scope: &Scope,
    declaration: &Declaration,
    declared: &[MemberDecl],
    sink: &mut Sink,
) -> Union {
    if declared.is_empty() && !declaration.broken {
        let message = format!("union `{}` has no members", declaration.name.text);
        sink.push(
            Diagnostic::error(code::NO_VALUES, message)
                .at(&declaration.name.span, "")
                .help("add a table that it can hold"),
        );
    }
    let mut members = Vec::new();
    let mut names: HashMap<&str, &Span> = HashMap::new();
    let mut codes: HashMap<i128, &Span> = HashMap::new();
    let mut next = 1;
    for member in declared {
        let (name, span) = name(member);
        let number = member.code.as_ref().map_or(next, |(code, _)| *code);
        next = number.saturating_add(1);
        let place = member.code.as_ref().map_or(span, |(_, span)| span);
        let code = u8::try_from(number).ok().filter(|code| *code > 0);
        if code.is_none() {
            let message = format!("the type code of union member `{name}` is out of range");
            sink.push(
                Diagnostic::error(code::ENUM_VALUE_RANGE, message)
                    .at(place, format!("{number} is not in 1 to 255"))
                    .help("code 0 is `NONE`; larger unions can be nested through a table"),
            );
        }
        report_duplicate(
            &declaration.name,
            name,
            span,
            names.get(name).copied(),
            sink,
        );
        if let Some(first) = codes.get(&number) {
            let message = format!(
                "type code {number} of union `{}` is used twice",
                declaration.name.text
            );
            sink.push(
                Diagnostic::error(code::DUPLICATE_UNION_MEMBER, message)
                    .at(place, "used again here")
                    .and(first, "first used here")
                    .help("give each member a code of its own"),
            );
        }
        names.entry(name).or_insert(span);
        codes.entry(number).or_insert(place);
        members.push(UnionMember {
            name: name.to_owned(),
            aliased: member.alias.is_some(),
            docs: member.docs.clone(),
            span: span.clone(),
            code: code.unwrap_or(0),
            target: target(scope, &declaration.namespace, member, sink)
                .unwrap_or(UnionTarget::Text),
        });
    }
    Union { members }
}

/// The alias, or the last part of the type's name.
fn name(member: &MemberDecl) -> (&str, &Span) {
    match &member.alias {
        Some(alias) => (&alias.text, &alias.span),
        None => {
            let path = &member.path;
            (
                path.text.rsplit('.').next().unwrap_or(&path.text),
                &path.span,
            )
        }
    }
}

fn report_duplicate(union: &Name, name: &str, span: &Span, first: Option<&Span>, sink: &mut Sink) {
    if name == "NONE" {
        let message = format!("union `{}` has a member `NONE` already", union.text);
        sink.push(
            Diagnostic::error(code::DUPLICATE_UNION_MEMBER, message)
                .at(span, "defined again here")
                .and(&union.span, "every union has `NONE`, with code 0")
                .help("remove it, or give the member another name"),
        );
    }
    if let Some(first) = first {
        let message = format!("member `{name}` of union `{}` is defined twice", union.text);
        sink.push(
            Diagnostic::error(code::DUPLICATE_UNION_MEMBER, message)
                .at(span, "defined again here")
                .and(first, "first defined here")
                .help(format!(
                    "remove one, or give it an alias: `Other{name}: {name}`"
                )),
        );
    }
}

fn target(
    scope: &Scope,
    namespace: &[String],
    member: &MemberDecl,
    sink: &mut Sink,
) -> Option<UnionTarget> {
    let path = &member.path;
    let element = scope.resolve(namespace, path, sink)?;
    match (element, scope.kind_of(element)) {
        (Element::Definition(id), Some(Kind::Table | Kind::Struct)) => {
            Some(UnionTarget::Definition(id))
        }
        (Element::Text, _) if member.alias.is_some() => Some(UnionTarget::Text),
        (element, _) => {
            let message = format!("a union cannot hold {}", scope.describe(element));
            let help = match element {
                Element::Text => "give it an alias: `Text: string`",
                _ => "wrap it in a table",
            };
            sink.push(
                Diagnostic::error(code::UNION_MEMBER_TYPE, message)
                    .at(&path.span, "not a table, a struct or an aliased string")
                    .help(help),
            );
            None
        }
    }
}
