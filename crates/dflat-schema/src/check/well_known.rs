//! The rules for values with a type of their own: dates and times, and UUIDs.

use dflat_model::Scalar;

use super::field::describe;
use crate::ast::{Attribute, DeclarationKind, FieldDecl, ValueKind};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::resolve::{Draft, attribute};
use crate::schema::{
    DefinitionId, DefinitionKind, Element, Field, FieldType, Struct, StructField, TimeUnit,
};

pub(super) fn check(draft: &Draft<'_>, sink: &mut Sink) {
    for id in draft.ids() {
        let declaration = draft.declarations[id.0 as usize];
        let definition = &draft.definitions[id.0 as usize].kind;
        match (&declaration.kind, definition) {
            (DeclarationKind::Table { fields }, DefinitionKind::Table(table)) => {
                for (position, declared) in fields.iter().enumerate() {
                    if let Some(time) = attribute::find(&declared.attributes, "time")
                        && !draft.is_poisoned(id, position)
                    {
                        check_time(draft, declared, &table.fields[position], time, sink);
                    }
                }
            }
            (DeclarationKind::Struct { .. }, DefinitionKind::Struct(found)) => {
                let uuid = attribute::find(&declaration.attributes, "uuid");
                if let Some(uuid) = uuid.filter(|_| !draft.is_broken(id)) {
                    check_uuid(draft, id, found, uuid, sink);
                }
            }
            _ => {}
        }
    }
}

fn check_time(
    draft: &Draft<'_>,
    declared: &FieldDecl,
    field: &Field,
    time: &Attribute,
    sink: &mut Sink,
) {
    let value = time.value.as_ref();
    let unit = value.and_then(|value| match &value.kind {
        ValueKind::Text(text) => Some((text, &value.span)),
        _ => None,
    });
    // Another value was reported as a wrong value of the attribute.
    if let Some((text, span)) = unit
        && field.time.is_none()
    {
        let units = TimeUnit::ALL.map(|unit| format!("{:?}", unit.name()));
        let diagnostic = Diagnostic::error(code::TIME, format!("{text:?} is not a unit of time"))
            .at(span, "")
            .help(format!("use one of {}", units.join(", ")));
        sink.push(diagnostic);
    }
    if field.ty != FieldType::Single(Element::Scalar(Scalar::I64)) {
        let message = format!("field `{}` cannot be a date and time", field.name);
        let diagnostic = Diagnostic::error(code::TIME, message)
            .at(&time.name.span, "needs a `long`")
            .and(
                &declared.name.span,
                format!("is {}", describe(draft, field.ty)),
            )
            .help("make it a `long`, or remove `time`");
        sink.push(diagnostic);
    }
}

fn check_uuid(
    draft: &Draft<'_>,
    id: DefinitionId,
    found: &Struct,
    uuid: &Attribute,
    sink: &mut Sink,
) {
    let is_half = |field: &StructField| {
        field.element == Element::Scalar(Scalar::U64) && field.array.is_none() && !field.deprecated
    };
    if found.fields.len() == 2 && found.fields.iter().all(is_half) {
        return;
    }
    let definition = &draft.definitions[id.0 as usize];
    let name = &definition.name;
    sink.push(
        Diagnostic::error(
            code::UUID_STRUCT,
            format!("struct `{name}` cannot be a UUID"),
        )
        .at(&uuid.name.span, "needs two fields of type `ulong`")
        .and(&definition.span, "in this struct")
        .help(format!(
            "write `struct {name} (uuid) {{ high: ulong; low: ulong; }}`"
        )),
    );
}
