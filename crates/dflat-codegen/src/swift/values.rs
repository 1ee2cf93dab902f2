//! The types, defaults and readers of fields.

use dflat_model::Scalar;
use dflat_schema::{Default as FieldDefault, DefinitionId, Enum};

use super::{Scope, names};
use crate::plan::{FieldPlan, Item, Kind, Value, default_value};

/// The Swift type of a scalar.
pub(super) const fn scalar_type(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "Bool",
        Scalar::I8 => "Int8",
        Scalar::U8 => "UInt8",
        Scalar::I16 => "Int16",
        Scalar::U16 => "UInt16",
        Scalar::I32 => "Int32",
        Scalar::U32 => "UInt32",
        Scalar::I64 => "Int64",
        Scalar::U64 => "UInt64",
        Scalar::F32 => "Float32",
        Scalar::F64 => "Double",
    }
}

/// The case of `FieldKind` in Swift, as a schema writes the type.
pub(super) fn kind(scalar: Scalar) -> String {
    format!(".{}", scalar.name())
}

/// A number as Swift writes it.
fn number(scalar: Scalar, default: &FieldDefault) -> String {
    match default {
        FieldDefault::Integer(value) if scalar == Scalar::Bool => (*value != 0).to_string(),
        FieldDefault::Integer(value) if scalar.is_float() => format!("{value}.0"),
        FieldDefault::Integer(value) => value.to_string(),
        FieldDefault::Float(value) => float(*value),
        _ if scalar == Scalar::Bool => "false".to_owned(),
        _ if scalar.is_float() => "0.0".to_owned(),
        _ => "0".to_owned(),
    }
}

/// A float as Swift writes it.
pub(super) fn float(value: f64) -> String {
    if value.is_nan() {
        ".nan".to_owned()
    } else if value.is_infinite() {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("{sign}.infinity")
    } else {
        format!("{value:?}")
    }
}

/// A string as Swift writes it.
pub(super) fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => literal.extend(['\\', character]),
            ' '..='~' => literal.push(character),
            other if other.is_control() => {
                literal.push_str(&format!("\\u{{{:X}}}", other as u32));
            }
            other => literal.push(other),
        }
    }
    literal.push('"');
    literal
}

