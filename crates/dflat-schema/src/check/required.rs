//! A table that requires itself has no value, because each value would contain another one.

use crate::diagnostic::{Diagnostic, Sink, code};
use crate::resolve::{Draft, Kind};
use crate::schema::{DefinitionId, DefinitionKind, Element, Field, FieldType};

/// Reports each circle of required tables once.
pub(super) fn check(draft: &Draft<'_>, sink: &mut Sink) {
    let endless = endless(draft);
    // By definition: the walk that has been there.
    let mut walks = vec![None; draft.definitions.len()];
    for start in draft.ids() {
        let mut at = start;
        while endless[at.0 as usize] && walks[at.0 as usize].is_none() {
            walks[at.0 as usize] = Some(start);
            let mut required = required(draft, at);
            let Some((field, next)) = required.find(|(_, next)| endless[next.0 as usize]) else {
                break;
            };
            if walks[next.0 as usize] == Some(start) {
                report(draft, field, next, sink);
            }
            at = next;
        }
    }
}

/// By definition: whether a value of the table would never end.
fn endless(draft: &Draft<'_>) -> Vec<bool> {
    let mut containers: Vec<Vec<DefinitionId>> = vec![Vec::new(); draft.definitions.len()];
    let mut missing = vec![0_usize; draft.definitions.len()];
    for id in draft.ids() {
        for (_, inner) in required(draft, id) {
            containers[inner.0 as usize].push(id);
            missing[id.0 as usize] += 1;
        }
    }
    let mut finite: Vec<DefinitionId> = draft
        .ids()
        .filter(|id| missing[id.0 as usize] == 0)
        .collect();
    while let Some(id) = finite.pop() {
        for outer in &containers[id.0 as usize] {
            let missing = &mut missing[outer.0 as usize];
            *missing -= 1;
            if *missing == 0 {
                finite.push(*outer);
            }
        }
    }
    missing.into_iter().map(|missing| missing > 0).collect()
}

/// The required fields of a table whose type is a table, and these types.
fn required<'d>(
    draft: &'d Draft<'_>,
    id: DefinitionId,
) -> impl Iterator<Item = (&'d Field, DefinitionId)> {
    let fields: &[Field] = match &draft.definitions[id.0 as usize].kind {
        DefinitionKind::Table(table) => &table.fields,
        _ => &[],
    };
    let fields = fields
        .iter()
        .filter(|field| field.required && !field.deprecated);
    fields.filter_map(|field| match field.ty {
        FieldType::Single(Element::Definition(id)) if draft.scope.kind(id) == Kind::Table => {
            Some((field, id))
        }
        _ => None,
    })
}

fn report(draft: &Draft<'_>, field: &Field, inner: DefinitionId, sink: &mut Sink) {
    let inner = &draft.definitions[inner.0 as usize];
    let message = format!("table `{}` requires itself", inner.name);
    sink.push(
        Diagnostic::error(code::REQUIRES_ITSELF, message)
            .at(&field.span, format!("requires another `{}`", inner.name))
            .and(&inner.span, "no value of this table can end")
            .help("remove `required` from one of the fields, or use a vector"),
    );
}
