//! Comparisons and computations.

use dflat_model::{Arithmetic, Comparison, Domain, Expression, Predicate, Scalar, TextTest, Value};

use super::constant::Constant;
use super::place::{Place, Type, Typed};
use super::{Meaning, Resolver};
use crate::error::{Checked, ConditionErrorKind, Problem};
use crate::syntax::{Node, Span};

impl<'a> Resolver<'a> {
    pub(super) fn comparison(
        self,
        node: &'a Node,
        left: &'a Node,
        operator: Comparison,
        right: &'a Node,
    ) -> Checked<Predicate> {
        if left.is_value {
            let field = self.meaning(right)?;
            return self.with_constant(right, field, exchanged(operator), left);
        }
        let field = self.meaning(left)?;
        if right.is_value {
            return self.with_constant(left, field, operator, right);
        }
        match (field, self.meaning(right)?) {
            (Meaning::Place(Place::Value(a)), Meaning::Place(Place::Value(b))) => {
                self.same_type(&a, &b, node.span)?;
                Ok(compare(a.expression, operator, b.expression))
            }
            // A bare name that is no field is the value of an enum.
            (Meaning::Place(Place::Value(a)), Meaning::Name(name, problem)) => {
                self.with_name(a, operator, name, problem)
            }
            (Meaning::Name(name, problem), Meaning::Place(Place::Value(b))) => {
                self.with_name(b, exchanged(operator), name, problem)
            }
            (Meaning::Name(_, problem), _) | (_, Meaning::Name(_, problem)) => Err(problem),
            (Meaning::Place(Place::Value(_)), other) => Err(self.no_value(right, other)),
            (other, _) => Err(self.no_value(left, other)),
        }
    }

    fn with_constant(
        self,
        field_node: &'a Node,
        field: Meaning<'a>,
        operator: Comparison,
        constant: &'a Node,
    ) -> Checked<Predicate> {
        match field {
            Meaning::Place(Place::Value(typed)) => self.compared(typed, operator, constant),
            Meaning::Place(Place::IgnoreCase(operand)) if operator == Comparison::Equal => {
                self.text_test(operand, TextTest::Equal, constant, true)
            }
            Meaning::Place(Place::IgnoreCase(_)) => {
                let message = "a string without case is compared by `==` only";
                let kind = ConditionErrorKind::WrongType;
                Err(Problem::new(kind, field_node.span, message))
            }
            other => Err(self.no_value(field_node, other)),
        }
    }

    /// Compares a value of the object with a constant.
    pub(super) fn compared(
        self,
        typed: Typed,
        operator: Comparison,
        constant: &'a Node,
    ) -> Checked<Predicate> {
        let value = self.fit(&self.constant(constant)?, typed.ty, constant.span)?;
        Ok(against(typed.expression, operator, value))
    }

    fn with_name(
        self,
        typed: Typed,
        operator: Comparison,
        name: &str,
        problem: Box<Problem>,
    ) -> Checked<Predicate> {
        let Type::Enum(id) = typed.ty else {
            return Err(problem);
        };
        let value = self.named_value(id, None, name, problem.span)?;
        Ok(against(typed.expression, operator, Some(value)))
    }

    /// Whether a value is in a list.
    pub(super) fn among(self, operand: Typed, values: &'a Node) -> Checked<Predicate> {
        let values = self.list(values, operand.ty)?;
        let or_null = values.contains(&None);
        let among = Predicate::In {
            operand: operand.expression.clone(),
            values: values.into_iter().flatten().collect(),
        };
        Ok(match or_null {
            true => among.or(Predicate::IsNull(operand.expression)),
            false => among,
        })
    }

    /// A test of a string with a pattern.
    pub(super) fn text_test(
        self,
        operand: Expression,
        test: TextTest,
        pattern: &'a Node,
        ignore_case: bool,
    ) -> Checked<Predicate> {
        let found = self.fit(&self.constant(pattern)?, Type::Text, pattern.span)?;
        let Some(Value::Text(pattern)) = found else {
            let message = "the pattern is missing";
            let kind = ConditionErrorKind::WrongType;
            return Err(Problem::new(kind, pattern.span, message));
        };
        Ok(Predicate::Text {
            operand,
            test,
            pattern,
            ignore_case,
        })
    }