impl<'p> Scope<'p> {
    pub(super) fn enumeration_of(self, id: DefinitionId) -> Option<&'p Enum> {
        match self.plan.ty(id).kind {
            Kind::Enum(found) => Some(found),
            _ => None,
        }
    }

    /// The integer type of an enum.
    pub(super) fn enum_base(self, id: DefinitionId) -> Scalar {
        self.enumeration_of(id)
            .map_or(Scalar::I32, |found| found.base)
    }

    /// A value of an enum by its number; the enum's default for a number without a name.
    fn enum_value(self, id: DefinitionId, default: &FieldDefault) -> String {
        let Some(found) = self.enumeration_of(id) else {
            return String::new();
        };
        let path = self.other(id);
        let number = match default {
            FieldDefault::Integer(number) => Some(*number),
            _ => None,
        };
        let exact = found
            .values
            .iter()
            .find(|value| Some(value.value) == number);
        match (exact, found.bit_flags) {
            (Some(value), _) => format!("{path}.{}", names::escaped(&names::case(&value.name))),
            (None, true) => format!("{path}(rawValue: {})", number.unwrap_or_default()),
            (None, false) => match found.values.get(default_value(found)) {
                Some(value) => format!("{path}.{}", names::escaped(&names::case(&value.name))),
                None => path,
            },
        }
    }

    /// The code that makes an enum of its number.
    pub(super) fn enum_of(self, id: DefinitionId, raw: &str, default: &FieldDefault) -> String {
        let path = self.other(id);
        match self.enumeration_of(id) {
            Some(found) if found.bit_flags => format!("{path}(rawValue: {raw})"),
            _ => format!(
                "{path}(rawValue: {raw}) ?? {}",
                self.enum_value(id, default)
            ),
        }
    }

    pub(super) fn item_type(self, item: Item) -> String {
        match item {
            Item::Scalar(scalar) => scalar_type(scalar).to_owned(),
            Item::Text => "String".to_owned(),
            Item::Enum(id) | Item::Struct(id) | Item::Table(id) | Item::Union(id) => self.other(id),
        }
    }

    /// The type of a field.
    pub(super) fn field_type(self, field: &FieldPlan<'_>) -> String {
        let plain = self.plain_type(field);
        match self.is_optional(field) {
            true => format!("{plain}?"),
            false => plain,
        }
    }

    /// The type of a field that has a value.
    pub(super) fn plain_type(self, field: &FieldPlan<'_>) -> String {
        match field.value {
            Value::Scalar { scalar, .. } => scalar_type(scalar).to_owned(),
            Value::Time { .. } => "Int64".to_owned(),
            Value::Text { .. } => "String".to_owned(),
            Value::Enum { id, .. }
            | Value::Struct(id)
            | Value::Table { id, .. }
            | Value::Union(id) => self.other(id),
            Value::Vector(item) => format!("[{}]", self.item_type(item)),
        }
    }

    pub(super) fn is_optional(self, field: &FieldPlan<'_>) -> bool {
        match field.value {
            Value::Scalar { optional, .. }
            | Value::Enum { optional, .. }
            | Value::Time { optional, .. } => optional && !field.source.storage.primary,
            Value::Text { default } => default.is_none() && !field.source.storage.primary,
            Value::Struct(_) | Value::Table { .. } | Value::Union(_) => true,
            Value::Vector(_) => false,
        }
    }

    /// The default of a field.
    pub(super) fn default(self, field: &FieldPlan<'_>) -> String {
        if self.is_optional(field) {
            return "nil".to_owned();
        }
        let default = &field.source.default;
        match field.value {
            Value::Scalar { scalar, .. } => number(scalar, default),
            Value::Time { .. } => number(Scalar::I64, default),
            Value::Enum { id, .. } => self.enum_value(id, default),
            Value::Text { default } => string(default.unwrap_or_default()),
            Value::Vector(_) => "[]".to_owned(),
            Value::Struct(_) | Value::Table { .. } | Value::Union(_) => "nil".to_owned(),
        }
    }

    /// The stored number of an absent enum or scalar.
    pub(super) fn stored_default(self, field: &FieldPlan<'_>) -> String {
        match field.value {
            Value::Enum { id, .. } => number(self.enum_base(id), &field.source.default),
            Value::Scalar { scalar, .. } => number(scalar, &field.source.default),
            _ => number(Scalar::I64, &field.source.default),
        }
    }

    /// The code that reads a field of the table `place`.
    pub(super) fn read(self, field: &FieldPlan<'_>, place: &str) -> String {
        let at = field.source.voffset;
        let default = &field.source.default;
        let optional = self.is_optional(field);
        match field.value {
            Value::Scalar { scalar, .. } => self.read_scalar(field, place, scalar),
            Value::Time { .. } => self.read_scalar(field, place, Scalar::I64),
            Value::Enum { id, .. } => {
                let ty = scalar_type(self.enum_base(id));
                if optional {
                    // A number without a name reads as no value, as in the engine.
                    let path = self.other(id);
                    let is_flags = self.enumeration_of(id).is_some_and(|found| found.bit_flags);
                    let map = if is_flags { "map" } else { "flatMap" };
                    return format!(
                        "{place}.optional({at}, as: {ty}.self).{map} {{ {path}(rawValue: $0) }}"
                    );
                }
                let absent = self.stored_default(field);
                self.enum_of(
                    id,
                    &format!("{place}.number({at}, {ty}({absent}))"),
                    default,
                )
            }
            Value::Text { default } => match (optional, default) {
                (true, _) => format!("{place}.string({at})"),
                (false, default) => {
                    let absent = string(default.unwrap_or_default());
                    format!("{place}.string({at}) ?? {absent}")
                }
            },
            Value::Struct(id) => {
                let path = self.other(id);
                format!("{place}.structure({at}).map {{ {path}($0) }}")
            }
            Value::Table { id, .. } => {
                format!("{place}.table({at}).map {{ {}($0) }}", self.other(id))
            }
            Value::Union(id) => format!("{}({place}, at: {at})", self.other(id)),
            Value::Vector(item) => self.read_vector(item, at, place),
        }
    }

    fn read_scalar(self, field: &FieldPlan<'_>, place: &str, scalar: Scalar) -> String {
        let at = field.source.voffset;
        let ty = scalar_type(scalar);
        let absent = number(scalar, &field.source.default);
        match (self.is_optional(field), scalar) {
            (true, Scalar::Bool) => format!("{place}.optionalBool({at})"),
            (true, _) => format!("{place}.optional({at}, as: {ty}.self)"),
            (false, Scalar::Bool) => format!("{place}.bool({at}, {absent})"),
            (false, _) if absent.contains(".nan") || absent.contains(".inf") => {
                format!("{place}.number({at}, {absent} as {ty})")
            }
            (false, _) => format!("{place}.number({at}, {ty}({absent}))"),
        }
    }

    fn read_vector(self, item: Item, at: u16, place: &str) -> String {
        match item {
            Item::Scalar(Scalar::Bool) => format!("{place}.bools({at})"),
            Item::Scalar(scalar) => {
                format!("{place}.numbers({at}, as: {}.self)", scalar_type(scalar))
            }
            Item::Text => format!("{place}.strings({at})"),
            Item::Enum(id) => {
                let ty = scalar_type(self.enum_base(id));
                let made = self.enum_of(id, "$0", &FieldDefault::Null);
                format!("{place}.numbers({at}, as: {ty}.self).map {{ {made} }}")
            }
            Item::Struct(id) => {
                let size = match &self.plan.ty(id).kind {
                    Kind::Struct(plan) => plan.size,
                    _ => 0,
                };
                let path = self.other(id);
                format!("{place}.structures({at}, size: {size}) {{ {path}($0) }}")
            }
            Item::Table(id) => format!("{place}.tables({at}) {{ {}($0) }}", self.other(id)),
            Item::Union(id) => {
                format!(
                    "{place}.members({at}) {{ {}(code: $0, $1) }}",
                    self.other(id)
                )
            }
        }
    }
}
