//! Nested fields and methods.

use dflat_model::{
    Arithmetic, Comparison, Domain, Element, Expression, MemberLayout, Predicate, Scalar, Step,
    TextTest, TypeDescriptor, TypeId, Value, VectorField,
};

use super::compare::{against, compare};
use super::place::{Path, Place, Type, Typed};
use super::{Meaning, Resolver, Scope};
use crate::error::{Checked, ConditionErrorKind, Problem};
use crate::nearest::{find, suggestion};
use crate::syntax::{Arguments, Call, Node, Span};

/// A name after a dot, or the bare name of a member's field.
pub(super) struct Method<'n> {
    name: &'n str,
    span: Span,
    type_argument: Option<(&'n [String], Span)>,
    values: &'n [Node],
    condition: Option<&'n Node>,
    has_parentheses: bool,
}

impl<'n> Method<'n> {
    pub(super) fn of(call: &'n Call) -> Self {
        let (values, condition) = match &call.arguments {
            Arguments::Values(values) => (values.as_slice(), None),
            Arguments::Condition(condition) => (&[][..], Some(condition)),
            Arguments::None | Arguments::Rust(_) => (&[][..], None),
        };
        let of = call.type_argument.as_ref();
        Self {
            name: &call.name,
            span: call.name_span,
            type_argument: of.map(|(names, span)| (names.as_slice(), *span)),
            values,
            condition,
            has_parentheses: !matches!(call.arguments, Arguments::None),
        }
    }

    pub(super) const fn bare(name: &'n str, span: Span) -> Self {
        Self {
            name,
            span,
            type_argument: None,
            values: &[],
            condition: None,
            has_parentheses: false,
        }
    }

    /// The arguments, which must be `N`.
    fn arguments<const N: usize>(&self) -> Checked<&'n [Node; N]> {
        if let Some((_, span)) = self.type_argument {
            let message = format!("`{}` takes no type", self.name);
            return Err(Problem::new(ConditionErrorKind::Syntax, span, message));
        }
        let found = <&[Node; N]>::try_from(self.values);
        found.map_err(|_| {
            let needed = match N {
                0 => "no argument".to_owned(),
                1 => "one argument".to_owned(),
                more => format!("{more} arguments"),
            };
            let message = format!("`{}` takes {needed}", self.name);
            Problem::new(ConditionErrorKind::Syntax, self.span, message)
        })
    }
}

const COMPARING: [&str; 12] = [
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "between",
    "in_",
    "not_in",
    "is_null",
    "is_not_null",
    "position_in",
];
const TESTING: [&str; 4] = ["starts_with", "ends_with", "contains", "like"];
const FLAGS: [&str; 2] = ["has_all", "has_any"];
const VECTOR: [&str; 5] = ["any", "all", "len", "is_empty", "contains"];
const UNION: [&str; 3] = ["as_", "matches", "tag"];

