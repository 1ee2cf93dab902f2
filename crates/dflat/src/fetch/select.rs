//! Reading only some fields of the objects of a query.

use dflat_engine::fetch::value_of;
use dflat_engine::object::Malformed;
use dflat_engine::storage::Row;
use dflat_model::Expression;

use crate::{Field, FieldType};

/// The values to read from the objects of a query: a field, a computed value, or a tuple of up to
/// eight of them.
///
/// Each value is an `Option`: `None` if the object does not have it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be selected from objects of type `{R}`",
    label = "expected a field of `{R}`, or a tuple of them"
)]
pub trait Selection<R> {
    /// The values of an object.
    type Output: PartialEq + Send + Sync + 'static;

    /// The expressions, in order.
    #[doc(hidden)]
    fn expressions(self) -> Vec<(Expression, usize)>;

    /// Reads the values of the expressions from a row.
    #[doc(hidden)]
    fn read(expressions: &[Expression], row: &Row<'_>) -> Result<Self::Output, Unreadable>;
}

/// A payload is damaged.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Unreadable;

impl From<Malformed> for Unreadable {
    fn from(_: Malformed) -> Self {
        Self
    }
}

fn read_at<T: FieldType + ?Sized>(
    expressions: &[Expression],
    position: usize,
    row: &Row<'_>,
) -> Result<Option<T::Owned>, Unreadable> {
    let expression = expressions.get(position).ok_or(Unreadable)?;
    Ok(T::from_value(value_of(row, expression)?))
}

impl<R, T: FieldType + ?Sized> Selection<R> for Field<R, T> {
    type Output = Option<T::Owned>;

    fn expressions(self) -> Vec<(Expression, usize)> {
        vec![self.into_data()]
    }

    fn read(expressions: &[Expression], row: &Row<'_>) -> Result<Self::Output, Unreadable> {
        read_at::<T>(expressions, 0, row)
    }
}

macro_rules! tuples {
    ($(($($type:ident $field:ident $position:tt),*))*) => {$(
        impl<R, $($type: FieldType + ?Sized),*> Selection<R> for ($(Field<R, $type>,)*) {
            type Output = ($(Option<$type::Owned>,)*);

            fn expressions(self) -> Vec<(Expression, usize)> {
                let ($($field,)*) = self;
                vec![$($field.into_data()),*]
            }

            fn read(
                expressions: &[Expression],
                row: &Row<'_>,
            ) -> Result<Self::Output, Unreadable> {
                Ok(($(read_at::<$type>(expressions, $position, row)?,)*))
            }
        }
    )*};
}

tuples! {
    (A a 0)
    (A a 0, B b 1)
    (A a 0, B b 1, C c 2)
    (A a 0, B b 1, C c 2, D d 3)
    (A a 0, B b 1, C c 2, D d 3, E e 4)
    (A a 0, B b 1, C c 2, D d 3, E e 4, F f 5)
    (A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6)
    (A a 0, B b 1, C c 2, D d 3, E e 4, F f 5, G g 6, H h 7)
}
