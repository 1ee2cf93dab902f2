//! Values of conditions: literals, enum values and placeholders.

use dflat_model::{Arithmetic, EnumLayout, Scalar, TypeDescriptor, TypeId, Value};

use super::Resolver;
use super::place::Type;
use crate::error::{Checked, ConditionErrorKind, Problem};
use crate::nearest::{find, listed, same, suggestion};
use crate::parameters::Parameter;
use crate::syntax::{Literal, Node, NodeKind, Span};

/// A value whose type is not known yet.
#[derive(Clone, Debug)]
pub(super) enum Constant<'n> {
    Integer(i128, Option<&'n str>),
    Float(f64, Option<&'n str>),
    Text(&'n str),
    Boolean(bool),
    /// The value of an enum, perhaps after the name of its type.
    Named(Option<&'n str>, &'n str),
    Flags(&'n [Node]),
    Parameter(&'n Parameter),
    List(&'n [Node]),
}

impl<'a> Resolver<'a> {
    /// The value of a node, whose kind is that of a value or a bare name.
    pub(super) fn constant(self, node: &'a Node) -> Checked<Constant<'a>> {
        Ok(match &node.kind {
            NodeKind::Group(inner) => self.constant(inner)?,
            NodeKind::Literal(Literal::Integer(value, suffix)) => {
                Constant::Integer(*value, suffix.as_deref())
            }
            NodeKind::Literal(Literal::Float(value, suffix)) => {
                Constant::Float(*value, suffix.as_deref())
            }
            NodeKind::Literal(Literal::Text(text)) => Constant::Text(text),
            NodeKind::Boolean(value) => Constant::Boolean(*value),
            NodeKind::Name(name) => Constant::Named(None, name),
            NodeKind::Path(names) => path(names),
            NodeKind::List(values) => Constant::List(values),
            NodeKind::Union(flags) => Constant::Flags(flags),
            NodeKind::Placeholder(placeholder) => match self.parameters.get(placeholder) {
                Some(value) => Constant::Parameter(value),
                None => {
                    let message = format!("`{}` has no value", self.shown(node.span));
                    let kind = ConditionErrorKind::MissingParameter;
                    return Err(Problem::new(kind, node.span, message));
                }
            },
            NodeKind::Negative(inner) => match self.constant(inner)? {
                Constant::Integer(value, suffix) => Constant::Integer(-value, suffix),
                Constant::Float(value, suffix) => Constant::Float(-value, suffix),
                _ => return Err(self.wrong_value(node, "`-` is for numbers")),
            },
            NodeKind::Not(inner) => match self.constant(inner)? {
                Constant::Boolean(value) => Constant::Boolean(!value),
                _ => return Err(self.wrong_value(node, "`!` is for conditions")),
            },
            NodeKind::Arithmetic {
                left,
                operator,
                right,
                ..
            } => self.computed(node, left, *operator, right)?,
            _ => return Err(self.wrong_value(node, "a value is needed here")),
        })
    }

    fn computed(
        self,
        node: &'a Node,
        left: &'a Node,
        operator: Arithmetic,
        right: &'a Node,
    ) -> Checked<Constant<'a>> {
        match (self.constant(left)?, self.constant(right)?) {
            (Constant::Integer(a, suffix), Constant::Integer(b, other)) => {
                let value = match operator {
                    Arithmetic::Add => a.checked_add(b),
                    Arithmetic::Subtract => a.checked_sub(b),
                    Arithmetic::Multiply => a.checked_mul(b),
                    Arithmetic::Divide => a.checked_div(b),
                    Arithmetic::Remainder => a.checked_rem(b),
                    Arithmetic::BitAnd => Some(a & b),
                };
                value
                    .map(|value| Constant::Integer(value, suffix.or(other)))
                    .ok_or_else(|| {
                        let message = format!("`{}` has no result", self.shown(node.span));
                        Problem::new(ConditionErrorKind::OutOfRange, node.span, message)
                    })
            }
            (Constant::Float(a, suffix), Constant::Float(b, other)) => {
                let value = match operator {
                    Arithmetic::Add => a + b,
                    Arithmetic::Subtract => a - b,
                    Arithmetic::Multiply => a * b,
                    Arithmetic::Divide => a / b,
                    Arithmetic::Remainder => a % b,
                    Arithmetic::BitAnd => f64::NAN,
                };
                Ok(Constant::Float(value, suffix.or(other)))
            }
            (Constant::Integer(..), Constant::Float(..))
            | (Constant::Float(..), Constant::Integer(..)) => {
                Err(self.wrong_value(node, "an integer and a float are computed with"))
            }
            _ => Err(self.wrong_value(node, "computations are for numbers")),
        }
    }

    fn wrong_value(self, node: &Node, message: &str) -> Box<Problem> {
        Problem::new(ConditionErrorKind::WrongType, node.span, message)
    }

    /// Converts a value to the type of a field. `None` is a missing value, from a placeholder.
    pub(super) fn fit(self, of: &Constant<'a>, ty: Type, span: Span) -> Checked<Option<Value>> {
        match (of, ty) {
            (Constant::Parameter(Parameter::Value(value)), _) => self.bound(value, ty, span),
            (Constant::Text(text), Type::Text) => Ok(Some(Value::text(text))),
            (Constant::Boolean(value), Type::Bool) => Ok(Some(Value::Int(i64::from(*value)))),
            (Constant::Integer(value, suffix), Type::Number(scalar)) => {
                self.check_suffix(*suffix, scalar, span)?;
                self.number(*value, scalar, span).map(Some)
            }
            (Constant::Float(value, suffix), Type::Number(scalar)) if scalar.is_float() => {
                self.check_suffix(*suffix, scalar, span)?;
                self.float(*value, scalar, span).map(Some)
            }
            (Constant::Named(of, name), Type::Enum(id)) => {
                self.named_value(id, *of, name, span).map(Some)
            }
            (Constant::Flags(flags), Type::Enum(id)) => self.flags(flags, id, span).map(Some),
            _ => Err(self.misfit(of, ty, span)),
        }
    }

    fn misfit(self, of: &Constant<'_>, ty: Type, span: Span) -> Box<Problem> {
        let given = match of {
            Constant::Integer(..) => "an integer",
            Constant::Float(..) => "a float",
            Constant::Text(_) => "a string",
            Constant::Boolean(_) => "a boolean",
            Constant::Named(..) => "no value of this type",
            Constant::Flags(_) => "a set of flags",
            Constant::Parameter(Parameter::List(_)) | Constant::List(_) => "a list",
            Constant::Parameter(Parameter::Value(_)) => "a value of another type",
        };
        let shown = self.shown(span);
        let expected = match ty {
            Type::Text => "a string in double quotes".to_owned(),
            Type::Bool => "`true` or `false`".to_owned(),
            Type::Number(scalar) => format!("a number of type `{}`", scalar.name()),
            Type::Enum(id) => format!("a value of `{}`", self.types.short_name(id)),
        };
        let help = match (ty, of) {
            (Type::Enum(id), _) => self.enum_help(id),
            (Type::Number(_) | Type::Bool, Constant::Named(None, _)) => {
                Some("a field is on one side of an operator".to_owned())
            }
            _ => None,
        };
        let message = format!("expected {expected}, and `{shown}` is {given}");
        Problem::new(ConditionErrorKind::WrongType, span, message).with_help(help)
    }

    fn check_suffix(self, suffix: Option<&str>, scalar: Scalar, span: Span) -> Checked<()> {
        match suffix {
            Some(suffix) if suffix != rust_name(scalar) => {
                let message = format!(
                    "`{}` has the type `{suffix}`, and the field is of type `{}`",
                    self.shown(span),
                    scalar.name()
                );
                let help = "leave out the type after the number".to_owned();
                let problem = Problem::new(ConditionErrorKind::WrongType, span, message);
                Err(problem.with_help(Some(help)))
            }
            _ => Ok(()),
        }
    }

    fn number(self, value: i128, scalar: Scalar, span: Span) -> Checked<Value> {
        let Some((least, most)) = scalar.integer_range() else {
            return self.float(value as f64, scalar, span);
        };
        let fits = (least..=most).contains(&value);
        match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) if fits => Ok(Value::Int(value)),
            (_, Ok(value)) if fits => Ok(Value::UInt(value)),
            _ => {
                let name = scalar.name();
                let message = format!("{value} is out of the range of `{name}`");
                let help = format!("`{name}` is from {least} to {most}");
                let problem = Problem::new(ConditionErrorKind::OutOfRange, span, message);
                Err(problem.with_help(Some(help)))
            }
        }
    }

    fn float(self, value: f64, scalar: Scalar, span: Span) -> Checked<Value> {
        let fitted = match scalar {
            Scalar::F32 => f64::from(value as f32),
            _ => value,
        };
        if fitted.is_infinite() && value.is_finite() {
            let message = format!("{value} is out of the range of `{}`", scalar.name());
            return Err(Problem::new(ConditionErrorKind::OutOfRange, span, message));
        }
        Ok(match fitted.is_nan() {
            true => Value::Null,
            false => Value::Float(fitted),
        })
    }

    /// The value of a placeholder.
    fn bound(self, value: &'a Value, ty: Type, span: Span) -> Checked<Option<Value>> {
        let integer = match value {
            Value::Int(value) => Some(i128::from(*value)),
            Value::UInt(value) => Some(i128::from(*value)),
            _ => None,
        };
        let fitted = match (value, ty) {
            (Value::Null, _) => return Ok(None),
            (Value::Text(text), Type::Text) => Value::text(text),
            (Value::Text(name), Type::Enum(id)) => self.named_value(id, None, name, span)?,
            (Value::Float(value), Type::Number(scalar)) if scalar.is_float() => {
                self.float(*value, scalar, span)?
            }
            (_, Type::Bool) => match integer {
                Some(value @ (0 | 1)) => Value::Int(i64::from(value == 1)),
                _ => return Err(self.misbound(value, ty, span)),
            },
            (_, Type::Number(scalar)) => match integer {
                Some(value) => self.number(value, scalar, span)?,
                None => return Err(self.misbound(value, ty, span)),
            },
            (_, Type::Enum(id)) => match (integer, self.layout(id)) {
                (Some(value), Some(layout)) => self.number(value, layout.base, span)?,
                _ => return Err(self.misbound(value, ty, span)),
            },
            (_, Type::Text) => return Err(self.misbound(value, ty, span)),
        };
        Ok(Some(fitted))
    }

    fn misbound(self, value: &Value, ty: Type, span: Span) -> Box<Problem> {
        let given = match value {
            Value::Null => "missing",
            Value::Int(_) | Value::UInt(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Text(_) => "a string",
        };
        let message = format!(
            "the value of `{}` is {given}, and the field is {}",
            self.shown(span),
            self.types.describe(ty)
        );
        Problem::new(ConditionErrorKind::WrongType, span, message)
    }

    pub(super) fn layout(self, id: TypeId) -> Option<&'a EnumLayout> {
        match self.types.get(id)? {
            TypeDescriptor::Enum(layout) => Some(layout),
            _ => None,
        }
    }

    fn enum_names(self, id: TypeId) -> Vec<&'a str> {
        let values = self.layout(id).map(|layout| layout.values.iter());
        values
            .into_iter()
            .flatten()
            .map(|value| &*value.name)
            .collect()
    }

    fn enum_help(self, id: TypeId) -> Option<String> {
        let what = format!("the values of `{}` are", self.types.short_name(id));
        listed(&what, &self.enum_names(id))
    }

    /// The value of an enum by its name, perhaps after the name of its type.
    pub(super) fn named_value(
        self,
        id: TypeId,
        of: Option<&str>,
        name: &str,
        span: Span,
    ) -> Checked<Value> {
        let own = self.types.short_name(id);
        if of.is_some_and(|of| !same(of, own)) {
            let message = format!("`{}` is no value of `{own}`", self.shown(span));
            let problem = Problem::new(ConditionErrorKind::WrongType, span, message);
            return Err(problem.with_help(self.enum_help(id)));
        }
        let values = self.layout(id).map(|layout| layout.values.iter());
        let found = values.and_then(|values| find(values, |value| &value.name, name));
        found.map(|found| found.value.clone()).ok_or_else(|| {
            let shown = self.shown(span);
            let message = format!("`{own}` has no value `{shown}`");
            let names = self.enum_names(id);
            let near = suggestion(name, "", &names).filter(|help| help.starts_with("did"));
            let help = match (near, self.enum_help(id)) {
                (Some(near), Some(all)) => Some(format!("{near} {all}")),
                (near, all) => near.or(all),
            };
            Problem::new(ConditionErrorKind::UnknownName, span, message).with_help(help)
        })
    }

    fn flags(self, flags: &'a [Node], id: TypeId, span: Span) -> Checked<Value> {
        if !self.layout(id).is_some_and(|layout| layout.bit_flags) {
            let message = "only the values of `bit_flags` are joined by `|`";
            return Err(Problem::new(ConditionErrorKind::WrongType, span, message));
        }
        let mut bits = 0_u64;
        for flag in flags {
            let value = self.fit(&self.constant(flag)?, Type::Enum(id), flag.span)?;
            bits |= match value {
                Some(Value::Int(value)) => value as u64,
                Some(Value::UInt(value)) => value,
                _ => 0,
            };
        }
        Ok(i64::try_from(bits).map_or(Value::UInt(bits), Value::Int))
    }

    /// The values of a list.
    pub(super) fn list(self, node: &'a Node, ty: Type) -> Checked<Vec<Option<Value>>> {
        match self.constant(node)? {
            Constant::List(values) => {
                let values = values.iter();
                values
                    .map(|value| self.fit(&self.constant(value)?, ty, value.span))
                    .collect()
            }
            Constant::Parameter(Parameter::List(values)) => {
                let values = values.iter();
                values
                    .map(|value| self.bound(value, ty, node.span))
                    .collect()
            }
            _ => {
                let message = format!(
                    "expected a list, and `{}` is one value",
                    self.shown(node.span)
                );
                let help = "a list is in brackets, as in `[1, 2]`".to_owned();
                let problem = Problem::new(ConditionErrorKind::WrongType, node.span, message);
                Err(problem.with_help(Some(help)))
            }
        }
    }
}

/// The name of a number's type in Rust.
const fn rust_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::I8 => "i8",
        Scalar::U8 => "u8",
        Scalar::I16 => "i16",
        Scalar::U16 => "u16",
        Scalar::I32 => "i32",
        Scalar::U32 => "u32",
        Scalar::I64 => "i64",
        Scalar::U64 => "u64",
        Scalar::F32 => "f32",
        Scalar::F64 => "f64",
    }
}

