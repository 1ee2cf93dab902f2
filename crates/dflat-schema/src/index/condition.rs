//! Checks the types of index conditions, and moves negations to the comparisons.

use dflat_model::{Comparison, Field, IndexCondition, Scalar, Value};

use super::integer;
use super::path::{Paths, Target};
use super::syntax::{ConditionText, Literal, LiteralKind};
use crate::ast::Name;
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::schema::{DefinitionKind, Element};
use crate::suggest::closest;

/// Converts the conditions of one table to descriptors.
#[derive(Clone, Copy)]
pub(super) struct ConditionLowering<'a> {
    pub(super) paths: Paths<'a>,
}

impl ConditionLowering<'_> {
    /// Converts a condition, or its negation. `None` means that the condition is wrong and was
    /// reported.
    pub(super) fn condition(
        self,
        text: &ConditionText,
        negated: bool,
        sink: &mut Sink,
    ) -> Option<IndexCondition> {
        match text {
            ConditionText::Not(inner) => self.condition(inner, !negated, sink),
            // De Morgan's laws hold, because the negation of UNKNOWN is UNKNOWN.
            ConditionText::And(parts) => self.all(parts, negated, negated, sink),
            ConditionText::Or(parts) => self.all(parts, !negated, negated, sink),
            ConditionText::Holds(path) => self.holds(path, negated, sink),
            ConditionText::IsNull(path) => {
                let target = self.paths.find(path, sink)?;
                Some(self.is_null(target, negated))
            }
            ConditionText::Compare(path, operator, literal) => {
                let target = self.paths.find(path, sink)?;
                let value = self.value(&target, literal, sink)?;
                let ordered = !matches!(operator, Comparison::Equal | Comparison::NotEqual);
                if ordered && !self.has_order(target.element) {
                    let message = format!(
                        "`{}` has no order, so compare it by `==` or `!=`",
                        path.text
                    );
                    let span = &path.span;
                    sink.push(Diagnostic::error(code::INDEX_CONDITION, message).at(span, ""));
                    return None;
                }
                let operator = if negated {
                    operator.opposite()
                } else {
                    *operator
                };
                Some(compare(&target, operator, value))
            }
            ConditionText::In(path, literals) => {
                let target = self.paths.find(path, sink)?;
                let operator = match negated {
                    true => Comparison::NotEqual,
                    false => Comparison::Equal,
                };
                let values = literals
                    .iter()
                    .map(|literal| self.value(&target, literal, sink));
                let values: Option<Vec<Value>> = values.collect();
                let tests = values?.into_iter();
                let tests: Vec<_> = tests
                    .map(|value| compare(&target, operator, value))
                    .collect();
                Some(match negated {
                    true => IndexCondition::And(tests.into()),
                    false => IndexCondition::Or(tests.into()),
                })
            }
        }
    }

    fn all(
        self,
        parts: &[ConditionText],
        any: bool,
        negated: bool,
        sink: &mut Sink,
    ) -> Option<IndexCondition> {
        let parts: Vec<_> = parts
            .iter()
            .map(|part| self.condition(part, negated, sink))
            .collect();
        let parts: Vec<IndexCondition> = parts.into_iter().collect::<Option<_>>()?;
        Some(match any {
            true => IndexCondition::Or(parts.into()),
            false => IndexCondition::And(parts.into()),
        })
    }

    fn holds(self, path: &Name, negated: bool, sink: &mut Sink) -> Option<IndexCondition> {
        let target = self.paths.find(path, sink)?;
        if target.element == Element::Scalar(Scalar::Bool) {
            let value = Value::Int(i64::from(!negated));
            return Some(compare(&target, Comparison::Equal, value));
        }
        let found = self.paths.draft.scope.describe(target.element);
        let message = format!("`{}` is {found}, which is not a condition", path.text);
        sink.push(
            Diagnostic::error(code::INDEX_CONDITION, message)
                .at(&path.span, "")
                .help(format!("compare it, as in `{} is not null`", path.text)),
        );
        None
    }

    fn is_null(self, target: Target, negated: bool) -> IndexCondition {
        if self.is_union(target.element) {
            // The type code is 0 if the union is empty, and missing if the table or struct around
            // the union is absent.
            let empty = Value::Int(0);
            if negated {
                return compare(&target, Comparison::NotEqual, empty);
            }
            let is_empty = compare(&target, Comparison::Equal, empty);
            let parts = vec![is_empty, IndexCondition::IsNull(target.field)];
            return IndexCondition::Or(parts.into());
        }
        match negated {
            true => IndexCondition::IsNotNull(target.field),
            false => IndexCondition::IsNull(target.field),
        }
    }

    fn is_union(self, element: Element) -> bool {
        match element {
            Element::Definition(id) => {
                matches!(self.paths.definition(id), DefinitionKind::Union(_))
            }
            _ => false,
        }
    }

    fn has_order(self, element: Element) -> bool {
        match element {
            Element::Scalar(scalar) => scalar != Scalar::Bool,
            Element::Text => true,
            Element::Definition(id) => match self.paths.definition(id) {
                DefinitionKind::Enum(found) => !found.bit_flags,
                _ => false,
            },
        }
    }

    /// The value of a literal that is compared with a field. `None` means that the literal has
    /// another type and was reported.
    fn value(self, target: &Target, literal: &Literal, sink: &mut Sink) -> Option<Value> {
        let found = match (target.element, &literal.kind) {
            (Element::Text, LiteralKind::Text(text)) => Some(Value::text(text)),
            (Element::Scalar(Scalar::Bool), LiteralKind::Name(name)) => match name.as_str() {
                "true" => Some(Value::Int(1)),
                "false" => Some(Value::Int(0)),
                _ => None,
            },
            (Element::Scalar(scalar), kind) => number(scalar, kind),
            (Element::Definition(_), LiteralKind::Name(name)) => self
                .names(target.element)
                .find(|(known, _)| known == name)
                .map(|(_, value)| value),
            _ => None,
        };
        if found.is_none() {
            self.report(target, literal, sink);
        }
        found
    }

    /// The names and numbers of the values of an enum or the members of a union.
    fn names(self, element: Element) -> impl Iterator<Item = (String, Value)> {
        let mut names = Vec::new();
        if let Element::Definition(id) = element {
            let own = &self.paths.draft.definitions[id.0 as usize].name;
            match self.paths.definition(id) {
                DefinitionKind::Enum(found) => {
                    for named in &found.values {
                        let value = integer(named.value);
                        names.push((format!("{own}.{}", named.name), value.clone()));
                        names.push((named.name.clone(), value));
                    }
                }
                DefinitionKind::Union(union) => {
                    names.push(("NONE".to_owned(), Value::Int(0)));
                    for member in &union.members {
                        names.push((member.name.clone(), Value::Int(member.code.into())));
                    }
                }
                DefinitionKind::Struct(_) | DefinitionKind::Table(_) => {}
            }
        }
        names.into_iter()
    }

    fn report(self, target: &Target, literal: &Literal, sink: &mut Sink) {
        let Field { name, .. } = &target.field;
        let of = self.paths.draft.scope.describe(target.element);
        let message = format!("`{name}` is {of} and cannot be compared with this value");
        let mut diagnostic =
            Diagnostic::error(code::INDEX_CONDITION, message).at(&literal.span, "");
        if let LiteralKind::Name(given) = &literal.kind {
            let names: Vec<String> = self.names(target.element).map(|(name, _)| name).collect();
            if let Some(near) = closest(given, names.iter().map(String::as_str)) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            } else if given == "null" {
                diagnostic = diagnostic.help(format!("write `{name} is null`"));
            }
        }
        sink.push(diagnostic);
    }
}

fn compare(target: &Target, operator: Comparison, value: Value) -> IndexCondition {
    // A boolean that differs from one value equals the other.
    let (operator, value) = match (target.element, operator, value) {
        (Element::Scalar(Scalar::Bool), Comparison::NotEqual, Value::Int(value)) => {
            (Comparison::Equal, Value::Int(i64::from(value == 0)))
        }
        (_, operator, value) => (operator, value),
    };
    IndexCondition::Compare {
        field: target.field.clone(),
        operator,
        value,
    }
}

/// The value of a numeric literal, if a field of this type can hold it.
fn number(scalar: Scalar, literal: &LiteralKind) -> Option<Value> {
    let float = |value: f64| match scalar {
        Scalar::F32 => Value::Float(f64::from(value as f32)),
        _ => Value::Float(value),
    };
    match (literal, scalar.integer_range()) {
        (LiteralKind::Integer(value), Some((min, max))) if scalar != Scalar::Bool => {
            (min..=max).contains(value).then(|| integer(*value))
        }
        (LiteralKind::Integer(value), None) => Some(float(*value as f64)),
        (LiteralKind::Float(value), None) => Some(float(*value)),
        _ => None,
    }
}
