//! Offsets, sizes and alignments of structs.

use crate::diagnostic::{Diagnostic, Sink, code};
use crate::layout::INLINE_BYTES_MAX;
use crate::resolve::{Draft, Kind, attribute};
use crate::schema::{DefinitionId, DefinitionKind, Element, Struct};

/// The largest `force_align`. SQLite and most allocators do not guarantee more than 16.
const ALIGN_MAX: u32 = 16;

#[derive(Clone, Copy, PartialEq)]
enum Visit {
    Fresh,
    Open,
    Done,
}

/// Lays out all structs, each after the structs it contains.
///
/// The search is depth first and uses an explicit stack, because a chain of structs may be as long
/// as the file.
pub(super) fn lay_out(draft: &mut Draft<'_>, sink: &mut Sink) {
    let mut visits = vec![Visit::Fresh; draft.definitions.len()];
    for root in draft.ids() {
        if visits[root.0 as usize] == Visit::Fresh && structure(draft, root).is_some() {
            walk(draft, root, &mut visits, sink);
        }
    }
}

fn walk(draft: &mut Draft<'_>, root: DefinitionId, visits: &mut [Visit], sink: &mut Sink) {
    let mut stack = vec![(root, 0)];
    visits[root.0 as usize] = Visit::Open;
    while let Some((id, position)) = stack.last_mut() {
        let id = *id;
        let fields = structure(draft, id).map_or(&[][..], |found| &found.fields);
        let Some(field) = fields.get(*position) else {
            visits[id.0 as usize] = Visit::Done;
            stack.pop();
            lay_out_one(draft, id, sink);
            continue;
        };
        *position += 1;
        let Element::Definition(inner) = field.element else {
            continue;
        };
        if draft.scope.kind(inner) != Kind::Struct {
            continue;
        }
        match visits[inner.0 as usize] {
            Visit::Done => {}
            Visit::Fresh => {
                visits[inner.0 as usize] = Visit::Open;
                stack.push((inner, 0));
            }
            Visit::Open => {
                let diagnostic = recursion(draft, &stack, inner);
                sink.push(diagnostic);
            }
        }
    }
}

/// Describes the cycle from `inner`, which is on the stack, back to itself.
fn recursion(
    draft: &Draft<'_>,
    stack: &[(DefinitionId, usize)],
    inner: DefinitionId,
) -> Diagnostic {
    let start = stack.iter().position(|(id, _)| *id == inner).unwrap_or(0);
    let cycle = &stack[start..];
    let name = draft.definitions[inner.0 as usize].full_name();
    let mut diagnostic = Diagnostic::error(
        code::RECURSIVE_STRUCT,
        format!("struct `{name}` contains itself"),
    )
    .help("make one of the structs a table");
    // A cycle may be as long as the file, so only its first and its last field are shown.
    let shown = cycle
        .iter()
        .enumerate()
        .take(3)
        .chain(cycle.iter().enumerate().skip(3).last());
    for (step, (id, next)) in shown {
        // The position is already after the field.
        let Some(field) = structure(draft, *id).and_then(|found| found.fields.get(next - 1)) else {
            continue;
        };
        if step + 1 == cycle.len() {
            diagnostic = diagnostic.at(&field.span, format!("contains `{name}` again"));
        } else {
            diagnostic = diagnostic.and(&field.span, "through this field");
        }
    }
    diagnostic
}

fn structure<'a>(draft: &'a Draft<'_>, id: DefinitionId) -> Option<&'a Struct> {
    match &draft.definitions[id.0 as usize].kind {
        DefinitionKind::Struct(found) => Some(found),
        _ => None,
    }
}

/// Size and alignment of one value.
pub(super) fn size_and_align(draft: &Draft<'_>, element: Element) -> (u64, u32) {
    let scalar = match element {
        Element::Scalar(scalar) => scalar,
        // An offset of 32 bits.
        Element::Text => return (4, 4),
        Element::Definition(id) => match &draft.definitions[id.0 as usize].kind {
            DefinitionKind::Enum(found) => found.base,
            DefinitionKind::Struct(found) => return (u64::from(found.size), found.align),
            DefinitionKind::Union(_) | DefinitionKind::Table(_) => return (4, 4),
        },
    };
    let size = scalar.size_bytes();
    (size as u64, u32::try_from(size).unwrap_or(1))
}

fn lay_out_one(draft: &mut Draft<'_>, id: DefinitionId, sink: &mut Sink) {
    let Some(found) = structure(draft, id) else {
        return;
    };
    let mut size = 0u64;
    let mut align = 1;
    let mut offsets = Vec::new();
    for field in &found.fields {
        let (field_size, field_align) = size_and_align(draft, field.element);
        align = align.max(field_align);
        size = size.next_multiple_of(u64::from(field_align));
        offsets.push(size);
        size = size.saturating_add(field_size * u64::from(field.array.unwrap_or(1)));
    }
    align = forced(draft, id, align, sink);
    size = size.next_multiple_of(u64::from(align));
    if size > INLINE_BYTES_MAX {
        let definition = &draft.definitions[id.0 as usize];
        let message = format!("struct `{}` is too large", definition.name);
        sink.push(
            Diagnostic::error(code::TOO_LARGE, message)
                .at(
                    &definition.span,
                    format!("{size} bytes, at most {INLINE_BYTES_MAX}"),
                )
                .help("use a table with a vector"),
        );
        // A small size instead of the real one, so that the structs around this one are not
        // reported too.
        size = 0;
    }
    if let DefinitionKind::Struct(found) = &mut draft.definitions[id.0 as usize].kind {
        found.size = u32::try_from(size).unwrap_or(0);
        found.align = align;
        for (field, offset) in found.fields.iter_mut().zip(offsets) {
            field.offset = u32::try_from(offset).unwrap_or(0);
        }
    }
}

/// The alignment, with `force_align` applied.
fn forced(draft: &Draft<'_>, id: DefinitionId, natural: u32, sink: &mut Sink) -> u32 {
    let attributes = &draft.declarations[id.0 as usize].attributes;
    let Some((wanted, span)) = attribute::integer(attributes, "force_align") else {
        return natural;
    };
    match u32::try_from(wanted) {
        Ok(align) if align.is_power_of_two() && (natural..=ALIGN_MAX).contains(&align) => align,
        _ => {
            let message = format!("cannot align a struct to {wanted} bytes");
            sink.push(
                Diagnostic::error(code::FORCE_ALIGN, message)
                    .at(
                        &span,
                        format!("not a power of two from {natural} to {ALIGN_MAX}"),
                    )
                    .help(format!("the natural alignment of the struct is {natural}")),
            );
            natural
        }
    }
}
