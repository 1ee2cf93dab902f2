//! The plain data of fields and conditions, with the depth of its nesting.
//!
//! The typed values only add static types to it: a program has one copy of the code that builds
//! conditions, not a copy for each of its types.

use std::borrow::Cow;

use dflat_engine::fetch::PREDICATE_DEPTH_MAX;
use dflat_model::{
    Comparison, Direction, Expression, Nulls, Order, Predicate as Condition, TextTest, Value,
    VectorField,
};

/// An expression or a condition, with the depth of its nesting.
#[derive(Clone, Debug)]
pub(crate) struct Nested<D> {
    /// Beyond the limit, a constant stands in its place: copying, evaluating or dropping a deeper
    /// one could overflow a stack.
    pub(crate) inner: D,
    /// 0 for a field or a literal, at least 1 for a condition.
    pub(crate) depth: usize,
}

impl<D> Nested<D> {
    pub(crate) const fn is_too_deep(&self) -> bool {
        self.depth > PREDICATE_DEPTH_MAX
    }
}

impl Nested<Expression> {
    pub(super) fn new(inner: Expression, depth: usize) -> Self {
        let inner = if depth > PREDICATE_DEPTH_MAX {
            Expression::Literal(Value::Null)
        } else {
            inner
        };
        Self { inner, depth }
    }

    pub(super) fn literal(value: Value) -> Self {
        Self::new(Expression::Literal(value), 0)
    }

    /// A value that is computed from this one alone.
    pub(super) fn computed(self, compute: impl FnOnce(Box<Expression>) -> Expression) -> Self {
        Self::new(compute(Box::new(self.inner)), self.depth + 1)
    }

    pub(super) fn compare(self, operator: Comparison, other: Self) -> Nested<Condition> {
        let depth = 1 + self.depth.max(other.depth);
        let compare = Condition::Compare {
            left: self.inner,
            operator,
            right: other.inner,
        };
        Nested::of(compare, depth)
    }

    /// The comparison with a value that may be missing: `==` or `!=`.
    pub(super) fn compare_present(
        self,
        operator: Comparison,
        other: Option<Self>,
    ) -> Nested<Condition> {
        match (other, operator) {
            (Some(other), _) => self.compare(operator, other),
            (None, Comparison::Equal) => self.test_null(),
            (None, _) => self.test_null().negate(),
        }
    }

    pub(super) fn test_null(self) -> Nested<Condition> {
        Nested::of(Condition::IsNull(self.inner), 1 + self.depth)
    }

    pub(super) fn test(
        self,
        test: TextTest,
        pattern: String,
        ignore_case: bool,
    ) -> Nested<Condition> {
        let condition = Condition::Text {
            operand: self.inner,
            test,
            pattern: Cow::Owned(pattern),
            ignore_case,
        };
        Nested::of(condition, 1 + self.depth)
    }

    /// The order by this value, and whether the value is too deep.
    pub(super) fn order(self, direction: Direction) -> (Order, bool) {
        let too_deep = self.is_too_deep();
        let order = Order {
            key: self.inner,
            direction,
            nulls: Nulls::Smallest,
        };
        (order, too_deep)
    }
}

impl Nested<Condition> {
    pub(super) fn of(inner: Condition, depth: usize) -> Self {
        let inner = if depth > PREDICATE_DEPTH_MAX {
            Condition::Constant(false)
        } else {
            inner
        };
        Self { inner, depth }
    }

    pub(super) fn constant(value: bool) -> Self {
        Self::of(Condition::Constant(value), 1)
    }

    pub(super) fn and(self, other: Self) -> Self {
        let below = self.depth_below(&other, |part| matches!(part, Condition::And(_)));
        Self::of(self.inner.and(other.inner), below)
    }

    pub(super) fn or(self, other: Self) -> Self {
        let below = self.depth_below(&other, |part| matches!(part, Condition::Or(_)));
        Self::of(self.inner.or(other.inner), below)
    }

    /// The depth of a list of two conditions, of which each may be such a list already.
    fn depth_below(&self, other: &Self, is_list: fn(&Condition) -> bool) -> usize {
        let below = |part: &Self| part.depth - usize::from(is_list(&part.inner));
        // A condition that is built on one that is too deep is too deep as well.
        match self.depth.max(other.depth) {
            deepest if deepest > PREDICATE_DEPTH_MAX => deepest,
            _ => 1 + below(self).max(below(other)),
        }
    }

    /// The condition that a member of a vector meets this one.
    pub(super) fn of_any(self, vector: VectorField) -> Self {
        let any = Condition::Any {
            vector,
            condition: Box::new(self.inner),
        };
        Self::of(any, self.depth + 1)
    }

    pub(super) fn negate(self) -> Self {
        let depth = match self.inner {
            Condition::Not(_) => self.depth - 1,
            _ => self.depth + 1,
        };
        Self::of(self.inner.negate(), depth)
    }
}

/// The condition that a value is one of several, while these are added.
pub(super) struct Among {
    operand: Nested<Expression>,
    literals: Vec<Value>,
    others: Vec<Nested<Expression>>,
    or_null: bool,
}

impl Among {
    pub(super) fn new(operand: Nested<Expression>) -> Self {
        Self {
            operand,
            literals: Vec::new(),
            others: Vec::new(),
            or_null: false,
        }
    }

    /// Adds a value; `None` is met by a missing value.
    pub(super) fn add(&mut self, value: Option<Nested<Expression>>) {
        match value {
            None => self.or_null = true,
            Some(value) if value.is_too_deep() => self.others.push(value),
            Some(value) => match value.inner {
                Expression::Literal(literal) => self.literals.push(literal),
                _ => self.others.push(value),
            },
        }
    }

    pub(super) fn end(self) -> Nested<Condition> {
        let operand = self.operand;
        let among = Condition::In {
            operand: operand.inner.clone(),
            values: self.literals.into(),
        };
        let mut among = Nested::of(among, 1 + operand.depth);
        if self.or_null {
            among = among.or(operand.clone().test_null());
        }
        let others = self.others.into_iter();
        others.fold(among, |any, other| {
            any.or(operand.clone().compare(Comparison::Equal, other))
        })
    }
}
