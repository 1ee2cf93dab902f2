//! Paths to nested query fields.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use dflat_model::{Step, Value};

use super::{Element, Field, FieldType, Maybe, Predicate, VectorField};

/// A type that is a member of the union `U`: the argument of `as_` and `matches`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the union `{U}` has no member `{Self}`",
    label = "not a member of `{U}`"
)]
pub trait UnionMember<U> {
    /// The type code.
    const CODE: u8;
    /// The member's name.
    const NAME: &'static str;

    /// The member's query fields, in objects of type `R`.
    type Fields<R>;

    /// The query fields of the member at the end of a path.
    fn fields<R>(path: Path<R>) -> Self::Fields<R>;
}

/// A path from an object of type `R` to a nested struct, table or union. `P` says whether every
/// object has that struct or table, or the value that holds the union.
#[doc(hidden)]
pub struct Path<R, P = Maybe> {
    name: Cow<'static, str>,
    steps: Cow<'static, [Step]>,
    types: PhantomData<fn() -> (R, P)>,
}

impl<R, P> Path<R, P> {
    /// A path of these steps from the object's root.
    #[must_use]
    pub const fn new(name: &'static str, steps: &'static [Step]) -> Self {
        Self {
            name: Cow::Borrowed(name),
            steps: Cow::Borrowed(steps),
            types: PhantomData,
        }
    }

    /// The path to the member of a vector that a condition is about.
    pub(crate) const fn member_of_vector() -> Self {
        Self::new("member", &[])
    }

    /// The value that the path leads to.
    pub(crate) fn value<T: FieldType + ?Sized>(self, default: Value) -> Field<R, T, P> {
        Field::from_parts(self.name, self.steps, default)
    }

    /// The vector one step further.
    #[must_use]
    pub fn vector<E: Element + ?Sized>(&self, name: &str, step: Step) -> VectorField<R, E> {
        let Path { name, steps, .. } = self.then::<Maybe>(name, step);
        VectorField::from_parts(name, steps)
    }

    /// The path one step further; the caller says whether every object has a value there.
    #[must_use]
    pub fn then<Q>(&self, name: &str, step: Step) -> Path<R, Q> {
        let mut steps = self.steps.to_vec();
        steps.push(step);
        let name = Cow::Owned(format!("{}.{name}", self.name));
        Path {
            name,
            steps: Cow::Owned(steps),
            types: PhantomData,
        }
    }

    /// The field one step further; the caller says whether every object has a value there.
    #[must_use]
    pub fn field<T: FieldType + ?Sized, Q>(
        &self,
        name: &str,
        step: Step,
        default: Value,
    ) -> Field<R, T, Q> {
        self.then(name, step).value(default)
    }

    /// The string that the path leads to: a union's member.
    #[must_use]
    pub fn text(self) -> Field<R, str, P> {
        self.value(Value::Null)
    }

    /// The fields of a member of the union that the path leads to.
    #[must_use]
    pub fn member<U, M: UnionMember<U>>(&self) -> M::Fields<R> {
        M::fields(self.then(M::NAME, Step::Member(M::CODE)))
    }

    /// Whether the union that the path leads to holds a member.
    #[must_use]
    pub fn matches<U, M: UnionMember<U>>(&self) -> Predicate<R> {
        self.tag().eq(M::CODE)
    }

    /// The type code of the union that the path leads to; 0 if it is empty.
    #[must_use]
    pub fn tag(&self) -> Field<R, u8, P> {
        self.field("type", Step::Tag, Value::Int(0))
    }
}

impl<R, P> Clone for Path<R, P> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            steps: self.steps.clone(),
            types: PhantomData,
        }
    }
}

impl<R, P> fmt::Debug for Path<R, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path({})", self.name)
    }
}
