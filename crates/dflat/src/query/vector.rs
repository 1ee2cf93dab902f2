//! Conditions on the members of vectors.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use dflat_model::{Expression, FieldKind, Step, Value, VectorMember};

use super::nested::Nested;
use super::{Field, FieldType, Operand, Path, Predicate};

/// A type of the members of vectors.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a type that vectors hold")]
pub trait Element: 'static {
    /// The members' type as plain data.
    #[doc(hidden)]
    const MEMBER: VectorMember;

    /// The input of a condition on a member: the member itself if it is a number, a string or an
    /// enum; otherwise its fields.
    type Fields<R>;

    /// The fields at the end of a path.
    #[doc(hidden)]
    fn fields<R>(path: Path<R>) -> Self::Fields<R>;
}

impl<T: FieldType + ?Sized> Element for T {
    const MEMBER: VectorMember = match T::KIND {
        FieldKind::Scalar(scalar) => VectorMember::Scalar(scalar),
        FieldKind::Text => VectorMember::Text,
    };

    type Fields<R> = Field<R, T>;

    fn fields<R>(path: Path<R>) -> Field<R, T> {
        path.value(Value::Null)
    }
}

/// The type of a vector's member in conditions. Its fields differ from those of the object `R` that
/// has the vector.
#[derive(Clone, Copy, Debug)]
pub struct Member<R>(PhantomData<fn() -> R>);

/// Marks the types without owning values of them.
type Types<R, E> = PhantomData<fn() -> (R, Box<E>)>;

/// A vector of objects of type `R`, with members of type `E`.
///
/// Conditions on members do not read more of a vector than they need.
pub struct VectorField<R, E: ?Sized> {
    name: Cow<'static, str>,
    steps: Cow<'static, [Step]>,
    types: Types<R, E>,
}

impl<R, E: Element + ?Sized> VectorField<R, E> {
    /// A vector of generated code.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(name: &'static str, steps: &'static [Step]) -> Self {
        Self::from_parts(Cow::Borrowed(name), Cow::Borrowed(steps))
    }

    pub(crate) const fn from_parts(name: Cow<'static, str>, steps: Cow<'static, [Step]>) -> Self {
        Self {
            name,
            steps,
            types: PhantomData,
        }
    }

    /// The number of members: 0 if the vector is absent; missing if the table or struct that should
    /// hold the vector is missing.
    #[must_use]
    pub fn len(self) -> Field<R, u64> {
        Field::of(Nested::new(Expression::Count(self.into_data()), 0))
    }

    /// The vector has no members.
    #[must_use]
    pub fn is_empty(self) -> Predicate<R> {
        self.len().eq(0)
    }

    /// Some member meets a condition, which is built from the member or its fields.
    ///
    /// The result is unknown if the condition is true for no member and unknown for one, and if the
    /// table or struct that should hold the vector is missing.
    #[must_use]
    pub fn any(
        self,
        condition: impl FnOnce(E::Fields<Member<R>>) -> Predicate<Member<R>>,
    ) -> Predicate<R> {
        let condition = condition(E::fields(Path::member_of_vector())).into_nested();
        Predicate::of(condition.of_any(self.into_data()))
    }

    /// All members meet a condition. An empty vector meets every condition.
    #[must_use]
    pub fn all(
        self,
        condition: impl FnOnce(E::Fields<Member<R>>) -> Predicate<Member<R>>,
    ) -> Predicate<R> {
        !self.any(|member| !condition(member))
    }

    fn into_data(self) -> dflat_model::VectorField {
        dflat_model::VectorField {
            name: self.name,
            steps: self.steps,
            member: E::MEMBER,
        }
    }
}

impl<R, E: FieldType + ?Sized> VectorField<R, E> {
    /// A member equals `value`.
    #[must_use]
    pub fn contains(self, value: impl Operand<Member<R>, E>) -> Predicate<R> {
        self.any(|member| member.eq(value))
    }
}

impl<R, E: ?Sized> Clone for VectorField<R, E> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            steps: self.steps.clone(),
            types: PhantomData,
        }
    }
}

impl<R, E: ?Sized> fmt::Debug for VectorField<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VectorField({})", self.name)
    }
}
