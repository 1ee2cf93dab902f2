//! From the model's questions to typed queries.

use dflat::{Fetch, Field, FieldType, Operand, Order, Predicate};

use crate::model::{Cell, Condition, Operator, Path, Question};
use crate::schema::{BodySpot, Level, Note, Photo, Sample};

/// Does something with the typed field of a path.
macro_rules! with_field {
    ($path:expr, $then:ident ( $($argument:expr),* )) => {{
        let note = || Sample::BODY.as_::<Note>();
        let photo = || Sample::BODY.as_::<Photo>();
        match $path {
            Path::Id => $then(Sample::ID, $($argument),*),
            Path::Rank => $then(Sample::RANK, $($argument),*),
            Path::Size => $then(Sample::SIZE, $($argument),*),
            Path::Name => $then(Sample::NAME, $($argument),*),
            Path::Nick => $then(Sample::NICK, $($argument),*),
            Path::Code => $then(Sample::CODE, $($argument),*),
            Path::Weight => $then(Sample::WEIGHT, $($argument),*),
            Path::Mass => $then(Sample::MASS, $($argument),*),
            Path::Wide => $then(Sample::WIDE, $($argument),*),
            Path::Flag => $then(Sample::FLAG, $($argument),*),
            Path::Level => $then(Sample::LEVEL, $($argument),*),
            Path::Maybe => $then(Sample::MAYBE, $($argument),*),
            Path::BodyTag => $then(Sample::BODY.tag(), $($argument),*),
            Path::NoteText => $then(note().text(), $($argument),*),
            Path::NoteStars => $then(note().stars(), $($argument),*),
            Path::PhotoUrl => $then(photo().url(), $($argument),*),
            Path::PhotoBytes => $then(photo().bytes(), $($argument),*),
            Path::SpotX => $then(Sample::BODY.as_::<BodySpot>().x(), $($argument),*),
            Path::PointX => $then(Sample::POINT.x(), $($argument),*),
            Path::PointY => $then(Sample::POINT.y(), $($argument),*),
        }
    }};
}

/// A field's type, and how its values are read off the model's.
trait Readable: FieldType {
    type Value<'c>: Operand<Self>;

    fn read(cell: &Cell) -> Self::Value<'_>;
}

macro_rules! readable {
    ($($type:ty: $read:expr;)*) => {$(
        impl Readable for $type {
            type Value<'c> = $type;

            fn read(cell: &Cell) -> $type {
                let read: fn(&Cell) -> $type = $read;
                read(cell)
            }
        }
    )*};
}

readable! {
    i32: number;
    u64: number;
    u8: number;
    f64: real;
    f32: |cell| real(cell) as Self;
    bool: |cell| number::<u8>(cell) == 1;
    Level: |cell| match number::<u8>(cell) {
        1 => Self::Low,
        5 => Self::Mid,
        _ => Self::High,
    };
}

impl Readable for str {
    type Value<'c> = &'c Self;

    fn read(cell: &Cell) -> &Self {
        match cell {
            Cell::Text(text) => text,
            _ => panic!("{cell:?} is no text"),
        }
    }
}

fn number<N: TryFrom<i128>>(cell: &Cell) -> N {
    match cell {
        Cell::Whole(number) => N::try_from(*number).ok().unwrap(),
        _ => panic!("{cell:?} is no whole number"),
    }
}

fn real(cell: &Cell) -> f64 {
    match cell {
        Cell::Real(number) => *number,
        Cell::Missing => f64::NAN,
        _ => panic!("{cell:?} is no float"),
    }
}

fn compared<T: Readable + ?Sized>(
    field: Field<Sample, T>,
    operator: Operator,
    value: &Cell,
) -> Predicate<Sample> {
    let value = T::read(value);
    match operator {
        Operator::Equal => field.eq(value),
        Operator::NotEqual => field.ne(value),
        Operator::Less => field.lt(value),
        Operator::LessOrEqual => field.le(value),
        Operator::Greater => field.gt(value),
        Operator::GreaterOrEqual => field.ge(value),
    }
}

fn among<T: Readable + ?Sized>(field: Field<Sample, T>, values: &[Cell]) -> Predicate<Sample> {
    field.in_(values.iter().map(T::read))
}

fn missing<T: Readable + ?Sized>(field: Field<Sample, T>) -> Predicate<Sample> {
    field.is_null()
}

fn ordered<T: Readable + ?Sized>(field: Field<Sample, T>, descending: bool) -> Order<Sample> {
    if descending {
        field.descending()
    } else {
        field.ascending()
    }
}

/// A condition of the model as a typed one.
#[must_use]
pub fn condition(of: &Condition) -> Predicate<Sample> {
    match of {
        Condition::Compare(path, operator, value) => {
            with_field!(path, compared(*operator, value))
        }
        Condition::In(path, values) => with_field!(path, among(values)),
        Condition::IsNull(path) => with_field!(path, missing()),
        Condition::And(a, b) => condition(a) & condition(b),
        Condition::Or(a, b) => condition(a) | condition(b),
        Condition::Not(inner) => !condition(inner),
    }
}

/// Asks a question of the model through a typed query.
pub fn fetch<'w>(mut fetch: Fetch<'w, Sample>, question: &Question) -> Fetch<'w, Sample> {
    if let Some(of) = &question.condition {
        fetch = fetch.filter(condition(of));
    }
    for (path, descending) in &question.order {
        fetch = fetch.order_by(with_field!(path, ordered(*descending)));
    }
    match question.limit {
        Some(limit) => fetch.limit(limit),
        None => fetch,
    }
}
