//! Chooses how to reach the rows of a query.

use std::fmt;
use std::ops::Bound;

use dflat_model::{
    Comparison, Direction, Expression, Field, Nulls, Predicate, Query, Table, Value,
};

use crate::storage::{IndexState, Key, KeyScan, Source};

/// How to reach the rows of a query, and what is left to check on each.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The rows to scan.
    pub access: AccessPath,
    /// The part of the predicate that the access does not guarantee.
    pub residual: Option<Predicate>,
    /// Whether rows come in the query's order.
    pub sorted: bool,
}

/// Which rows to scan.
#[derive(Clone, Debug, PartialEq)]
pub enum AccessPath {
    /// None: the predicate can't be true.
    Nothing,
    /// All rows.
    Rows,
    /// Rows whose key equals one of several values, each given by the key's parts.
    Equal {
        /// The key.
        key: Key,
        /// The values, each once.
        values: Vec<Vec<Value>>,
    },
    /// Rows whose key's first part lies in a range.
    Range {
        /// The key.
        key: Key,
        /// The lower bound.
        lower: Bound<Value>,
        /// The upper bound.
        upper: Bound<Value>,
        /// The direction to scan in.
        direction: Direction,
    },
}

impl Plan {
    /// Plans a query, given the states of the table's indexes; none are used without.
    #[must_use]
    pub fn new(table: &Table, query: &Query, states: &[IndexState]) -> Self {
        let parts = match &query.predicate {
            None => &[],
            Some(Predicate::And(parts)) => parts.as_slice(),
            Some(predicate) => std::slice::from_ref(predicate),
        };
        let planner = Planner {
            table,
            query,
            states,
            parts,
        };
        let (access, used) = planner.access();
        let residual = parts
            .iter()
            .enumerate()
            .filter(|(position, _)| !used.contains(position));
        let mut residual: Vec<Predicate> = residual.map(|(_, part)| part.clone()).collect();
        let sorted = planner.sorted(&access);
        let residual = match residual.len() {
            0 | 1 => residual.pop(),
            _ => Some(Predicate::And(residual)),
        };
        Self {
            access,
            residual,
            sorted,
        }
    }

    /// The scans, in order.
    pub fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        let (all, equal, range) = match &self.access {
            AccessPath::Nothing => (None, None, None),
            AccessPath::Rows => (Some(Source::Rows), None, None),
            AccessPath::Equal { key, values } => (None, Some((*key, values)), None),
            AccessPath::Range {
                key,
                lower,
                upper,
                direction,
            } => {
                let (lower, upper) = (lower.as_ref(), upper.as_ref());
                let direction = *direction;
                let scan = KeyScan {
                    key: *key,
                    prefix: &[],
                    lower,
                    upper,
                    direction,
                };
                (None, None, Some(Source::Key(scan)))
            }
        };
        let equal = equal.into_iter().flat_map(|(key, values)| {
            values
                .iter()
                .map(move |value| Source::Key(equality(key, value)))
        });
        all.into_iter().chain(equal).chain(range)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.access {
            AccessPath::Nothing => f.write_str("nothing")?,
            AccessPath::Rows => f.write_str("scan of all rows")?,
            AccessPath::Equal { key, values } => {
                write!(f, "look-up of {} values in {key}", values.len())?;
            }
            AccessPath::Range { key, .. } => write!(f, "range of {key}")?,
        }
        if let Some(residual) = &self.residual {
            write!(f, ", check {residual}")?;
        }
        if !self.sorted {
            f.write_str(", sort")?;
        }
        Ok(())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primary => f.write_str("the primary key"),
            Self::Index(position) => write!(f, "index {position}"),
        }
    }
}

fn equality(key: Key, values: &[Value]) -> KeyScan<'_> {
    let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
    KeyScan {
        key,
        prefix: values,
        lower,
        upper,
        direction: Direction::Ascending,
    }
}

