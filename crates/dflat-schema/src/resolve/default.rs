//! The defaults of fields.

use dflat_model::Scalar;

use super::{Draft, Kind, attribute};
use crate::ast::{FieldDecl, Value, ValueKind};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::schema::{Default, DefinitionId, Element, Enum, FieldType};

/// The default, or the error in it.
type Checked = Result<Default, Box<Diagnostic>>;

impl Draft<'_> {
    /// The default of a table's field. An error in it is reported.
    pub(super) fn table_default(
        &self,
        owner: DefinitionId,
        field: &FieldDecl,
        ty: FieldType,
        sink: &mut Sink,
    ) -> Default {
        let checked = match (&field.default, ty) {
            (None, FieldType::Single(Element::Scalar(scalar))) if scalar.is_float() => {
                Ok(Default::Float(0.0))
            }
            (None, FieldType::Single(Element::Scalar(_))) => Ok(Default::Integer(0)),
            (None, FieldType::Single(Element::Definition(id))) => self.zero(field, id),
            (None, _) => Ok(Default::Null),
            (Some(value), ty) => self.explicit(owner, field, value, ty),
        };
        checked.unwrap_or_else(|diagnostic| {
            sink.push(*diagnostic);
            self.replacement(ty)
        })
    }

    /// The default in place of a wrong one. The field must not look optional, because that would
    /// be another error in a key.
    fn replacement(&self, ty: FieldType) -> Default {
        match ty {
            FieldType::Single(Element::Scalar(scalar)) if scalar.is_float() => Default::Float(0.0),
            FieldType::Single(Element::Scalar(_)) => Default::Integer(0),
            FieldType::Single(Element::Definition(id)) if self.enumeration(id).is_some() => {
                Default::Integer(0)
            }
            _ => Default::Null,
        }
    }

    /// Reports a default on a field of a struct, and an enum field whose enum has no 0: a field of
    /// a struct has no default and is 0 initially.
    pub(super) fn report_struct_default(
        &self,
        field: &FieldDecl,
        element: Element,
        sink: &mut Sink,
    ) {
        if let Some(default) = &field.default {
            let message = format!(
                "field `{}` of a struct cannot have a default",
                field.name.text
            );
            sink.push(
                Diagnostic::error(code::DEFAULT_UNSUPPORTED, message)
                    .at(&default.span, "")
                    .help("remove it: a struct always stores all of its fields"),
            );
        } else if let Element::Definition(id) = element
            && let Err(diagnostic) = self.zero(field, id)
        {
            sink.push(diagnostic.help("add a value 0 to the enum, or use its base type here"));
        }
    }

    /// The default of a field of a declared type without an explicit one.
    fn zero(&self, field: &FieldDecl, id: DefinitionId) -> Checked {
        let Some(found) = self.enumeration(id) else {
            return Ok(Default::Null);
        };
        let incomplete = found.values.is_empty() || self.is_broken(id);
        if found.bit_flags || incomplete || found.values.iter().any(|value| value.value == 0) {
            return Ok(Default::Integer(0));
        }
        let (name, definition) = (&field.name.text, &self.definitions[id.0 as usize]);
        let message = format!(
            "field `{name}` needs a default: enum `{}` has no 0",
            definition.name
        );
        let example = &found.values[0].name;
        Err(Box::new(
            Diagnostic::error(code::NO_ZERO_IN_ENUM, message)
                .at(&field.name.span, "would be 0 when absent")
                .and(&definition.span, "has no value 0")
                .help(format!(
                    "write `= {example}`{}, or add a value 0 to the enum",
                    or_null(field, " or `= null`")
                )),
        ))
    }

    fn explicit(
        &self,
        owner: DefinitionId,
        field: &FieldDecl,
        value: &Value,
        ty: FieldType,
    ) -> Checked {
        if value.kind == ValueKind::Invalid {
            return Ok(self.replacement(ty));
        }
        let null = value.kind == ValueKind::Name("null".to_owned());
        match ty {
            FieldType::Vector(_) if value.kind == ValueKind::EmptyVector => {
                Ok(Default::EmptyVector)
            }
            FieldType::Vector(_) if null => Ok(Default::Null),
            FieldType::Vector(_) => Err(unsupported(
                field,
                value,
                "a vector",
                "write `[]`, or remove the default",
            )),
            FieldType::Single(Element::Text) => match &value.kind {
                ValueKind::Text(text) => Ok(Default::Text(text.clone())),
                _ if null => Ok(Default::Null),
                _ => Err(mismatch(value, "a string", "put it into quotes")),
            },
            FieldType::Single(Element::Scalar(_)) if null => Ok(Default::Null),
            FieldType::Single(Element::Scalar(scalar)) if scalar.is_float() => {
                float(field, scalar, value)
            }
            FieldType::Single(Element::Scalar(scalar)) => self.integer(owner, field, scalar, value),
            FieldType::Single(Element::Definition(id)) => match self.enumeration(id) {
                Some(_) if null => Ok(Default::Null),
                Some(found) => self.enumerated(id, found, value),
                None => {
                    let what = match self.scope.kind(id) {
                        Kind::Union => "a union",
                        Kind::Struct => "a struct",
                        Kind::Enum | Kind::Table => "a table",
                    };
                    Err(unsupported(
                        field,
                        value,
                        what,
                        "remove it: the field is null when absent",
                    ))
                }
            },
        }
    }

    fn integer(
        &self,
        owner: DefinitionId,
        field: &FieldDecl,
        scalar: Scalar,
        value: &Value,
    ) -> Checked {
        let number = match &value.kind {
            ValueKind::Integer(number) => Some(*number),
            ValueKind::Name(name) if name == "true" => Some(1),
            ValueKind::Name(name) if name == "false" => Some(0),
            ValueKind::Name(name) => self.dotted(owner, name),
            ValueKind::Text(text) => text.trim().parse().ok(),
            _ => None,
        };
        let Some(number) = number else {
            let (what, help) = match scalar {
                Scalar::Bool => ("`true` or `false`", "write `true` or `false`".to_owned()),
                _ => (
                    "an integer",
                    format!(
                        "write an integer{}",
                        or_null(field, ", or `null` for an optional field")
                    ),
                ),
            };
            return Err(mismatch(value, what, &help));
        };
        in_range(scalar, number, value)
    }

    /// The number of `Enum.Value`, which is allowed as the default of an integer field.
    fn dotted(&self, owner: DefinitionId, name: &str) -> Option<i128> {
        let (path, value) = name.rsplit_once('.')?;
        let namespace = &self.declarations[owner.0 as usize].namespace;
        let file = self.definitions[owner.0 as usize].span.file;
        let found = self.enumeration(self.scope.find(file, namespace, path)?)?;
        number(found, value)
    }

    fn enumerated(&self, id: DefinitionId, found: &Enum, value: &Value) -> Checked {
        let definition = &self.definitions[id.0 as usize];
        let names: Vec<&str> = match &value.kind {
            ValueKind::Integer(wanted) => {
                let known = found.values.iter().any(|value| value.value == *wanted);
                if found.bit_flags {
                    return in_range(found.base, *wanted, value);
                }
                if known || self.is_broken(id) {
                    return Ok(Default::Integer(*wanted));
                }
                return Err(self.not_in_enum(id, found, value, &wanted.to_string()));
            }
            ValueKind::Name(name) => vec![name],
            ValueKind::Text(text) => text.split_whitespace().collect(),
            _ => {
                return Err(mismatch(
                    value,
                    "a value of the enum",
                    "use one of its values",
                ));
            }
        };
        if names.len() != 1 && !found.bit_flags && !self.is_broken(id) {
            let help = "use one value, or declare the enum with `bit_flags`";
            return Err(mismatch(
                value,
                &format!("one value of enum `{}`", definition.name),
                help,
            ));
        }
        let mut combined = 0;
        for name in names {
            // `Color.Red`, with or without the namespace.
            let last = match name.rsplit_once('.') {
                Some((path, last)) if definition.full_name().ends_with(path) => last,
                _ => name,
            };
            match number(found, last) {
                Some(number) => combined |= number,
                None if self.is_broken(id) => {}
                None => return Err(self.not_in_enum(id, found, value, name)),
            }
        }
        Ok(Default::Integer(combined))
    }

    fn not_in_enum(
        &self,
        id: DefinitionId,
        found: &Enum,
        value: &Value,
        shown: &str,
    ) -> Box<Diagnostic> {
        let definition = &self.definitions[id.0 as usize];
        let message = format!("`{shown}` is not a value of enum `{}`", definition.name);
        let names = found.values.iter().map(|value| value.name.as_str());
        let help = match crate::suggest::closest(shown, names.clone()) {
            Some(similar) => format!("did you mean `{similar}`?"),
            None => {
                let some: Vec<String> = names.take(6).map(|name| format!("`{name}`")).collect();
                let dots = if found.values.len() > some.len() {
                    ", .."
                } else {
                    ""
                };
                format!("its values are {}{dots}", some.join(", "))
            }
        };
        Box::new(
            Diagnostic::error(code::DEFAULT_NOT_IN_ENUM, message)
                .at(&value.span, "")
                .and(&definition.span, "of this enum")
                .help(help),
        )
    }
}