impl<'a> Resolver<'a> {
    pub(super) fn call(self, receiver: Place, method: &Method<'a>) -> Checked<Meaning<'a>> {
        match receiver {
            Place::Fields(path, element) => {
                if method.has_parentheses || method.type_argument.is_some() {
                    method.arguments::<0>()?;
                }
                let place = self.field(&path, element, method.name, method.span)?;
                Ok(Meaning::Place(place))
            }
            Place::Union(path, id) => self.of_union(&path, id, method),
            Place::Vector(vector, element) => self.of_vector(vector, element, method),
            Place::IgnoreCase(operand) => {
                let test = match method.name {
                    "eq" => TextTest::Equal,
                    name => match text_test(name) {
                        Some(test) => test,
                        None => {
                            let names = [&["eq"][..], &TESTING].concat();
                            return Err(self.unknown(method, "a string without case", &names));
                        }
                    },
                };
                let [pattern] = method.arguments()?;
                let test = self.text_test(operand, test, pattern, true)?;
                Ok(Meaning::Condition(test))
            }
            Place::Value(typed) => self.of_value(typed, method),
        }
    }

    fn unknown(self, method: &Method<'_>, of: &str, names: &[&str]) -> Box<Problem> {
        let message = format!("{of} has no method `{}`", self.shown(method.span));
        let help = suggestion(method.name, "its methods are", names);
        Problem::new(ConditionErrorKind::UnknownName, method.span, message).with_help(help)
    }

    fn of_value(self, typed: Typed, method: &Method<'a>) -> Checked<Meaning<'a>> {
        let condition = match method.name {
            "eq" | "ne" | "lt" | "le" | "gt" | "ge" => {
                let [value] = method.arguments()?;
                self.compared(typed, comparison(method.name), value)?
            }
            "between" => {
                let [first, last] = method.arguments()?;
                let from = self.compared(typed.clone(), Comparison::GreaterOrEqual, first)?;
                from.and(self.compared(typed, Comparison::LessOrEqual, last)?)
            }
            "in_" | "not_in" => {
                let [values] = method.arguments()?;
                let among = self.among(typed, values)?;
                match method.name {
                    "in_" => among,
                    _ => among.negate(),
                }
            }
            "is_null" | "is_not_null" => {
                method.arguments::<0>()?;
                let is_null = Predicate::IsNull(typed.expression);
                match method.name {
                    "is_null" => is_null,
                    _ => is_null.negate(),
                }
            }
            "position_in" => return self.position(typed, method),
            _ => match typed.ty {
                Type::Text => return self.of_text(typed.expression, method),
                Type::Enum(id) if self.layout(id).is_some_and(|layout| layout.bit_flags) => {
                    self.of_flags(typed, method)?
                }
                ty => {
                    let of = format!("a value {}", self.types.describe(ty));
                    return Err(self.unknown(method, &of, &COMPARING));
                }
            },
        };
        Ok(Meaning::Condition(condition))
    }

    fn position(self, typed: Typed, method: &Method<'a>) -> Checked<Meaning<'a>> {
        let [values] = method.arguments()?;
        let found: Option<Vec<Value>> = self.list(values, typed.ty)?.into_iter().collect();
        let Some(found) = found else {
            let message = "the list has a missing value";
            let kind = ConditionErrorKind::WrongType;
            return Err(Problem::new(kind, values.span, message));
        };
        Ok(number(Expression::Position {
            operand: Box::new(typed.expression),
            values: found,
        }))
    }

    fn of_text(self, operand: Expression, method: &Method<'a>) -> Checked<Meaning<'a>> {
        if let Some(test) = text_test(method.name) {
            let [pattern] = method.arguments()?;
            let test = self.text_test(operand, test, pattern, false)?;
            return Ok(Meaning::Condition(test));
        }
        match method.name {
            "len" => {
                method.arguments::<0>()?;
                Ok(number(Expression::Length(Box::new(operand))))
            }
            "ignore_case" => {
                method.arguments::<0>()?;
                Ok(Meaning::Place(Place::IgnoreCase(operand)))
            }
            _ => {
                let names = [&TESTING[..], &["len", "ignore_case"], &COMPARING].concat();
                Err(self.unknown(method, "a string", &names))
            }
        }
    }

    fn of_flags(self, typed: Typed, method: &Method<'a>) -> Checked<Predicate> {
        if !FLAGS.contains(&method.name) {
            let of = format!("a value {}", self.types.describe(typed.ty));
            let names = [&FLAGS[..], &COMPARING].concat();
            return Err(self.unknown(method, &of, &names));
        }
        let [flags] = method.arguments()?;
        let value = self.fit(&self.constant(flags)?, typed.ty, flags.span)?;
        let flags = Expression::Literal(value.unwrap_or(Value::Null));
        let common = Expression::Arithmetic {
            operator: Arithmetic::BitAnd,
            domain: Domain::Unsigned,
            left: Box::new(typed.expression),
            right: Box::new(flags.clone()),
        };
        Ok(match method.name {
            "has_all" => compare(common, Comparison::Equal, flags),
            _ => against(common, Comparison::NotEqual, Some(Value::Int(0))),
        })
    }

    fn of_union(self, path: &Path, id: TypeId, method: &Method<'a>) -> Checked<Meaning<'a>> {
        let tag = || {
            let path = path.then("type", Step::Tag);
            let tag = self
                .types
                .place(path, Element::Scalar(Scalar::U8), Value::Int(0));
            tag.ok_or_else(|| self.unknown(method, "the union", &[]))
        };
        if method.name == "tag" {
            method.arguments::<0>()?;
            return Ok(Meaning::Place(tag()?));
        }
        if !UNION.contains(&method.name) {
            let of = format!("the union `{}`", self.types.short_name(id));
            return Err(self.unknown(method, &of, &UNION));
        }
        let member = self.member(id, method)?;
        if method.name == "matches"
            && let Place::Value(Typed { expression, .. }) = tag()?
        {
            let code = Value::Int(member.code.into());
            let matches = against(expression, Comparison::Equal, Some(code));
            return Ok(Meaning::Condition(matches));
        }
        let path = path.then(&member.name, Step::Member(member.code));
        let place = self.types.place(path, member.element, Value::Null);
        let place = place.ok_or_else(|| self.unknown(method, "the union", &[]))?;
        Ok(Meaning::Place(place))
    }

    /// The member of a union that a type argument names: by its own name, or by that of its type.
    fn member(self, id: TypeId, method: &Method<'a>) -> Checked<&'a MemberLayout> {
        let own = self.types.short_name(id);
        let members = match self.types.get(id) {
            Some(TypeDescriptor::Union(layout)) => layout.members.iter(),
            _ => [].iter(),
        };
        let Some((names, span)) = method.type_argument else {
            let message = format!("`{0}` needs a type, as in `{0}::<Type>()`", method.name);
            return Err(Problem::new(
                ConditionErrorKind::Syntax,
                method.span,
                message,
            ));
        };
        let wanted = names.last().map_or("", String::as_str);
        let by_name = find(members.clone(), |member| &member.name, wanted);
        let found = by_name.or_else(|| {
            let type_name = |member: &&'a MemberLayout| match member.element {
                Element::Table(id) | Element::Struct(id) => self.types.short_name(id),
                _ => "str",
            };
            find(members.clone(), type_name, wanted)
        });
        // Generated code names a member by its union if the type is in the union more than once.
        let found = found.or_else(|| {
            let wanted = wanted.strip_prefix(own)?;
            find(members.clone(), |member| &member.name, wanted)
        });
        found.ok_or_else(|| {
            let names: Vec<&str> = members.map(|member| &*member.name).collect();
            let message = format!("the union `{own}` has no member `{wanted}`");
            let help = suggestion(wanted, "its members are", &names);
            Problem::new(ConditionErrorKind::UnknownName, span, message).with_help(help)
        })
    }

    fn of_vector(
        self,
        vector: VectorField,
        element: Element,
        method: &Method<'a>,
    ) -> Checked<Meaning<'a>> {
        match method.name {
            "len" => {
                method.arguments::<0>()?;
                return Ok(number(Expression::Count(vector)));
            }
            "is_empty" => {
                method.arguments::<0>()?;
                let zero = Some(Value::Int(0));
                let is_empty = against(Expression::Count(vector), Comparison::Equal, zero);
                return Ok(Meaning::Condition(is_empty));
            }
            "any" | "all" | "contains" => {}
            _ => return Err(self.unknown(method, "a vector", &VECTOR)),
        }
        let member = self.types.place(Path::member(), element, Value::Null);
        let member = member.ok_or_else(|| self.unknown(method, "a vector", &VECTOR))?;
        let any = |condition: Predicate| Predicate::Any {
            vector: vector.clone(),
            condition: Box::new(condition),
        };
        if method.name == "contains" {
            let [value] = method.arguments()?;
            let Place::Value(typed) = member else {
                let message = "`contains` is for vectors of numbers, strings and enums";
                let kind = ConditionErrorKind::WrongType;
                return Err(Problem::new(kind, method.span, message));
            };
            let equal = self.compared(typed, Comparison::Equal, value)?;
            return Ok(Meaning::Condition(any(equal)));
        }
        let Some(condition) = method.condition else {
            let message = format!("`{0}` needs a condition, as in `{0}(it == 1)`", method.name);
            let kind = ConditionErrorKind::Syntax;
            return Err(Problem::new(kind, method.span, message));
        };
        let condition = self.of_member(&member, condition)?;
        Ok(Meaning::Condition(match method.name {
            "any" => any(condition),
            _ => any(condition.negate()).negate(),
        }))
    }

    /// A condition on a vector's member.
    fn of_member(self, member: &Place, condition: &Node) -> Checked<Predicate> {
        let inner = Resolver {
            scope: Scope::Member(member),
            ..self
        };
        inner.predicate(condition)
    }
}

fn number(expression: Expression) -> Meaning<'static> {
    let ty = Type::Number(Scalar::U64);
    Meaning::Place(Place::Value(Typed { expression, ty }))
}

fn text_test(method: &str) -> Option<TextTest> {
    Some(match method {
        "starts_with" => TextTest::StartsWith,
        "ends_with" => TextTest::EndsWith,
        "contains" => TextTest::Contains,
        "like" => TextTest::Like,
        _ => return None,
    })
}

fn comparison(method: &str) -> Comparison {
    match method {
        "eq" => Comparison::Equal,
        "ne" => Comparison::NotEqual,
        "lt" => Comparison::Less,
        "le" => Comparison::LessOrEqual,
        "gt" => Comparison::Greater,
        _ => Comparison::GreaterOrEqual,
    }
}
