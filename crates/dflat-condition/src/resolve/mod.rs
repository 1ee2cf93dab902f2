//! Names to fields, literals to values: a syntax tree and a descriptor in, a predicate out.

mod call;
mod compare;
mod constant;
mod place;

use dflat_model::{
    Direction, Element, Expression, Nulls, Order, Predicate, ROOT_TYPE, TableDescriptor,
};

use crate::error::{Checked, ConditionErrorKind, Problem};
use crate::nearest::suggestion;
use crate::parameters::Parameters;
use crate::syntax::{Node, NodeKind, OrderTerm, Span};
use call::Method;
use place::{Path, Place, Type, Typed, Types};

/// The limit on nested conditions and computations, which is the engine's.
const DEPTH_MAX: usize = 256;

/// The meaning of names and placeholders.
#[derive(Clone, Copy)]
pub(crate) struct Resolver<'a> {
    text: &'a str,
    types: Types<'a>,
    type_name: &'a str,
    parameters: &'a Parameters,
    scope: Scope<'a>,
}

/// The meaning of bare names.
#[derive(Clone, Copy)]
enum Scope<'a> {
    /// Fields of the object.
    Object,
    /// Fields and methods of a vector's member, which is called `it`.
    Member(&'a Place),
}

/// The meaning of a part that is no value.
enum Meaning<'n> {
    Place(Place),
    Condition(Predicate),
    /// A bare name that is no field, and why; perhaps the value of an enum.
    Name(&'n str, Box<Problem>),
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(
        text: &'a str,
        table: &'a TableDescriptor,
        parameters: &'a Parameters,
    ) -> Self {
        Self {
            text,
            types: Types(table),
            type_name: table.type_name.rsplit('.').next().unwrap_or_default(),
            parameters,
            scope: Scope::Object,
        }
    }

    /// The predicate of a whole condition.
    pub(crate) fn condition(self, node: &'a Node) -> Checked<Predicate> {
        let predicate = self.predicate(node)?;
        if predicate.depth() > DEPTH_MAX {
            let message = format!("the condition nests more than {DEPTH_MAX} levels deep");
            let kind = ConditionErrorKind::TooLarge;
            return Err(Problem::new(kind, node.span, message));
        }
        Ok(predicate)
    }

    /// A key of an order.
    pub(crate) fn order(self, term: &'a OrderTerm) -> Checked<Order> {
        let first_is_smallest = term.direction == Direction::Ascending;
        let nulls = match term.nulls_first {
            Some(first) if first != first_is_smallest => Nulls::Largest,
            _ => Nulls::Smallest,
        };
        Ok(Order {
            key: self.expression(&term.key)?,
            direction: term.direction,
            nulls,
        })
    }

    /// A field or a computed value.
    pub(crate) fn expression(self, node: &'a Node) -> Checked<Expression> {
        if node.is_value {
            let message = format!("`{}` is the same for all objects", self.shown(node.span));
            let kind = ConditionErrorKind::WrongType;
            return Err(Problem::new(kind, node.span, message));
        }
        match self.meaning(node)? {
            Meaning::Place(Place::Value(Typed { expression, .. })) => Ok(expression),
            other => Err(self.no_value(node, other)),
        }
    }

    fn predicate(self, node: &'a Node) -> Checked<Predicate> {
        Ok(match &node.kind {
            NodeKind::Or(parts, _) => self.joined(parts, Predicate::or)?,
            NodeKind::And(parts, _) => self.joined(parts, Predicate::and)?,
            NodeKind::Group(inner) => self.predicate(inner)?,
            NodeKind::Not(inner) => self.predicate(inner)?.negate(),
            NodeKind::Compare {
                left,
                operator,
                right,
                ..
            } => self.comparison(node, left, *operator, right)?,
            NodeKind::In {
                operand, values, ..
            } => {
                let operand = self.value(operand)?;
                self.among(operand, values)?
            }
            _ if node.is_value => {
                let message = format!("`{}` is a value and no condition", self.shown(node.span));
                let kind = ConditionErrorKind::WrongType;
                return Err(Problem::new(kind, node.span, message));
            }
            _ => match self.meaning(node)? {
                Meaning::Condition(predicate) => predicate,
                Meaning::Place(place) => return Err(self.no_condition(node, &place)),
                Meaning::Name(_, problem) => return Err(problem),
            },
        })
    }

    fn joined(
        self,
        parts: &'a [Node],
        join: fn(Predicate, Predicate) -> Predicate,
    ) -> Checked<Predicate> {
        let mut all: Option<Predicate> = None;
        for part in parts {
            let part = self.predicate(part)?;
            all = Some(match all {
                Some(all) => join(all, part),
                None => part,
            });
        }
        Ok(all.unwrap_or(Predicate::Constant(true)))
    }

    fn no_condition(self, node: &Node, place: &Place) -> Box<Problem> {
        let shown = self.shown(node.span);
        let help = match place {
            Place::Value(Typed { ty: Type::Bool, .. }) => Some(format!("write `{shown} == true`")),
            Place::Value(_) => Some("compare it with a value".to_owned()),
            Place::Vector(..) => Some("test its members, as in `any( )`".to_owned()),
            Place::Union(..) => Some("test its type, as in `matches::<Type>()`".to_owned()),
            Place::Fields(_, element) => {
                crate::nearest::listed("its fields are", &self.types.field_names(*element))
            }
            Place::IgnoreCase(_) => Some("compare it with a string by `==`".to_owned()),
        };
        let message = format!("`{shown}` is no condition");
        Problem::new(ConditionErrorKind::WrongType, node.span, message).with_help(help)
    }

    /// The field or the condition that a part means.
    fn meaning(self, node: &'a Node) -> Checked<Meaning<'a>> {
        match &node.kind {
            NodeKind::Name(name) => match self.name(name, node.span) {
                Err(problem) if problem.kind == ConditionErrorKind::UnknownName => {
                    Ok(Meaning::Name(name, problem))
                }
                found => found,
            },
            NodeKind::Group(inner) => self.meaning(inner),
            NodeKind::Arithmetic {
                left,
                operator,
                right,
                ..
            } => {
                let computed = self.arithmetic(left, *operator, right)?;
                Ok(Meaning::Place(Place::Value(computed)))
            }
            NodeKind::Call(call) if call.receiver.is_value => {
                let message = format!("`{}` is a value, which has no methods", {
                    self.shown(call.receiver.span)
                });
                let kind = ConditionErrorKind::WrongType;
                Err(Problem::new(kind, call.receiver.span, message))
            }
            NodeKind::Call(call) => {
                let receiver = match self.meaning(&call.receiver)? {
                    Meaning::Place(place) => place,
                    Meaning::Name(_, problem) => return Err(problem),
                    Meaning::Condition(_) => {
                        let shown = self.shown(call.receiver.span);
                        let message = format!("`{shown}` is a condition, which has no methods");
                        let kind = ConditionErrorKind::WrongType;
                        return Err(Problem::new(kind, call.name_span, message));
                    }
                };
                self.call(receiver, &Method::of(call))
            }
            _ => self.predicate(node).map(Meaning::Condition),
        }
    }

    /// The meaning of a bare name.
    fn name(self, name: &'a str, span: Span) -> Checked<Meaning<'a>> {
        match self.scope {
            Scope::Object => {
                let root = Element::Table(ROOT_TYPE);
                self.field(&Path::root(), root, name, span)
                    .map(Meaning::Place)
            }
            Scope::Member(place) if name == "it" => Ok(Meaning::Place(place.clone())),
            Scope::Member(place) => self.call(place.clone(), &Method::bare(name, span)),
        }
    }

    fn field(self, path: &Path, element: Element, name: &str, span: Span) -> Checked<Place> {
        match self.types.field(path, element, name) {
            Ok(Some(place)) => Ok(place),
            Ok(None) => {
                let of = match element {
                    Element::Table(ROOT_TYPE) => self.type_name,
                    Element::Table(id) | Element::Struct(id) => self.types.short_name(id),
                    _ => "the value",
                };
                let message = format!("`{of}` has no field `{}`", self.shown(span));
                let names = self.types.field_names(element);
                let help = match name {
                    "null" | "NULL" | "None" => Some("write `.is_null` after a field".to_owned()),
                    name => suggestion(name, "its fields are", &names),
                };
                Err(Problem::new(ConditionErrorKind::UnknownName, span, message).with_help(help))
            }
            Err(_) => {
                let message = format!(
                    "`{}` is an array, which conditions cannot use",
                    self.shown(span)
                );
                Err(Problem::new(ConditionErrorKind::WrongType, span, message))
            }
        }
    }

    /// A part that is a value of the object.
    fn value(self, node: &'a Node) -> Checked<Typed> {
        match self.meaning(node)? {
            Meaning::Place(Place::Value(typed)) => Ok(typed),
            other => Err(self.no_value(node, other)),
        }
    }

    fn no_value(self, node: &Node, found: Meaning<'_>) -> Box<Problem> {
        let what = match found {
            Meaning::Name(_, problem) => return problem,
            Meaning::Condition(_) => "a condition",
            Meaning::Place(Place::Fields(..)) => "a table or struct",
            Meaning::Place(Place::Union(..)) => "a union",
            Meaning::Place(Place::Vector(..)) => "a vector",
            Meaning::Place(Place::IgnoreCase(_) | Place::Value(_)) => "no value",
        };
        let message = format!(
            "expected a value, and `{}` is {what}",
            self.shown(node.span)
        );
        Problem::new(ConditionErrorKind::WrongType, node.span, message)
    }

    /// A part of the text in a message: its beginning if it is long.
    fn shown(self, span: Span) -> String {
        const SHOWN_MAX: usize = 40;
        let text = self.text.get(span.start..span.end).unwrap_or_default();
        let mut shown: String = text
            .chars()
            .take(SHOWN_MAX)
            .flat_map(char::escape_debug)
            .collect();
        // Quotes are no danger.
        shown = shown.replace("\\\"", "\"").replace("\\'", "'");
        if text.chars().nth(SHOWN_MAX).is_some() {
            shown.push('…');
        }
        shown
    }
}
