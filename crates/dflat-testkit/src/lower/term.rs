//! From the model's terms to computed fields.

use dflat::{Field, FieldType, Number, Operand, Order, Predicate};

use super::field::{Readable, number, real, with_field};
use super::{compare, text_field};
use crate::model::{Cell, Domain, Key, Operator, Path, Term, Vector};
use crate::schema::{BodySpot, Note, Photo, Sample};

/// A comparison of two terms of one domain.
pub(super) fn weighed(left: &Term, operator: Operator, right: &Term) -> Predicate<Sample> {
    let domain = Term::Computed(Box::new(left.clone()), '+', Box::new(right.clone())).domain();
    match domain {
        Domain::Signed => compare(signed(left), operator, signed(right)),
        Domain::Unsigned => compare(unsigned(left), operator, unsigned(right)),
        Domain::Float => compare(float(left), operator, float(right)),
    }
}

pub(super) fn signed(term: &Term) -> Field<Sample, i64> {
    match term {
        Term::Path(path) => match path {
            Path::Id => widened(Sample::ID),
            Path::Rank => widened(Sample::RANK),
            Path::Size => widened(Sample::SIZE),
            Path::Maybe => widened(Sample::MAYBE),
            Path::NoteStars => widened(Sample::BODY.as_::<Note>().stars()),
            Path::SpotX => widened(Sample::BODY.as_::<BodySpot>().x()),
            Path::PointX => widened(Sample::POINT.x()),
            _ => panic!("{path:?} is no signed number"),
        },
        Term::Number(cell) => widened(number::<i64>(cell)),
        Term::Computed(left, operator, right) => computed(signed(left), *operator, signed(right)),
        Term::Length(_) | Term::Count(_) | Term::Position(..) => panic!("{term:?} is unsigned"),
    }
}

pub(super) fn unsigned(term: &Term) -> Field<Sample, u64> {
    match term {
        Term::Path(Path::Wide) => Sample::WIDE.into(),
        Term::Path(Path::PhotoBytes) => Sample::BODY.as_::<Photo>().bytes(),
        Term::Path(path) => panic!("{path:?} is no unsigned number"),
        Term::Number(cell) => widened(number::<u64>(cell)),
        Term::Computed(left, operator, right) => {
            computed(unsigned(left), *operator, unsigned(right))
        }
        Term::Length(path) => text_field(*path).len(),
        Term::Count(vector) => match vector {
            Vector::Tags => Sample::TAGS.len(),
            Vector::Scores => Sample::SCORES.len(),
            Vector::Notes => Sample::NOTES.len(),
            Vector::Spots => Sample::SPOTS.len(),
            Vector::Bodies => Sample::BODIES.len(),
        },
        Term::Position(path, values) => with_field!(path, position(values)),
    }
}

pub(super) fn float(term: &Term) -> Field<Sample, f64> {
    match term {
        Term::Path(Path::Weight) => Sample::WEIGHT,
        Term::Path(Path::Mass) => Sample::MASS,
        Term::Path(Path::PointY) => widened(Sample::POINT.y()),
        Term::Path(path) => panic!("{path:?} is no float"),
        Term::Number(cell) => widened(real(cell)),
        Term::Computed(left, operator, right) => computed(float(left), *operator, float(right)),
        Term::Length(_) | Term::Count(_) | Term::Position(..) => panic!("{term:?} is unsigned"),
    }
}

fn widened<T>(operand: impl Operand<Sample, T>) -> Field<Sample, T> {
    operand.into_field()
}

fn computed<T: Number<Wide = T>>(
    left: Field<Sample, T>,
    operator: char,
    right: Field<Sample, T>,
) -> Field<Sample, T> {
    match operator {
        '+' => left + right,
        '-' => left - right,
        '*' => left * right,
        '/' => left / right,
        '%' => left % right,
        _ => panic!("{operator} is no operator"),
    }
}

fn position<T: Position + ?Sized>(field: Field<Sample, T>, values: &[Cell]) -> Field<Sample, u64> {
    T::position(field, values)
}

/// The position of a value in a list of its type.
trait Position: Readable {
    fn position(field: Field<Sample, Self>, values: &[Cell]) -> Field<Sample, u64>;
}

impl<T> Position for T
where
    T: Readable + FieldType,
    for<'c> T: Readable<Value<'c> = T>,
{
    fn position(field: Field<Sample, T>, values: &[Cell]) -> Field<Sample, u64> {
        let values: Vec<T> = values.iter().map(T::read).collect();
        field.position_in(&values)
    }
}

impl Position for str {
    fn position(field: Field<Sample, Self>, values: &[Cell]) -> Field<Sample, u64> {
        field.position_in(values.iter().map(Self::read))
    }
}

/// A key of an order as a typed one.
pub(super) fn order(key: &Key) -> Order<Sample> {
    let order = match (&key.term, key.term.domain()) {
        (Term::Path(path), _) => with_field!(path, ordered(key.descending)),
        (term, Domain::Signed) => ordered(signed(term), key.descending),
        (term, Domain::Unsigned) => ordered(unsigned(term), key.descending),
        (term, Domain::Float) => ordered(float(term), key.descending),
    };
    match key.missing_first {
        None => order,
        Some(true) => order.nulls_first(),
        Some(false) => order.nulls_last(),
    }
}

fn ordered<T: FieldType + ?Sized>(field: Field<Sample, T>, descending: bool) -> Order<Sample> {
    if descending {
        field.descending()
    } else {
        field.ascending()
    }
}