/// The scan for one primary key.
pub(super) fn key_source(key: &[Value]) -> Source<'_> {
    Source::Key(equality(Key::Primary, key))
}

/// Whether the query names a field that has an index.
pub(super) fn may_use_index(table: &Table, query: &Query) -> bool {
    if table.indexes.is_empty() {
        return false;
    }
    let indexed = |field: &Field| table.indexes.iter().any(|i| i.field.steps == field.steps);
    let ordered = query.limit.is_some()
        && query
            .order
            .first()
            .is_some_and(|order| order.key.as_field().is_some_and(indexed));
    ordered
        || query
            .predicate
            .as_ref()
            .is_some_and(|predicate| mentions(predicate, &indexed))
}

/// Whether the query looks up several primary keys.
pub(super) fn may_scan_twice(table: &Table, query: &Query) -> bool {
    let primary = table.primary_key.first();
    let several = |part: &Predicate| match part {
        Predicate::In {
            operand: Expression::Field(field),
            ..
        } => primary.is_some_and(|key| key.steps == field.steps),
        _ => false,
    };
    match &query.predicate {
        Some(Predicate::And(parts)) => parts.iter().any(several),
        Some(part) => several(part),
        None => false,
    }
}

fn mentions(predicate: &Predicate, is: &dyn Fn(&Field) -> bool) -> bool {
    match predicate {
        Predicate::Compare {
            left: Expression::Field(field),
            right: Expression::Literal(_),
            ..
        }
        | Predicate::In {
            operand: Expression::Field(field),
            ..
        }
        | Predicate::IsNull(Expression::Field(field)) => is(field),
        Predicate::And(parts) => parts.iter().any(|part| mentions(part, is)),
        // Anything else is evaluated row by row.
        _ => false,
    }
}

struct Planner<'a> {
    table: &'a Table,
    query: &'a Query,
    states: &'a [IndexState],
    /// The conjuncts of the predicate.
    parts: &'a [Predicate],
}

