//! The vtable slots of tables.

use crate::diagnostic::{Diagnostic, Sink, code};
use crate::layout::{INLINE_BYTES_MAX, structure};
use crate::resolve::{Draft, Kind, attribute, known};
use crate::schema::{DefinitionId, DefinitionKind, Field, FieldType, Span};

/// The limit on slots. A vtable begins with its own size and the table's, and its size is a number
/// of 16 bits.
const SLOTS_MAX: usize = (65_535 - 4) / 2;

/// Assigns the vtable offsets of all tables.
pub(super) fn assign(draft: &mut Draft<'_>, sink: &mut Sink) {
    for id in draft.ids() {
        let DefinitionKind::Table(table) = &draft.definitions[id.0 as usize].kind else {
            continue;
        };
        let ids = ids(draft, id, &table.fields);
        let given = ids.iter().filter(|id| id.is_some()).count();
        let slots = if given == 0 {
            consecutive(draft, &table.fields)
        } else {
            if !draft.is_broken(id) && !has_wrong_id(draft, id) {
                report_ids(draft, id, &table.fields, &ids, sink);
            }
            ids.iter()
                .map(|id| id.as_ref().map_or(0, |(id, _)| *id))
                .collect()
        };
        report_size(draft, id, &table.fields, sink);
        if let DefinitionKind::Table(table) = &mut draft.definitions[id.0 as usize].kind {
            for (field, slot) in table.fields.iter_mut().zip(slots) {
                field.voffset = u16::try_from(slot)
                    .unwrap_or(0)
                    .saturating_mul(2)
                    .saturating_add(4);
            }
        }
    }
}

/// The number of slots that a field takes. The type code of a union, or the vector of type codes,
/// has a slot of its own before the field.
fn width(draft: &Draft<'_>, ty: FieldType) -> usize {
    match draft.scope.kind_of(ty.element()) {
        Some(Kind::Union) => 2,
        _ => 1,
    }
}

/// The slots in declaration order.
fn consecutive(draft: &Draft<'_>, fields: &[Field]) -> Vec<i128> {
    let mut next = 0;
    let mut slots = Vec::new();
    for field in fields {
        let width = width(draft, field.ty) as i128;
        slots.push(next + width - 1);
        next += width;
    }
    slots
}

/// The `id` of each field.
fn ids(draft: &Draft<'_>, id: DefinitionId, fields: &[Field]) -> Vec<Option<(i128, Span)>> {
    let crate::ast::DeclarationKind::Table { fields: declared } =
        &draft.declarations[id.0 as usize].kind
    else {
        return vec![None; fields.len()];
    };
    declared
        .iter()
        .map(|field| attribute::integer(&field.attributes, "id"))
        .collect()
}

/// Whether the `id` of a field is misspelt or no integer, which `check` reports.
fn has_wrong_id(draft: &Draft<'_>, id: DefinitionId) -> bool {
    let crate::ast::DeclarationKind::Table { fields } = &draft.declarations[id.0 as usize].kind
    else {
        return false;
    };
    fields.iter().any(|field| {
        attribute::has(&field.attributes, "id")
            && attribute::integer(&field.attributes, "id").is_none()
    }) || {
        let attributes = fields.iter().flat_map(|field| &field.attributes);
        known::misspells(&draft.scope, attributes, "id")
    }
}

fn report_ids(
    draft: &Draft<'_>,
    id: DefinitionId,
    fields: &[Field],
    ids: &[Option<(i128, Span)>],
    sink: &mut Sink,
) {
    let table = &draft.definitions[id.0 as usize].name;
    let mut taken: Vec<(i128, &Span, &Field)> = Vec::new();
    for (field, id) in fields.iter().zip(ids) {
        let Some((number, span)) = id else {
            let with = ids.iter().flatten().next();
            let message = format!("field `{}` of table `{table}` has no `id`", field.name);
            let mut diagnostic = Diagnostic::error(code::ID_INCOMPLETE, message)
                .at(&field.span, "this field has no `id`")
                .help("give all fields an `id`, or none");
            if let Some((_, span)) = with {
                diagnostic = diagnostic.and(span, "this field has one");
            }
            sink.push(diagnostic);
            return;
        };
        let width = width(draft, field.ty) as i128;
        for slot in (number - (width - 1))..=*number {
            taken.push((slot, span, field));
        }
    }
    taken.sort_by_key(|(slot, span, _)| (*slot, span.range.start));
    let mut before: Option<&(i128, &Span, &Field)> = None;
    for (free, entry) in (0i128..).zip(&taken) {
        let (slot, span, field) = entry;
        if *slot != free {
            let is_union = width(draft, field.ty) == 2;
            let message = format!("the ids of table `{table}` are not consecutive");
            let mut diagnostic = Diagnostic::error(code::ID_NOT_CONSECUTIVE, message);
            if let Some((_, first, _)) = before.filter(|(first, ..)| first == slot) {
                diagnostic = diagnostic
                    .at(span, format!("{slot} is used already"))
                    .and(first, format!("{slot} is used here"));
            } else if *slot < 0 {
                let least = if is_union { 1 } else { 0 };
                diagnostic = diagnostic.at(span, format!("the lowest possible id here is {least}"));
            } else {
                diagnostic = diagnostic.at(span, format!("{free} is missing before {slot}"));
            }
            sink.push(if is_union {
                diagnostic.help(
                    "a union takes two ids: its own `id`, and the one before it for the type code",
                )
            } else {
                diagnostic.help("number the fields 0, 1, 2, ..")
            });
            return;
        }
        before = Some(entry);
    }
}

fn report_size(draft: &Draft<'_>, id: DefinitionId, fields: &[Field], sink: &mut Sink) {
    let definition = &draft.definitions[id.0 as usize];
    let slots: usize = fields.iter().map(|field| width(draft, field.ty)).sum();
    // A table in line has the offset to the vtable, the fields, and padding. The padding is less
    // than the largest alignment, because writers put large fields first.
    let mut bytes = 4u64;
    let mut padding = 4u64;
    for field in fields {
        let (size, align) = match field.ty {
            FieldType::Single(element) => structure::size_and_align(draft, element),
            FieldType::Vector(_) => (4, 4),
        };
        bytes += size.next_multiple_of(u64::from(align)) + (width(draft, field.ty) as u64 - 1);
        padding = padding.max(u64::from(align));
    }
    let bytes = bytes + padding;
    if slots > SLOTS_MAX || bytes > INLINE_BYTES_MAX {
        let label = if slots > SLOTS_MAX {
            format!("{slots} slots, at most {SLOTS_MAX}")
        } else {
            format!("up to {bytes} bytes in line, at most {INLINE_BYTES_MAX}")
        };
        let message = format!("table `{}` is too large", definition.name);
        sink.push(
            Diagnostic::error(code::TOO_LARGE, message)
                .at(&definition.span, label)
                .help("move some of its fields into another table"),
        );
    }
}