fn number(found: &Enum, name: &str) -> Option<i128> {
    found
        .values
        .iter()
        .find(|value| value.name == name)
        .map(|value| value.value)
}

/// The text, unless the field is part of the primary key, which cannot be optional.
fn or_null<'a>(field: &FieldDecl, text: &'a str) -> &'a str {
    match attribute::has(&field.attributes, "primary") {
        true => "",
        false => text,
    }
}

fn float(field: &FieldDecl, scalar: Scalar, value: &Value) -> Checked {
    let from_name = |name: &str| match name {
        "inf" | "+inf" | "infinity" | "+infinity" => Some(f64::INFINITY),
        "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
        "nan" | "+nan" | "-nan" => Some(f64::NAN),
        _ => None,
    };
    let number = match &value.kind {
        ValueKind::Integer(number) => Some(*number as f64),
        ValueKind::Float(number) => Some(*number),
        ValueKind::Name(name) => from_name(name),
        ValueKind::Text(text) => from_name(text).or_else(|| text.trim().parse().ok()),
        _ => None,
    };
    let Some(number) = number else {
        let help = format!(
            "write a number, `inf` or `nan`{}",
            or_null(field, ", or `null` for an optional field")
        );
        return Err(mismatch(value, "a number", &help));
    };
    if scalar == Scalar::F32 && number.is_finite() && (number as f32).is_infinite() {
        let message = format!("{} does not fit `float`", value.describe());
        return Err(Box::new(
            Diagnostic::error(code::DEFAULT_RANGE, message)
                .at(&value.span, "")
                .help("use `double`, or `inf`"),
        ));
    }
    Ok(Default::Float(number))
}

fn in_range(scalar: Scalar, number: i128, value: &Value) -> Checked {
    let (low, high) = scalar.integer_range().unwrap_or((0, 0));
    if (low..=high).contains(&number) {
        return Ok(Default::Integer(number));
    }
    let message = format!("{number} does not fit `{}`", scalar.name());
    Err(Box::new(
        Diagnostic::error(code::DEFAULT_RANGE, message)
            .at(&value.span, format!("not in {low} to {high}"))
            .help("use a value in that range, or a wider type"),
    ))
}

fn mismatch(value: &Value, expected: &str, help: &str) -> Box<Diagnostic> {
    let message = format!("expected {expected} as default, found {}", value.describe());
    Box::new(
        Diagnostic::error(code::DEFAULT_TYPE, message)
            .at(&value.span, format!("expected {expected}"))
            .help(help),
    )
}

fn unsupported(field: &FieldDecl, value: &Value, what: &str, help: &str) -> Box<Diagnostic> {
    let message = format!(
        "field `{}`, {what}, cannot have the default {}",
        field.name.text,
        value.describe()
    );
    Box::new(
        Diagnostic::error(code::DEFAULT_UNSUPPORTED, message)
            .at(&value.span, "")
            .help(help),
    )
}
