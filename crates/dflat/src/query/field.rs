//! Typed fields.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use dflat_engine::object::ScalarType;
use dflat_model::{Comparison, Direction, FieldKind, Predicate as Data, Scalar, Step, Value};

use super::{Operand, Predicate};

/// A type that a query field can have: numbers, `bool`, `str`, and generated enums.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a type that queries can compare")]
pub trait FieldType: 'static {
    /// The field's type as plain data.
    #[doc(hidden)]
    const KIND: FieldKind;

    /// A value as plain data.
    #[doc(hidden)]
    fn to_value(&self) -> Value;
}

macro_rules! scalar_fields {
    ($($type:ty => $scalar:ident)*) => {$(
        impl FieldType for $type {
            const KIND: FieldKind = FieldKind::Scalar(Scalar::$scalar);

            fn to_value(&self) -> Value {
                self.to_value_ref().to_value()
            }
        }
    )*};
}

scalar_fields! {
    bool => Bool i8 => I8 u8 => U8 i16 => I16 u16 => U16 i32 => I32 u32 => U32 i64 => I64 u64 => U64
    f32 => F32 f64 => F64
}

impl FieldType for str {
    const KIND: FieldKind = FieldKind::Text;

    fn to_value(&self) -> Value {
        Value::text(self)
    }
}

/// Names the types without owning values of them.
type Types<R, T> = PhantomData<fn() -> (R, Box<T>)>;

/// A field of objects of type `R`, with values of type `T`.
///
/// Generated code has one for each field that queries can use, such as `Post::TITLE` of type
/// `Field<Post, str>`. Comparisons take values and references, strings in any form, and nothing
/// else: comparing with a value of another type, or mixing fields of two types of objects, does not
/// compile.
///
/// A missing value (an absent string; any field of an absent nested table, struct or union member)
/// makes a comparison unknown. NaN counts as missing. Strings compare by their UTF-8 bytes, enums
/// by their numbers.
pub struct Field<R, T: ?Sized> {
    inner: dflat_model::Field,
    types: Types<R, T>,
}

impl<R, T: FieldType + ?Sized> Field<R, T> {
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
        let inner = dflat_model::Field {
            name,
            steps,
            kind: T::KIND,
            default,
        };
        Self {
            inner,
            types: PhantomData,
        }
    }

    fn compare(self, operator: Comparison, value: Value) -> Predicate<R> {
        Predicate::new(Data::Compare {
            field: self.inner,
            operator,
            value,
        })
    }

    /// The field's value equals `value`.
    #[must_use]
    pub fn eq(self, value: impl Operand<T>) -> Predicate<R> {
        self.compare(Comparison::Equal, value.into_value())
    }

    /// The field has a value, and it differs from `value`.
    #[must_use]
    pub fn ne(self, value: impl Operand<T>) -> Predicate<R> {
        self.compare(Comparison::NotEqual, value.into_value())
    }

    /// The field's value is less than `value`.
    #[must_use]
    pub fn lt(self, value: impl Operand<T>) -> Predicate<R> {
        self.compare(Comparison::Less, value.into_value())
    }

    /// The field's value is at most `value`.
    #[must_use]
    pub fn le(self, value: impl Operand<T>) -> Predicate<R> {
        self.compare(Comparison::LessOrEqual, value.into_value())
    }

    /// The field's value is greater than `value`.
    #[must_use]
    pub fn gt(self, value: impl Operand<T>) -> Predicate<R> {
        self.compare(Comparison::Greater, value.into_value())
    }

    /// The field's value is at least `value`.
    #[must_use]
    pub fn ge(self, value: impl Operand<T>) -> Predicate<R> {
        self.compare(Comparison::GreaterOrEqual, value.into_value())
    }

    /// The field's value is one of `values`.
    #[must_use]
    pub fn in_<O: Operand<T>>(self, values: impl IntoIterator<Item = O>) -> Predicate<R> {
        let values = values.into_iter().map(Operand::into_value).collect();
        Predicate::new(Data::In {
            field: self.inner,
            values,
        })
    }

    /// The field has no value.
    #[must_use]
    pub fn is_null(self) -> Predicate<R> {
        Predicate::new(Data::IsNull(self.inner))
    }

    /// The field has a value.
    #[must_use]
    pub fn is_not_null(self) -> Predicate<R> {
        !self.is_null()
    }

    /// The order by this field from the smallest value; objects without one come first.
    #[must_use]
    pub fn ascending(self) -> Order<R> {
        Order::new(self.inner, Direction::Ascending)
    }

    /// The order by this field from the largest value; objects without one come last.
    #[must_use]
    pub fn descending(self) -> Order<R> {
        Order::new(self.inner, Direction::Descending)
    }
}

impl<R, T: ?Sized> Clone for Field<R, T> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            types: PhantomData,
        }
    }
}

impl<R, T: ?Sized> fmt::Debug for Field<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field({})", self.inner)
    }
}

/// A key of an order, made by [`Field::ascending`] and [`Field::descending`].
pub struct Order<R> {
    inner: dflat_model::Order,
    object: PhantomData<fn() -> R>,
}

impl<R> Order<R> {
    fn new(field: dflat_model::Field, direction: Direction) -> Self {
        Self {
            inner: dflat_model::Order { field, direction },
            object: PhantomData,
        }
    }

    pub(crate) fn into_data(self) -> dflat_model::Order {
        self.inner
    }
}

impl<R> Clone for Order<R> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            object: PhantomData,
        }
    }
}

impl<R> fmt::Debug for Order<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Order({})", self.inner)
    }
}
