//! Fields of typed queries as terms of the model.

use dflat::{Fetch, Field};

use super::field::{Readable, with_field};
use super::term::{float, signed, unsigned};
use crate::model::{Cell, Domain, Path, Term};
use crate::schema::{BodySpot, Note, Photo, Sample};

/// The keys and the values of a field.
#[must_use]
pub fn pairs(path: Path, fetch: Fetch<'_, Sample>) -> Vec<(i32, Cell)> {
    with_field!(path, selected(fetch))
}

fn selected<T: Readable + ?Sized>(
    field: Field<Sample, T>,
    fetch: Fetch<'_, Sample>,
) -> Vec<(i32, Cell)> {
    let rows = fetch.select((Sample::ID, field)).unwrap().into_iter();
    let cell = |value: Option<T::Owned>| value.map_or(Cell::Missing, |value| T::cell(&value));
    rows.map(|(id, value)| (id, cell(value))).collect()
}

/// The smallest and the largest value of a field.
#[must_use]
pub fn extremes(path: Path, fetch: [Fetch<'_, Sample>; 2]) -> [Cell; 2] {
    with_field!(path, smallest_and_largest(fetch))
}

fn smallest_and_largest<T: Readable + ?Sized>(
    field: Field<Sample, T>,
    [smallest, largest]: [Fetch<'_, Sample>; 2],
) -> [Cell; 2] {
    [smallest.min(field.clone()), largest.max(field)].map(|value| {
        value
            .unwrap()
            .map_or(Cell::Missing, |value| T::cell(&value))
    })
}

/// The sum and the mean of a term: an error if the sum does not fit.
pub fn total(term: &Term, fetch: [Fetch<'_, Sample>; 2]) -> (dflat::Result<Cell>, Option<f64>) {
    let [sum, mean] = fetch;
    let whole = |number: i128| Cell::Whole(number);
    match term.domain() {
        Domain::Signed => (
            sum.sum(signed(term))
                .map(|sum| sum.map_or(Cell::Missing, |n| whole(n.into()))),
            mean.avg(signed(term)).unwrap(),
        ),
        Domain::Unsigned => (
            sum.sum(unsigned(term))
                .map(|sum| sum.map_or(Cell::Missing, |n| whole(n.into()))),
            mean.avg(unsigned(term)).unwrap(),
        ),
        Domain::Float => (
            sum.sum(float(term))
                .map(|sum| sum.map_or(Cell::Missing, Cell::Real)),
            mean.avg(float(term)).ok().flatten(),
        ),
    }
}
