//! The indexes that tables declare over several fields, or of some objects.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use dflat_model::{Field, IndexCondition, IndexDescriptor};

use super::condition::ConditionLowering;
use super::path::Paths;
use super::syntax::{self, IndexText};
use crate::ast::{Attribute, DeclarationKind, FieldDecl, Value, ValueKind};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::resolve::{Draft, attribute};
use crate::schema::{DefinitionId, DefinitionKind, Span, TableIndex};

/// The attributes that declare indexes, and whether these indexes are unique.
const ATTRIBUTES: [(&str, bool); 2] = [("indexed", false), ("unique", true)];

/// Finds the indexes that the strings of attributes declare. Fields must have their offsets.
pub(crate) fn declare(draft: &mut Draft<'_>, sink: &mut Sink) {
    for id in draft.ids() {
        let declaration = draft.declarations[id.0 as usize];
        let DeclarationKind::Table { fields } = &declaration.kind else {
            continue;
        };
        let mut declared = Vec::new();
        for (position, field) in fields.iter().enumerate() {
            // A deprecated field is in no index.
            let is_kept = !attribute::has(&field.attributes, "deprecated");
            if is_kept && !draft.is_poisoned(id, position) {
                of_field(draft, id, field, &mut declared, sink);
            }
        }
        of_table(draft, id, &declaration.attributes, &mut declared, sink);
        report_twice(&declared, sink);
        if let DefinitionKind::Table(table) = &mut draft.definitions[id.0 as usize].kind {
            table.indexes = declared;
        }
    }
}

/// The strings of attributes that declare indexes.
fn texts(attributes: &[Attribute]) -> impl Iterator<Item = (&Value, &str, bool)> {
    ATTRIBUTES.into_iter().filter_map(|(name, unique)| {
        let value = attribute::find(attributes, name)?.value.as_ref()?;
        match &value.kind {
            ValueKind::Text(text) => Some((value, text.as_str(), unique)),
            _ => None,
        }
    })
}

/// Adds the indexes of a field. The attribute's string is the condition of the index.
fn of_field(
    draft: &Draft<'_>,
    id: DefinitionId,
    field: &FieldDecl,
    declared: &mut Vec<TableIndex>,
    sink: &mut Sink,
) {
    for (value, text, unique) in texts(&field.attributes) {
        let Ok(condition) = reported(syntax::condition(value, text), sink) else {
            continue;
        };
        let text = IndexText {
            paths: vec![field.name.clone()],
            condition: Some(condition),
            span: field.name.span.clone(),
        };
        declared.extend(index(draft, id, text, unique, sink));
    }
}

fn of_table(
    draft: &Draft<'_>,
    id: DefinitionId,
    attributes: &[Attribute],
    declared: &mut Vec<TableIndex>,
    sink: &mut Sink,
) {
    for (value, text, unique) in texts(attributes) {
        for text in reported(syntax::indexes(value, text), sink).unwrap_or_default() {
            declared.extend(index(draft, id, text, unique, sink));
        }
    }
}

/// Reports the error, if there is one.
fn reported<T>(parsed: Result<T, Box<Diagnostic>>, sink: &mut Sink) -> Result<T, ()> {
    parsed.map_err(|diagnostic| sink.push(*diagnostic))
}

fn index(
    draft: &Draft<'_>,
    id: DefinitionId,
    text: IndexText,
    unique: bool,
    sink: &mut Sink,
) -> Option<TableIndex> {
    let paths = Paths { draft, root: id };
    let mut fields: Vec<Field> = Vec::new();
    for path in &text.paths {
        let found = paths.find(path, sink)?;
        if fields.iter().any(|field| field.steps == found.field.steps) {
            let message = format!("the index has the field `{}` twice", path.text);
            let twice =
                Diagnostic::error(code::INDEX_TWICE, message).at(&path.span, "declared again here");
            sink.push(twice.help("remove one of the two"));
            return None;
        }
        fields.push(found.field);
    }
    let condition: Option<IndexCondition> = match &text.condition {
        Some(condition) => Some(ConditionLowering { paths }.condition(condition, false, sink)?),
        None => None,
    };
    let descriptor = IndexDescriptor {
        fields: fields.into(),
        unique,
        condition,
    };
    Some(TableIndex {
        descriptor,
        span: text.span,
    })
}

/// Reports indexes with the same fields and condition.
fn report_twice(declared: &[TableIndex], sink: &mut Sink) {
    let mut seen: HashMap<String, &Span> = HashMap::new();
    for index in declared {
        let first = match seen.entry(index.descriptor.storage_key()) {
            Entry::Vacant(entry) => {
                entry.insert(&index.span);
                continue;
            }
            Entry::Occupied(entry) => *entry.get(),
        };
        let message = format!("the index on {} is declared twice", index.descriptor);
        sink.push(
            Diagnostic::error(code::INDEX_TWICE, message)
                .at(&index.span, "declared again here")
                .and(first, "first declared here")
                .help("remove one of the two; a `unique` index also serves queries"),
        );
        if sink.is_full() {
            return;
        }
    }
}
