//! From the model's questions to typed queries.

mod field;
mod member;
pub mod number;
mod term;
pub mod text;

use dflat::{Fetch, Field, IgnoreCase, Operand, Predicate};

use crate::model::{Case, Cell, Condition, Key, Operator, Path, Question, Share, Test};
use crate::schema::{BodySpot, Mark, Note, Photo, Sample};
use field::{Readable, with_field};

/// A comparison of any field.
fn compare<R, T: dflat::FieldType + ?Sized>(
    field: Field<R, T>,
    operator: Operator,
    value: impl Operand<R, T>,
) -> Predicate<R> {
    match operator {
        Operator::Equal => field.eq(value),
        Operator::NotEqual => field.ne(value),
        Operator::Less => field.lt(value),
        Operator::LessOrEqual => field.le(value),
        Operator::Greater => field.gt(value),
        Operator::GreaterOrEqual => field.ge(value),
    }
}

fn compared<T: Readable + ?Sized>(
    field: Field<Sample, T>,
    operator: Operator,
    value: &Cell,
) -> Predicate<Sample> {
    compare(field, operator, T::read(value))
}

fn between<T: Readable + ?Sized>(
    field: Field<Sample, T>,
    first: &Cell,
    last: &Cell,
) -> Predicate<Sample> {
    field.between(T::read(first), T::read(last))
}

fn outside<T: Readable + ?Sized>(field: Field<Sample, T>, values: &[Cell]) -> Predicate<Sample> {
    field.not_in(values.iter().map(T::read))
}

/// The field of a path of strings.
fn text_field(path: Path) -> Field<Sample, str> {
    match path {
        Path::Name => Sample::NAME,
        Path::Nick => Sample::NICK,
        Path::Code => Sample::CODE,
        Path::NoteText => Sample::BODY.as_::<Note>().text(),
        Path::PhotoUrl => Sample::BODY.as_::<Photo>().url(),
        _ => panic!("{path:?} is no string"),
    }
}

fn tested(path: Path, test: Test, pattern: &str, case: Case) -> Predicate<Sample> {
    let field = text_field(path);
    match (case, test) {
        (Case::Exact, Test::Equals) => field.eq(pattern),
        (Case::Exact, Test::Begins) => field.starts_with(pattern),
        (Case::Exact, Test::Ends) => field.ends_with(pattern),
        (Case::Exact, Test::Has) => field.contains(pattern),
        (Case::Exact, Test::Like) => field.like(pattern),
        (Case::Ignored, _) => ignoring_case(field.ignore_case(), test, pattern),
    }
}

fn ignoring_case(field: IgnoreCase<Sample>, test: Test, pattern: &str) -> Predicate<Sample> {
    match test {
        Test::Equals => field.eq(pattern),
        Test::Begins => field.starts_with(pattern),
        Test::Ends => field.ends_with(pattern),
        Test::Has => field.contains(pattern),
        Test::Like => field.like(pattern),
    }
}

fn among<T: Readable + ?Sized>(field: Field<Sample, T>, values: &[Cell]) -> Predicate<Sample> {
    field.in_(values.iter().map(T::read))
}

fn missing<T: Readable + ?Sized>(field: Field<Sample, T>) -> Predicate<Sample> {
    field.is_null()
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
        Condition::NotIn(path, values) => with_field!(path, outside(values)),
        Condition::Between(path, first, last) => with_field!(path, between(first, last)),
        Condition::Weigh(left, operator, right) => term::weighed(left, *operator, right),
        Condition::Text(path, test, pattern, case) => tested(*path, *test, pattern, *case),
        Condition::Marks(Share::All, bits) => Sample::MARKS.has_all(Mark::from_bits(*bits)),
        Condition::Marks(Share::Any, bits) => Sample::MARKS.has_any(Mark::from_bits(*bits)),
        Condition::Members(share, each) => member::members(*share, each),
    }
}

/// The typed form of a key of an order, as it prints itself.
#[must_use]
pub fn typed_order(key: &Key) -> String {
    format!("{:?}", term::order(key))
}

/// Converts a query of the model to a typed query.
pub fn fetch<'w>(mut fetch: Fetch<'w, Sample>, question: &Question) -> Fetch<'w, Sample> {
    if let Some(of) = &question.condition {
        fetch = fetch.filter(condition(of));
    }
    for key in &question.order {
        fetch = fetch.order_by(term::order(key));
    }
    let fetch = fetch.offset(question.offset);
    match question.limit {
        Some(limit) => fetch.limit(limit),
        None => fetch,
    }
}
