//! Literals, and the values of absent fields.

use dflat_model::Scalar;
use dflat_schema::{Default as FieldDefault, DefinitionId};

use super::layout::{Expr, atom, call};
use super::text::Lint;
use super::{NONE, Scope, literals};
use crate::plan::{FieldPlan, Kind, Value, default_value};

/// The lint on numbers such as 3.14.
pub(super) const NEAR_CONSTANT: Lint = Lint {
    lint: "clippy::approx_constant",
    reason: "a default of the schema",
};

impl Scope<'_> {
    /// The result of an accessor, and the value of an owned field, if the field is absent. For a
    /// string, only the result of an accessor.
    pub(super) fn default(self, field: &FieldPlan<'_>) -> String {
        match field.value {
            Value::Scalar {
                scalar,
                optional: false,
            } => scalar_literal(scalar, &field.source.default),
            Value::Enum {
                id,
                optional: false,
            } => self.enum_default(id, &field.source.default),
            Value::Time {
                unit,
                optional: false,
            } => {
                let count = scalar_literal(Scalar::I64, &field.source.default);
                format!("{}::new({count})", self.time_type(unit))
            }
            Value::Text {
                default: Some(default),
            } => format!("{default:?}"),
            Value::Vector(_) => format!("{}::Vec::new()", self.codegen()),
            _ => NONE.to_owned(),
        }
    }

    /// The owned field's default.
    pub(super) fn owned_default(self, field: &FieldPlan<'_>) -> Expr {
        let string = format!("{}::String", self.codegen());
        match field.value {
            Value::Text { default: Some("") } => call(format!("{string}::new"), []),
            Value::Text {
                default: Some(text),
            } => call(format!("{string}::from"), [atom(format!("{text:?}"))]),
            _ => atom(self.default(field)),
        }
    }

    /// Whether the default equals that of the owned field's type, so that `Default` can be derived.
    pub(super) fn is_plain_default(self, field: &FieldPlan<'_>) -> bool {
        match (field.value, &field.source.default) {
            (
                Value::Scalar {
                    optional: false, ..
                }
                | Value::Time {
                    optional: false, ..
                },
                FieldDefault::Integer(value),
            ) => *value == 0,
            (
                Value::Scalar {
                    optional: false, ..
                },
                FieldDefault::Float(value),
            ) => value.to_bits() == 0,
            (
                Value::Enum {
                    id,
                    optional: false,
                },
                FieldDefault::Integer(value),
            ) => self.plan().enumeration(id).is_some_and(|found| {
                let first = found.values.get(default_value(found));
                let plain = if found.bit_flags {
                    0
                } else {
                    first.map_or(0, |v| v.value)
                };
                plain == *value
            }),
            (
                Value::Text {
                    default: Some(text),
                },
                _,
            ) => text.is_empty(),
            _ => true,
        }
    }

    /// A value of an enum, by its number.
    fn enum_default(self, id: DefinitionId, default: &FieldDefault) -> String {
        let path = self.path(id, "");
        let FieldDefault::Integer(number) = default else {
            return path;
        };
        let Kind::Enum(found) = self.plan().ty(id).kind else {
            return path;
        };
        let members = self.printer.names.members(id);
        let position = found.values.iter().position(|value| value.value == *number);
        if found.bit_flags {
            return match position.and_then(|position| members.get(position)) {
                Some(member) => format!("{path}::{}", member.constant),
                None => format!("{path}::from_bits({})", literals::integer(number)),
            };
        }
        let position = position.unwrap_or_else(|| default_value(found));
        match members.get(position) {
            Some(member) => format!("{path}::{}", member.variant),
            None => path,
        }
    }

    /// The value of an absent field as plain data, which predicates use.
    pub(super) fn plain_default(self, field: &FieldPlan<'_>) -> Expr {
        let value = format!("{}::Value", self.codegen());
        let null = || atom(format!("{value}::Null"));
        let integer = |number: i128| match i64::try_from(number) {
            Ok(number) => atom(format!("{value}::Int({})", literals::integer(number))),
            Err(_) => atom(format!("{value}::UInt({})", literals::integer(number))),
        };
        match (field.value, &field.source.default) {
            (
                Value::Text {
                    default: Some(text),
                },
                _,
            ) => {
                let text = atom(format!("{text:?}"));
                let borrowed = call(format!("{}::Cow::Borrowed", self.codegen()), [text]);
                call(format!("{value}::Text"), [borrowed])
            }
            (
                Value::Scalar { .. } | Value::Enum { .. } | Value::Time { .. },
                FieldDefault::Integer(number),
            ) => integer(*number),
            (Value::Scalar { scalar, .. }, FieldDefault::Float(number)) if !number.is_nan() => {
                let widened = match scalar {
                    Scalar::F32 => f64::from(*number as f32),
                    _ => *number,
                };
                atom(format!(
                    "{value}::Float({})",
                    literals::float(Scalar::F64, widened)
                ))
            }
            _ => null(),
        }
    }

    /// The lint to allow for the literals of a field.
    pub(super) fn literal_lints(self, field: &FieldPlan<'_>) -> Option<Lint> {
        match field.source.default {
            FieldDefault::Float(value) if is_near_constant(value) => Some(NEAR_CONSTANT),
            _ => None,
        }
    }
}

fn scalar_literal(scalar: Scalar, default: &FieldDefault) -> String {
    match default {
        FieldDefault::Integer(value) if scalar == Scalar::Bool => (*value != 0).to_string(),
        FieldDefault::Integer(value) if scalar.is_float() => literals::float(scalar, *value as f64),
        FieldDefault::Integer(value) => literals::integer(value),
        FieldDefault::Float(value) => literals::float(scalar, *value),
        _ => "0".to_owned(),
    }
}

/// Whether clippy would suggest a constant of the standard library.
pub(super) fn is_near_constant(value: f64) -> bool {
    use std::f64::consts as c;
    let constants = [
        c::E,
        c::FRAC_1_PI,
        c::FRAC_1_SQRT_2,
        c::FRAC_2_PI,
        c::FRAC_2_SQRT_PI,
        c::FRAC_PI_2,
        c::FRAC_PI_3,
        c::FRAC_PI_4,
        c::FRAC_PI_6,
        c::FRAC_PI_8,
        c::LN_2,
        c::LN_10,
        c::LOG10_2,
        c::LOG10_E,
        c::LOG2_10,
        c::LOG2_E,
        c::PI,
        c::SQRT_2,
        c::TAU,
        1.618_033_988_749_895,
    ];
    constants
        .iter()
        .any(|constant| (value.abs() - constant).abs() < 0.01)
}
