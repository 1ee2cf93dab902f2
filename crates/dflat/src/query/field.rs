//! Typed fields.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use dflat_engine::object::ScalarType;
use dflat_model::{Comparison, Direction, Expression, FieldKind, Scalar, Step, Value, ValueRef};

use super::nested::{Among, Nested};
use super::{Maybe, Operand, Order, Predicate, Sure};

/// A type that a query field can have: numbers, `bool`, `str`, and generated enums.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a type that queries can compare")]
pub trait FieldType: 'static {
    /// The owned type of the field's value, for projections.
    type Owned: PartialEq + Send + Sync + 'static;

    /// The field's type as plain data.
    #[doc(hidden)]
    const KIND: FieldKind;

    /// A value as plain data.
    #[doc(hidden)]
    fn to_value(&self) -> Value;

    /// A value from plain data; `None` if it is NULL.
    #[doc(hidden)]
    fn from_value(value: ValueRef<'_>) -> Option<Self::Owned>;
}

macro_rules! scalar_fields {
    ($($type:ty => $scalar:ident $read:expr;)*) => {$(
        impl FieldType for $type {
            type Owned = Self;
            const KIND: FieldKind = FieldKind::Scalar(Scalar::$scalar);

            #[inline]
            fn to_value(&self) -> Value {
                self.to_value_ref().to_value()
            }

            fn from_value(value: ValueRef<'_>) -> Option<Self> {
                let read: fn(ValueRef<'_>) -> Option<Self> = $read;
                read(value)
            }
        }
    )*};
}

scalar_fields! {
    bool => Bool |value| integer(value).map(|value: u8| value != 0);
    i8 => I8 integer;
    u8 => U8 integer;
    i16 => I16 integer;
    u16 => U16 integer;
    i32 => I32 integer;
    u32 => U32 integer;
    i64 => I64 integer;
    u64 => U64 integer;
    f32 => F32 |value| float(value).map(|value| value as Self);
    f64 => F64 float;
}

fn integer<N: TryFrom<i64> + TryFrom<u64>>(value: ValueRef<'_>) -> Option<N> {
    match value {
        ValueRef::Int(value) => N::try_from(value).ok(),
        ValueRef::UInt(value) => N::try_from(value).ok(),
        _ => None,
    }
}

const fn float(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Float(value) => Some(value),
        _ => None,
    }
}

impl FieldType for str {
    type Owned = String;
    const KIND: FieldKind = FieldKind::Text;

    fn to_value(&self) -> Value {
        Value::text(self)
    }