impl Planner<'_> {
    /// The access path and the positions of the conjuncts it guarantees.
    fn access(&self) -> (AccessPath, Vec<usize>) {
        if self.parts.iter().any(is_never_true) {
            return (AccessPath::Nothing, (0..self.parts.len()).collect());
        }
        self.whole_key()
            .or_else(|| self.equal(true))
            .or_else(|| self.equal(false))
            .or_else(|| self.range())
            .or_else(|| self.ordered())
            .unwrap_or((AccessPath::Rows, Vec::new()))
    }

    /// Each part of the primary key equal to a value.
    fn whole_key(&self) -> Option<(AccessPath, Vec<usize>)> {
        let mut values = Vec::new();
        let mut used = Vec::new();
        for key in self.table.primary_key.as_ref() {
            let (position, value) =
                self.parts.iter().enumerate().find_map(|(position, part)| {
                    equal_value(part, key).map(|value| (position, value))
                })?;
            values.push(value.clone());
            used.push(position);
        }
        Some((
            AccessPath::Equal {
                key: Key::Primary,
                values: vec![values],
            },
            used,
        ))
    }

    /// One field of an index, or the first of the primary key, equal to one or several values.
    fn equal(&self, unique: bool) -> Option<(AccessPath, Vec<usize>)> {
        for (position, part) in self.parts.iter().enumerate() {
            let (field, mut values) = match part {
                Predicate::Compare {
                    left: Expression::Field(field),
                    operator: Comparison::Equal,
                    right: Expression::Literal(value),
                } => (field, vec![vec![value.clone()]]),
                Predicate::In {
                    operand: Expression::Field(field),
                    values,
                } => (
                    field,
                    values.iter().map(|value| vec![value.clone()]).collect(),
                ),
                _ => continue,
            };
            if field.is_tag() && !values.iter().flatten().all(is_member) {
                continue;
            }
            let Some(key) = self.key_of(field, unique) else {
                continue;
            };
            values.retain(|value| value.iter().all(|part| *part != Value::Null));
            values.sort_by(|a, b| order_of(a).order(order_of(b)));
            values.dedup_by(|a, b| order_of(a).order(order_of(b)).is_eq());
            return Some((AccessPath::Equal { key, values }, vec![position]));
        }
        None
    }

    /// Comparisons that bound a field of an index, or the first of the primary key.
    fn range(&self) -> Option<(AccessPath, Vec<usize>)> {
        let field = self.parts.iter().find_map(|part| match part {
            Predicate::Compare {
                left: Expression::Field(field),
                ..
            }
            | Predicate::IsNull(Expression::Field(field)) => {
                let bounded = bounds(part, field).is_some();
                (bounded && self.key_of(field, false).is_some()).then_some(field)
            }
            _ => None,
        })?;
        let key = self.key_of(field, false)?;
        let mut lower = Bound::Unbounded;
        let mut upper = Bound::Unbounded;
        let mut used = Vec::new();
        for (position, part) in self.parts.iter().enumerate() {
            let Some((part_lower, part_upper)) = bounds(part, field) else {
                continue;
            };
            lower = tighter(lower, part_lower, std::cmp::Ordering::Greater);
            upper = tighter(upper, part_upper, std::cmp::Ordering::Less);
            used.push(position);
        }
        let direction = self.direction_of(field);
        Some((
            AccessPath::Range {
                key,
                lower,
                upper,
                direction,
            },
            used,
        ))
    }

    /// The whole of an index, if the order and a limit make that the shortest way.
    fn ordered(&self) -> Option<(AccessPath, Vec<usize>)> {
        self.query.limit?;
        let first = self.query.order.first()?;
        let field = first.key.as_field().filter(|field| !field.is_tag())?;
        let key = self.key_of(field, false)?;
        let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
        let access = AccessPath::Range {
            key,
            lower,
            upper,
            direction: first.direction,
        };
        // Only worth it if no sorting is left: else it would be a slower scan of all rows.
        self.sorted(&access).then_some((access, Vec::new()))
    }

    /// The key whose first part is a field: the primary key, or an index that is ready.
    fn key_of(&self, field: &Field, unique: bool) -> Option<Key> {
        let primary = &self.table.primary_key;
        if primary.first().is_some_and(|key| key.steps == field.steps) {
            return (!unique || primary.len() == 1).then_some(Key::Primary);
        }
        self.table
            .indexes
            .iter()
            .zip(self.states)
            .enumerate()
            .find_map(|(position, (i, state))| {
                let usable = i.field.steps == field.steps && (!unique || i.unique);
                (usable && *state == IndexState::Ready).then_some(Key::Index(position))
            })
    }

    fn direction_of(&self, field: &Field) -> Direction {
        let first = self
            .query
            .order
            .first()
            .filter(|order| is_field(&order.key, field));
        first.map_or(Direction::Ascending, |order| order.direction)
    }

    /// Whether an access gives rows in the query's order.
    fn sorted(&self, access: &AccessPath) -> bool {
        let order = self.query.order.as_slice();
        match access {
            AccessPath::Nothing => true,
            AccessPath::Rows => order.is_empty(),
            AccessPath::Equal { key, values } => {
                let parts = self.key_fields(*key);
                let whole = values.iter().all(|value| value.len() == parts.len());
                // Equal keys come by row id, whatever the order says of the key itself.
                values.len() < 2
                    && whole
                    && order
                        .iter()
                        .all(|order| parts.iter().any(|field| is_field(&order.key, field)))
            }
            AccessPath::Range { key, direction, .. } => {
                let parts = self.key_fields(*key);
                // Ties within the order go by row id, so the order must name the whole key.
                order.len() == parts.len()
                    && order.iter().zip(parts).all(|(order, field)| {
                        order.direction == *direction
                            && order.nulls == Nulls::Smallest
                            && is_field(&order.key, field)
                    })
            }
        }
    }

    fn key_fields(&self, key: Key) -> Vec<&Field> {
        match key {
            Key::Primary => self.table.primary_key.iter().collect(),
            Key::Index(position) => self
                .table
                .indexes
                .get(position)
                .map(|index| &index.field)
                .into_iter()
                .collect(),
        }
    }
}

