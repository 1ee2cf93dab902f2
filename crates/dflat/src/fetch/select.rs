//! Reading only some fields of the objects of a query.

use dflat_engine::fetch::value_of;
use dflat_engine::object::Malformed;
use dflat_engine::storage::Row;
use dflat_model::Expression;

use crate::{Field, FieldType, Presence};

/// The values to read from the objects of a query: a field, a computed value, or a tuple of up to
/// eight of them.
///
/// The value of a field that every object has is plain. Any other value is an `Option`: `None` if
/// the object does not have it. [`Sure`](crate::Sure) says which fields every object has.
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

fn read_at<T: FieldType + ?Sized, P: Presence>(
    expressions: &[Expression],
    position: usize,
    row: &Row<'_>,
) -> Result<P::Read<T::Owned>, Unreadable> {
    let expression = expressions.get(position).ok_or(Unreadable)?;
    P::read(T::from_value(value_of(row, expression)?)).ok_or(Unreadable)
}

impl<R, T: FieldType + ?Sized, P: Presence> Selection<R> for Field<R, T, P> {
    type Output = P::Read<T::Owned>;

    fn expressions(self) -> Vec<(Expression, usize)> {
        vec![self.into_data()]
    }

    fn read(expressions: &[Expression], row: &Row<'_>) -> Result<Self::Output, Unreadable> {
        read_at::<T, P>(expressions, 0, row)
    }
}

macro_rules! tuples {
    ($(($($type:ident $presence:ident $field:ident $position:tt),*))*) => {$(
        impl<R, $($type: FieldType + ?Sized, $presence: Presence),*> Selection<R>
            for ($(Field<R, $type, $presence>,)*)
        {
            type Output = ($($presence::Read<$type::Owned>,)*);

            fn expressions(self) -> Vec<(Expression, usize)> {
                let ($($field,)*) = self;
                vec![$($field.into_data()),*]
            }

            fn read(
                expressions: &[Expression],
                row: &Row<'_>,
            ) -> Result<Self::Output, Unreadable> {
                Ok(($(read_at::<$type, $presence>(expressions, $position, row)?,)*))
            }
        }
    )*};
}

tuples! {
    (A PA a 0)
    (A PA a 0, B PB b 1)
    (A PA a 0, B PB b 1, C PC c 2)
    (A PA a 0, B PB b 1, C PC c 2, D PD d 3)
    (A PA a 0, B PB b 1, C PC c 2, D PD d 3, E PE e 4)
    (A PA a 0, B PB b 1, C PC c 2, D PD d 3, E PE e 4, F PF f 5)
    (A PA a 0, B PB b 1, C PC c 2, D PD d 3, E PE e 4, F PF f 5, G PG g 6)
    (A PA a 0, B PB b 1, C PC c 2, D PD d 3, E PE e 4, F PF f 5, G PG g 6, H PH h 7)
}