    fn same_type(self, a: &Typed, b: &Typed, span: Span) -> Checked<()> {
        let is_same = match (a.ty, b.ty) {
            (Type::Number(a), Type::Number(b)) => domain(a).0 == domain(b).0,
            (a, b) => a == b,
        };
        if is_same {
            return Ok(());
        }
        let message = format!(
            "`{}` is {}, and `{}` is {}",
            a.expression,
            self.types.describe(a.ty),
            b.expression,
            self.types.describe(b.ty)
        );
        let help = match (a.ty, b.ty) {
            (Type::Number(_), Type::Number(_)) => {
                "signed, unsigned and floating-point numbers are not mixed"
            }
            _ => "both sides have the same type",
        };
        let problem = Problem::new(ConditionErrorKind::WrongType, span, message);
        Err(problem.with_help(Some(help.to_owned())))
    }

    pub(super) fn arithmetic(
        self,
        left: &'a Node,
        operator: Arithmetic,
        right: &'a Node,
    ) -> Checked<Typed> {
        let (left_value, right_value);
        let (domain, wide) = if left.is_value {
            let typed = self.value(right)?;
            let (domain, wide) = self.number_of(&typed, right.span)?;
            left_value = self.literal(left, wide)?;
            right_value = typed.expression;
            (domain, wide)
        } else {
            let typed = self.value(left)?;
            let (domain, wide) = self.number_of(&typed, left.span)?;
            right_value = if right.is_value {
                self.literal(right, wide)?
            } else {
                let other = self.value(right)?;
                self.number_of(&other, right.span)?;
                self.same_type(&typed, &other, left.span.to(right.span))?;
                other.expression
            };
            left_value = typed.expression;
            (domain, wide)
        };
        let expression = Expression::Arithmetic {
            operator,
            domain,
            left: Box::new(left_value),
            right: Box::new(right_value),
        };
        let ty = Type::Number(wide);
        Ok(Typed { expression, ty })
    }

    fn number_of(self, typed: &Typed, span: Span) -> Checked<(Domain, Scalar)> {
        match typed.ty {
            Type::Number(scalar) => Ok(domain(scalar)),
            other => {
                let message = format!(
                    "computations are for numbers, and `{}` is {}",
                    self.shown(span),
                    self.types.describe(other)
                );
                Err(Problem::new(ConditionErrorKind::WrongType, span, message))
            }
        }
    }

    fn literal(self, node: &'a Node, wide: Scalar) -> Checked<Expression> {
        let constant: Constant<'a> = self.constant(node)?;
        let value = self.fit(&constant, Type::Number(wide), node.span)?;
        Ok(Expression::Literal(value.unwrap_or(Value::Null)))
    }
}

/// The comparison of a value with a constant; `None` is a missing value.
pub(super) fn against(left: Expression, operator: Comparison, value: Option<Value>) -> Predicate {
    match (value, operator) {
        (Some(value), _) => compare(left, operator, Expression::Literal(value)),
        (None, Comparison::Equal) => Predicate::IsNull(left),
        (None, Comparison::NotEqual) => Predicate::IsNull(left).negate(),
        (None, _) => compare(left, operator, Expression::Literal(Value::Null)),
    }
}

pub(super) const fn compare(
    left: Expression,
    operator: Comparison,
    right: Expression,
) -> Predicate {
    Predicate::Compare {
        left,
        operator,
        right,
    }
}

/// The type of numbers in which a computation with a field is done, and that of its result.
const fn domain(scalar: Scalar) -> (Domain, Scalar) {
    match scalar {
        Scalar::Bool | Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => {
            (Domain::Unsigned, Scalar::U64)
        }
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => (Domain::Signed, Scalar::I64),
        Scalar::F32 | Scalar::F64 => (Domain::Float, Scalar::F64),
    }
}

/// The operator for exchanged sides.
const fn exchanged(operator: Comparison) -> Comparison {
    match operator {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        Comparison::Equal | Comparison::NotEqual => operator,
    }
}
