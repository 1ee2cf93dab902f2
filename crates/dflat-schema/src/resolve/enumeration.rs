//! The values of enums.

use std::collections::HashMap;

use dflat_model::Scalar;

use super::{attribute, scope::builtin};
use crate::ast::{Declaration, EnumeratorDecl, TypeExpr};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::schema::{Element, Enum, EnumValue, Span};

pub(super) fn resolve(
    declaration: &Declaration,
    base: Option<&TypeExpr>,
    values: &[EnumeratorDecl],
    sink: &mut Sink,
) -> Enum {
    let bit_flags = attribute::has(&declaration.attributes, "bit_flags");
    let base = base.map_or(Scalar::I32, |base| integer_type(base, sink));
    if values.is_empty() && !declaration.broken {
        let message = format!("enum `{}` has no values", declaration.name.text);
        sink.push(
            Diagnostic::error(code::NO_VALUES, message)
                .at(&declaration.name.span, "")
                .help("give it a value, such as `None = 0`"),
        );
    }
    let mut resolved = Enum {
        base,
        bit_flags,
        values: Vec::new(),
    };
    let mut next = 0;
    // Values without a number follow a value that was reported already.
    let mut follows_wrong = false;
    let mut names: HashMap<&str, &Span> = HashMap::new();
    let mut numbers: HashMap<i128, &EnumeratorDecl> = HashMap::new();
    for declared in values {
        let name = &declared.name;
        if let Some(first) = names.get(name.text.as_str()) {
            let message = format!(
                "value `{}` of enum `{}` is defined twice",
                name.text, declaration.name.text
            );
            sink.push(
                Diagnostic::error(code::DUPLICATE_ENUM_VALUE, message)
                    .at(&name.span, "defined again here")
                    .and(first, "first defined here")
                    .help("remove or rename one of them"),
            );
        }
        let number = declared.value.as_ref().map_or(next, |(value, _)| *value);
        next = number.saturating_add(1);
        follows_wrong &= declared.value.is_none();
        if !follows_wrong {
            follows_wrong = !report_range(&resolved, declared, number, sink);
        }
        if let Some(first) = numbers.get(&number)
            && first.name.text != name.text
        {
            let message = format!(
                "`{}` and `{}` have the same number",
                first.name.text, name.text
            );
            sink.push(
                Diagnostic::error(code::DUPLICATE_ENUM_VALUE, message)
                    .at(&name.span, format!("{number} again"))
                    .and(&first.name.span, format!("{number} first"))
                    .help("give each value a number of its own"),
            );
        }
        names.entry(&name.text).or_insert(&name.span);
        numbers.entry(number).or_insert(declared);
        resolved.values.push(EnumValue {
            name: name.text.clone(),
            docs: declared.docs.clone(),
            span: name.span.clone(),
            value: if bit_flags {
                flag(number).unwrap_or(0)
            } else {
                number
            },
        });
    }
    resolved
}

fn integer_type(base: &TypeExpr, sink: &mut Sink) -> Scalar {
    let name = match base {
        TypeExpr::Named(name) => match builtin(&name.text) {
            Some(Element::Scalar(scalar)) if !scalar.is_float() && scalar != Scalar::Bool => {
                return scalar;
            }
            _ => name,
        },
        TypeExpr::Vector(name) | TypeExpr::Array { element: name, .. } => name,
        TypeExpr::Invalid => return Scalar::I64,
    };
    sink.push(
        Diagnostic::error(code::ENUM_BASE, "an enum's base type is an integer type")
            .at(&name.span, format!("not `{}`", name.text))
            .help("use `byte`, `ubyte`, `short`, `ushort`, `int`, `uint`, `long` or `ulong`"),
    );
    // The widest type, so that the values cause no further errors.
    Scalar::I64
}

/// The mask of a bit.
fn flag(position: i128) -> Option<i128> {
    let position = u32::try_from(position)
        .ok()
        .filter(|position| *position < 64)?;
    Some(1 << position)
}

/// Reports a number that the base type cannot hold. Returns whether it can.
fn report_range(resolved: &Enum, declared: &EnumeratorDecl, number: i128, sink: &mut Sink) -> bool {
    let (low, high) = resolved.base.integer_range().unwrap_or((0, 0));
    let base = resolved.base.name();
    let span = declared
        .value
        .as_ref()
        .map_or(&declared.name.span, |(_, span)| span);
    let fits = match resolved.bit_flags {
        true => flag(number).is_some_and(|mask| (low..=high).contains(&mask)),
        false => (low..=high).contains(&number),
    };
    if fits {
        return true;
    }
    let name = &declared.name.text;
    let diagnostic = if resolved.bit_flags {
        let bits = resolved.base.size_bytes() * 8 - usize::from(low < 0);
        let message = format!("bit flag `{name}` does not fit the enum's base type");
        Diagnostic::error(code::BIT_FLAG_RANGE, message)
            .at(span, format!("bit {number} is not in 0 to {}", bits - 1))
            .help(format!("use a wider, unsigned base type than `{base}`"))
    } else {
        let message = format!("value `{name}` does not fit the enum's base type");
        Diagnostic::error(code::ENUM_VALUE_RANGE, message)
            .at(span, format!("{number} is not in {low} to {high}"))
            .help(format!("use a wider base type than `{base}`"))
    };
    sink.push(diagnostic);
    false
}
