//! Paths to nested query fields.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use dflat_model::{Step, Value};

use super::{Element, Field, FieldType, Predicate, VectorField};

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

/// A path from an object of type `R` to a nested struct, table or union.
#[doc(hidden)]
pub struct Path<R> {
    name: Cow<'static, str>,
    steps: Cow<'static, [Step]>,
    object: PhantomData<fn() -> R>,
}

impl<R> Path<R> {
    /// A path of these steps from the object's root.
    #[must_use]
    pub const fn new(name: &'static str, steps: &'static [Step]) -> Self {
        Self {
            name: Cow::Borrowed(name),
            steps: Cow::Borrowed(steps),
            object: PhantomData,
        }
    }

    /// The path to the member of a vector that a condition is about.
    pub(crate) const fn member_of_vector() -> Self {
        Self::new("member", &[])
    }

    /// The value that the path leads to.
    pub(crate) fn value<T: FieldType + ?Sized>(self, default: Value) -> Field<R, T> {
        Field::from_parts(self.name, self.steps, default)
    }

    /// The vector one step further.
    #[must_use]
    pub fn vector<E: Element + ?Sized>(&self, name: &str, step: Step) -> VectorField<R, E> {
        let Self { name, steps, .. } = self.then(name, step);
        VectorField::from_parts(name, steps)
    }

    /// The path one step further.
    #[must_use]
    pub fn then(&self, name: &str, step: Step) -> Self {
        let mut steps = self.steps.to_vec();
        steps.push(step);
        let name = Cow::Owned(format!("{}.{name}", self.name));
        Self {
            name,
            steps: Cow::Owned(steps),
            object: PhantomData,
        }
    }

    /// The field one step further.
    #[must_use]
    pub fn field<T: FieldType + ?Sized>(
        &self,
        name: &str,
        step: Step,
        default: Value,
    ) -> Field<R, T> {
        let Self { name, steps, .. } = self.then(name, step);
        Field::from_parts(name, steps, default)
    }

    /// The string that the path leads to: a union's member.
    #[must_use]
    pub fn text(self) -> Field<R, str> {
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
    pub fn tag(&self) -> Field<R, u8> {
        self.field("type", Step::Tag, Value::Int(0))
    }
}

impl<R> Clone for Path<R> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            steps: self.steps.clone(),
            object: PhantomData,
        }
    }
}

impl<R> fmt::Debug for Path<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path({})", self.name)
    }
}