/// Whether an expression is nothing but this field.
fn is_field(expression: &Expression, field: &Field) -> bool {
    expression
        .as_field()
        .is_some_and(|other| other.steps == field.steps)
}

fn order_of(values: &[Value]) -> dflat_model::ValueRef<'_> {
    values
        .first()
        .map_or(dflat_model::ValueRef::Null, Value::as_ref)
}

/// Whether a conjunct is false or UNKNOWN for every object.
fn is_never_true(part: &Predicate) -> bool {
    match part {
        Predicate::Constant(value) => !value,
        Predicate::Compare { left, right, .. } => [left, right]
            .iter()
            .any(|side| side.as_literal() == Some(&Value::Null)),
        Predicate::In { values, .. } => values.iter().all(|value| *value == Value::Null),
        _ => false,
    }
}

fn equal_value<'p>(part: &'p Predicate, field: &Field) -> Option<&'p Value> {
    match part {
        Predicate::Compare {
            left,
            operator: Comparison::Equal,
            right: Expression::Literal(value),
        } if is_field(left, field) => Some(value),
        _ => None,
    }
}

/// The range in which a conjunct on this field holds, and nowhere else.
fn bounds(part: &Predicate, field: &Field) -> Option<(Bound<Value>, Bound<Value>)> {
    match part {
        Predicate::IsNull(left) if is_field(left, field) && !field.is_tag() => {
            Some((Bound::Included(Value::Null), Bound::Included(Value::Null)))
        }
        Predicate::Compare {
            left,
            operator,
            right: Expression::Literal(value),
        } if is_field(left, field) => {
            if field.is_tag() && !admits_members_only(*operator, value) {
                return None;
            }
            let value = value.clone();
            let not_null = Bound::Excluded(Value::Null);
            match operator {
                Comparison::Equal => Some((Bound::Included(value.clone()), Bound::Included(value))),
                Comparison::NotEqual => None,
                Comparison::Less => Some((not_null, Bound::Excluded(value))),
                Comparison::LessOrEqual => Some((not_null, Bound::Included(value))),
                Comparison::Greater => Some((Bound::Excluded(value), Bound::Unbounded)),
                Comparison::GreaterOrEqual => Some((Bound::Included(value), Bound::Unbounded)),
            }
        }
        _ => None,
    }
}

/// Whether a union with this type code holds a member. An index has NULL for an empty one, which is
/// 0 to a query; so it is used only where neither qualifies.
fn is_member(code: &Value) -> bool {
    matches!(code, Value::Int(code) if *code > 0)
}

fn admits_members_only(operator: Comparison, code: &Value) -> bool {
    match operator {
        Comparison::Equal | Comparison::GreaterOrEqual => is_member(code),
        Comparison::Greater => is_member(code) || *code == Value::Int(0),
        Comparison::NotEqual | Comparison::Less | Comparison::LessOrEqual => false,
    }
}

/// The bound that admits less; `wanted` is how the tighter value compares with the other.
fn tighter(a: Bound<Value>, b: Bound<Value>, wanted: std::cmp::Ordering) -> Bound<Value> {
    let (Bound::Included(left) | Bound::Excluded(left)) = &a else {
        return b;
    };
    let (Bound::Included(right) | Bound::Excluded(right)) = &b else {
        return a;
    };
    let ordering = left.as_ref().order(right.as_ref());
    if ordering == wanted || (ordering.is_eq() && matches!(a, Bound::Excluded(_))) {
        a
    } else {
        b
    }
}
