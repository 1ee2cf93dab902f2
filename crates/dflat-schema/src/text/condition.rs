//! The condition of an index as the schema language writes it.

use dflat_model::{Comparison, Element, Field, IndexCondition, Scalar, TypeDescriptor, Value};

use super::path::{Followed, Start, follow};

/// The text of a condition; `None` if the language cannot express it.
pub(super) fn text(start: Start<'_>, condition: &IndexCondition) -> Option<String> {
    match condition {
        IndexCondition::Compare {
            field,
            operator,
            value,
        } => {
            let path = follow(start, &field.steps)?;
            let literal = literal(start, &path, value)?;
            Some(format!("{} {} {literal}", path.text, symbol(*operator)))
        }
        IndexCondition::IsNull(field) => Some(format!("{} is null", path(start, field)?)),
        IndexCondition::IsNotNull(field) => Some(format!("{} is not null", path(start, field)?)),
        IndexCondition::And(parts) => match &**parts {
            [single] => one_of(start, single, Comparison::NotEqual),
            parts => joined(start, parts, " and "),
        },
        IndexCondition::Or(parts) => match &**parts {
            [
                IndexCondition::Compare { .. },
                IndexCondition::IsNull(field),
            ] if field.is_tag() => Some(format!("{} is null", path(start, field)?)),
            [single] => one_of(start, single, Comparison::Equal),
            parts => joined(start, parts, " or "),
        },
    }
}

fn path(start: Start<'_>, field: &Field) -> Option<String> {
    Some(follow(start, &field.steps)?.text)
}

fn joined(start: Start<'_>, parts: &[IndexCondition], word: &str) -> Option<String> {
    let parts = parts.iter().map(|part| {
        let inner = text(start, part)?;
        Some(match part {
            IndexCondition::And(_) | IndexCondition::Or(_) => format!("({inner})"),
            _ => inner,
        })
    });
    Some(parts.collect::<Option<Vec<_>>>()?.join(word))
}

/// A list of one value, `path in [1]`, or its negation.
fn one_of(start: Start<'_>, single: &IndexCondition, expected: Comparison) -> Option<String> {
    let IndexCondition::Compare {
        field,
        operator,
        value,
    } = single
    else {
        return None;
    };
    let path = follow(start, &field.steps)?;
    let literal = literal(start, &path, value)?;
    let negation = match expected {
        Comparison::NotEqual => "not ",
        _ => "",
    };
    (*operator == expected).then(|| format!("{negation}{} in [{literal}]", path.text))
}

const fn symbol(operator: Comparison) -> &'static str {
    match operator {
        Comparison::Equal => "==",
        Comparison::NotEqual => "!=",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

fn literal(start: Start<'_>, path: &Followed<'_>, value: &Value) -> Option<String> {
    let named = |id: dflat_model::TypeId| match start.types.get(usize::from(id.0))? {
        TypeDescriptor::Enum(layout) => {
            let mut values = layout.values.iter();
            let found = values.find(|known| known.value == *value)?;
            Some(found.name.to_string())
        }
        TypeDescriptor::Union(layout) => match value {
            Value::Int(0) => Some("NONE".to_owned()),
            Value::Int(code) => {
                let mut members = layout.members.iter();
                let found = members.find(|member| i64::from(member.code) == *code)?;
                Some(found.name.to_string())
            }
            _ => None,
        },
        _ => None,
    };
    match (path.element, value) {
        (Element::Enum(id) | Element::Union(id), _) => named(id),
        (Element::Scalar(Scalar::Bool), Value::Int(value)) => Some((*value != 0).to_string()),
        (Element::Scalar(_), Value::Int(value)) => Some(value.to_string()),
        (Element::Scalar(_), Value::UInt(value)) => Some(value.to_string()),
        (Element::Scalar(_), Value::Float(value)) => Some(format!("{value:?}")),
        // A string of the attribute has no escapes of its own.
        (Element::Text, Value::Text(text)) if !text.contains('\'') => Some(format!("'{text}'")),
        _ => None,
    }
}