/// A constant of Rust such as `i32::MAX`, or the value of an enum.
fn path(names: &[String]) -> Constant<'_> {
    let (of, name) = match names {
        [.., of, name] => (Some(of.as_str()), name.as_str()),
        [name] => (None, name.as_str()),
        [] => (None, ""),
    };
    const INTEGERS: [Scalar; 8] = [
        Scalar::I8,
        Scalar::U8,
        Scalar::I16,
        Scalar::U16,
        Scalar::I32,
        Scalar::U32,
        Scalar::I64,
        Scalar::U64,
    ];
    let integer = INTEGERS
        .into_iter()
        .find(|scalar| of == Some(rust_name(*scalar)));
    let range = integer.and_then(Scalar::integer_range);
    match (range, of, name) {
        (Some((least, _)), _, "MIN") => Constant::Integer(least, of),
        (Some((_, most)), _, "MAX") => Constant::Integer(most, of),
        (None, Some("f32" | "f64"), "INFINITY") => Constant::Float(f64::INFINITY, of),
        (None, Some("f32" | "f64"), "NEG_INFINITY") => Constant::Float(f64::NEG_INFINITY, of),
        (None, Some("f32" | "f64"), "NAN") => Constant::Float(f64::NAN, of),
        (None, Some("f32"), "MAX") => Constant::Float(f32::MAX.into(), of),
        (None, Some("f32"), "MIN") => Constant::Float(f32::MIN.into(), of),
        (None, Some("f64"), "MAX") => Constant::Float(f64::MAX, of),
        (None, Some("f64"), "MIN") => Constant::Float(f64::MIN, of),
        _ => Constant::Named(of, name),
    }
}