    fn from_value(value: ValueRef<'_>) -> Option<String> {
        match value {
            ValueRef::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

/// Marks the types without owning values of them.
type Types<R, T, P> = PhantomData<fn() -> (R, Box<T>, P)>;

/// A field of objects of type `R`, with values of type `T`; or a value that is computed from
/// fields.
///
/// Generated code has a `Field` for each field that queries can use, such as `Post::TITLE` of type
/// `Field<Post, str>`. A field is compared with values and references, strings in any form, and
/// other fields of the same objects. Comparing with a value of another type, or mixing fields of
/// two types of objects, does not compile. Integers of any size compare with each other if both are
/// signed or both are unsigned.
///
/// A missing value (an absent string; any field of an absent nested table, struct or union member)
/// makes a comparison unknown. NaN counts as missing. Strings compare by their UTF-8 bytes, enums
/// by their numbers.
///
/// # Arithmetic
///
/// `+ - * / %` compute in `i64`, `u64` or `f64`, whichever of them contains the field's type.
/// Overflow and division by zero give a missing value; `/` of integers cuts off the fraction, and
/// the result of `%` has the sign of the left side.
///
/// Computations nest up to 256 deep, like conditions; a query with deeper ones fails with
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
///
/// # Presence
///
/// `P` is [`Sure`](crate::Sure) if every object has the value, and [`Maybe`] otherwise. Only
/// [`select`](crate::Fetch::select) and [`live_select`](crate::Fetch::live_select) tell them apart:
/// the values of the former are plain, those of the latter an `Option`. A function that takes a
/// `Field<Post, i32>` is called with `Post::PRIORITY.into()`.
pub struct Field<R, T: ?Sized, P = Maybe> {
    data: Nested<Expression>,
    types: Types<R, T, P>,
}

impl<R, T: FieldType + ?Sized, P> Field<R, T, P> {
    /// A field of generated code.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(name: &'static str, steps: &'static [Step], default: Value) -> Self {
        Self::from_parts(Cow::Borrowed(name), Cow::Borrowed(steps), default)
    }

    pub(crate) const fn from_parts(
        name: Cow<'static, str>,
        steps: Cow<'static, [Step]>,
        default: Value,
    ) -> Self {
        let field = dflat_model::Field {
            name,
            steps,
            kind: T::KIND,
            default,
        };
        Self::of(Nested {
            inner: Expression::Field(field),
            depth: 0,
        })
    }

    /// The field's value equals `value`; for `None`, the field has no value, as
    /// [`is_null`](Self::is_null) says.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use post::Post;
    /// let tag: Option<String> = None;
    /// assert_eq!(Post::TAG.eq(tag.as_deref()).to_string(), "tag is null");
    /// assert_eq!(Post::TAG.eq(Some("new")).to_string(), r#"tag == "new""#);
    /// ```
    #[must_use]
    pub fn eq(self, value: impl Operand<R, T>) -> Predicate<R> {
        self.compare_present(Comparison::Equal, value)
    }

    /// The field has a value, and it differs from `value`; for `None`, the field has a value, as
    /// [`is_not_null`](Self::is_not_null) says.
    #[must_use]
    pub fn ne(self, value: impl Operand<R, T>) -> Predicate<R> {
        self.compare_present(Comparison::NotEqual, value)
    }

    /// The field's value is less than `value`.
    #[must_use]
    pub fn lt(self, value: impl Operand<R, T>) -> Predicate<R> {
        self.compare(Comparison::Less, value)
    }

    /// The field's value is at most `value`.
    #[must_use]
    pub fn le(self, value: impl Operand<R, T>) -> Predicate<R> {
        self.compare(Comparison::LessOrEqual, value)
    }

    /// The field's value is greater than `value`.
    #[must_use]
    pub fn gt(self, value: impl Operand<R, T>) -> Predicate<R> {
        self.compare(Comparison::Greater, value)
    }

    /// The field's value is at least `value`.
    #[must_use]
    pub fn ge(self, value: impl Operand<R, T>) -> Predicate<R> {
        self.compare(Comparison::GreaterOrEqual, value)
    }

    /// The field's value is at least `first` and at most `last`.
    #[must_use]
    pub fn between(self, first: impl Operand<R, T>, last: impl Operand<R, T>) -> Predicate<R> {
        self.clone().ge(first) & self.le(last)
    }

    /// The field's value is one of `values`, of which `None` is met by a field without a value.
    /// There may be any number of them; without any, the condition is never true.
    #[must_use]
    pub fn in_<O: Operand<R, T>>(self, values: impl IntoIterator<Item = O>) -> Predicate<R> {
        let mut among = Among::new(self.data);
        for value in values {
            among.add(value.into_present().map(Field::into_nested));
        }
        Predicate::of(among.end())
    }

    /// The field has a value, and it is none of `values`; `None` among them changes nothing.
    #[must_use]
    pub fn not_in<O: Operand<R, T>>(self, values: impl IntoIterator<Item = O>) -> Predicate<R> {
        !self.in_(values)
    }

    /// The field has no value.
    #[must_use]
    pub fn is_null(self) -> Predicate<R> {
        Predicate::of(self.data.test_null())
    }

    /// The field has a value.
    #[must_use]
    pub fn is_not_null(self) -> Predicate<R> {
        !self.is_null()
    }

    /// The position of the field's value in a list, from 0; the length of the list if it is not
    /// there. Ordering by it puts values in an order of your own.
    #[must_use]
    pub fn position_in<'v>(self, values: impl IntoIterator<Item = &'v T>) -> Field<R, u64> {
        let values = values.into_iter().map(T::to_value).collect();
        let position = |operand| Expression::Position { operand, values };
        self.computed(position)
    }

    /// The order by this field from the smallest value; objects without one come first.
    #[must_use]
    pub fn ascending(self) -> Order<R> {
        Order::of(self.data.order(Direction::Ascending))
    }

    /// The order by this field from the largest value; objects without one come last.
    #[must_use]
    pub fn descending(self) -> Order<R> {
        Order::of(self.data.order(Direction::Descending))
    }

    fn compare(self, operator: Comparison, value: impl Operand<R, T>) -> Predicate<R> {
        Predicate::of(self.data.compare(operator, value.into_field().data))
    }

    fn compare_present(self, operator: Comparison, value: impl Operand<R, T>) -> Predicate<R> {
        let value = value.into_present().map(Field::into_nested);
        Predicate::of(self.data.compare_present(operator, value))
    }
}

impl<R, T: ?Sized> Field<R, T> {
    /// The same value for all objects.
    pub(super) fn literal(value: Value) -> Self {
        Self::of(Nested::literal(value))
    }
}

impl<R, T: ?Sized, P> Field<R, T, P> {
    pub(super) const fn of(data: Nested<Expression>) -> Self {
        let types = PhantomData;
        Self { data, types }
    }

    /// A value that is computed from this field alone.
    pub(super) fn computed<U: ?Sized>(
        self,
        compute: impl FnOnce(Box<Expression>) -> Expression,
    ) -> Field<R, U> {
        Field::of(self.data.computed(compute))
    }

    /// The same value with another static type.
    pub(super) fn retyped<U: ?Sized>(self) -> Field<R, U> {
        Field::of(self.data)
    }

    pub(super) fn into_nested(self) -> Nested<Expression> {
        self.data
    }

    /// The plain data, and the depth of the computation.
    pub(crate) fn into_data(self) -> (Expression, usize) {
        (self.data.inner, self.data.depth)
    }
}

/// Forgets that every object has the value.
impl<R, T: ?Sized> From<Field<R, T, Sure>> for Field<R, T> {
    fn from(field: Field<R, T, Sure>) -> Self {
        field.retyped()
    }
}

impl<R, T: ?Sized, P> Clone for Field<R, T, P> {
    fn clone(&self) -> Self {
        Self::of(self.data.clone())
    }
}

impl<R, T: ?Sized, P> fmt::Debug for Field<R, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field({})", self.data.inner)
    }
}
