//! The typed field of a path, and values of its type.

use dflat::{FieldType, Operand};
use dflat_model::Value;

use crate::model::Cell;
use crate::schema::{Level, Mark, Sample};

/// Runs code with the typed field of a path.
macro_rules! with_field {
    ($path:expr, $then:ident ( $($argument:expr),* )) => {{
        let note = || Sample::BODY.as_::<Note>();
        let photo = || Sample::BODY.as_::<Photo>();
        match $path {
            Path::Id => $then(Sample::ID.into(), $($argument),*),
            Path::Rank => $then(Sample::RANK.into(), $($argument),*),
            Path::Size => $then(Sample::SIZE.into(), $($argument),*),
            Path::Name => $then(Sample::NAME.into(), $($argument),*),
            Path::Nick => $then(Sample::NICK.into(), $($argument),*),
            Path::Code => $then(Sample::CODE.into(), $($argument),*),
            Path::Weight => $then(Sample::WEIGHT.into(), $($argument),*),
            Path::Mass => $then(Sample::MASS.into(), $($argument),*),
            Path::Wide => $then(Sample::WIDE.into(), $($argument),*),
            Path::Flag => $then(Sample::FLAG.into(), $($argument),*),
            Path::Level => $then(Sample::LEVEL.into(), $($argument),*),
            Path::Maybe => $then(Sample::MAYBE.into(), $($argument),*),
            Path::BodyTag => $then(Sample::BODY.tag().into(), $($argument),*),
            Path::NoteText => $then(note().text().into(), $($argument),*),
            Path::NoteStars => $then(note().stars().into(), $($argument),*),
            Path::PhotoUrl => $then(photo().url().into(), $($argument),*),
            Path::PhotoBytes => $then(photo().bytes().into(), $($argument),*),
            Path::SpotX => $then(Sample::BODY.as_::<BodySpot>().x().into(), $($argument),*),
            Path::PointX => $then(Sample::POINT.x().into(), $($argument),*),
            Path::PointY => $then(Sample::POINT.y().into(), $($argument),*),
            Path::Marks => $then(Sample::MARKS.into(), $($argument),*),
        }
    }};
}

/// A field's type, and the conversion of its values from and to those of the model.
pub(super) trait Readable: FieldType {
    type Value<'c>: Operand<Sample, Self>;

    fn read(cell: &Cell) -> Self::Value<'_>;

    /// A value that was read, in the form of the model.
    fn cell(owned: &Self::Owned) -> Cell;
}

macro_rules! readable {
    ($($type:ty: $read:expr;)*) => {$(
        impl Readable for $type {
            type Value<'c> = $type;

            fn read(cell: &Cell) -> $type {
                let read: fn(&Cell) -> $type = $read;
                read(cell)
            }

            fn cell(owned: &$type) -> Cell {
                cell(&owned.to_value())
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
    Mark: |cell| Self::from_bits(number(cell));
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

    fn cell(owned: &String) -> Cell {
        Cell::Text(owned.clone())
    }
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Missing,
        Value::Int(number) => Cell::Whole((*number).into()),
        Value::UInt(number) => Cell::Whole((*number).into()),
        Value::Float(number) => Cell::Real(*number),
        Value::Text(text) => Cell::Text(text.clone().into_owned()),
    }
}

pub(super) fn number<N: TryFrom<i128>>(cell: &Cell) -> N {
    match cell {
        Cell::Whole(number) => N::try_from(*number).ok().unwrap(),
        _ => panic!("{cell:?} is no whole number"),
    }
}

pub(super) fn real(cell: &Cell) -> f64 {
    match cell {
        Cell::Real(number) => *number,
        Cell::Missing => f64::NAN,
        _ => panic!("{cell:?} is no float"),
    }
}

pub(super) use with_field;
