//! Terms computed from the fields of `Sample`.

use super::cell::{compare, real};
use super::{Cell, Path};
use crate::schema::SampleData;

/// A term to compare or to sort by.
#[derive(Clone, Debug)]
pub enum Term {
    /// A field.
    Path(Path),
    /// A number.
    Number(Cell),
    /// Two numbers of one domain, computed with `+ - * / %`.
    Computed(Box<Self>, char, Box<Self>),
    /// The number of characters of a string.
    Length(Path),
    /// The number of members of a vector.
    Count(Vector),
    /// The position of a value in a list.
    Position(Path, Vec<Cell>),
}

/// A vector of `Sample`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the schema's")]
pub enum Vector {
    Tags,
    Scores,
    Notes,
    Spots,
    Bodies,
}

/// The domain in which a term is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Domain {
    Signed,
    Unsigned,
    Float,
}

impl Term {
    /// The domain; for a literal, the first domain that contains it.
    #[must_use]
    pub fn domain(&self) -> Domain {
        match self {
            Self::Path(Path::Weight | Path::Mass | Path::PointY) | Self::Number(Cell::Real(_)) => {
                Domain::Float
            }
            Self::Path(Path::Wide | Path::PhotoBytes)
            | Self::Length(_)
            | Self::Count(_)
            | Self::Position(..) => Domain::Unsigned,
            Self::Path(_) | Self::Number(_) => Domain::Signed,
            Self::Computed(left, _, right) => match (left.domain(), right.domain()) {
                (Domain::Signed, domain) | (domain, _) => domain,
            },
        }
    }

    /// The value for an object.
    #[must_use]
    pub fn of(&self, data: &SampleData) -> Cell {
        let whole = |number: usize| Cell::Whole(i128::try_from(number).unwrap());
        match self {
            Self::Path(path) => path.of(data),
            Self::Number(cell) => cell.clone(),
            Self::Computed(left, operator, right) => {
                computed(self.domain(), &left.of(data), *operator, &right.of(data))
            }
            Self::Length(path) => match path.of(data) {
                Cell::Text(text) => whole(text.chars().count()),
                _ => Cell::Missing,
            },
            Self::Count(vector) => whole(match vector {
                Vector::Tags => data.tags.len(),
                Vector::Scores => data.scores.len(),
                Vector::Notes => data.notes.len(),
                Vector::Spots => data.spots.len(),
                Vector::Bodies => data.bodies.len(),
            }),
            Self::Position(path, values) => {
                let cell = path.of(data);
                if cell == Cell::Missing {
                    return Cell::Missing;
                }
                let equal = |value: &Cell| compare(&cell, value).is_some_and(|o| o.is_eq());
                let first = values.iter().position(equal);
                whole(first.unwrap_or(values.len()))
            }
        }
    }
}

fn computed(domain: Domain, left: &Cell, operator: char, right: &Cell) -> Cell {
    match (left, right) {
        (Cell::Whole(left), Cell::Whole(right)) => {
            let result = match operator {
                '+' => Some(left + right),
                '-' => Some(left - right),
                // The product of two 64-bit numbers may overflow; no domain contains it then.
                '*' => left.checked_mul(*right),
                '/' => left.checked_div(*right),
                '%' => left.checked_rem(*right),
                _ => panic!("{operator} is no operator"),
            };
            let has = |number: &i128| match domain {
                Domain::Signed => i64::try_from(*number).is_ok(),
                Domain::Unsigned => u64::try_from(*number).is_ok(),
                Domain::Float => panic!("whole numbers are no floats"),
            };
            result.filter(has).map_or(Cell::Missing, Cell::Whole)
        }
        (Cell::Real(left), Cell::Real(right)) => {
            let result = match operator {
                '+' => left + right,
                '-' => left - right,
                '*' => left * right,
                '/' if *right == 0.0 => f64::NAN,
                '/' => left / right,
                '%' => left % right,
                _ => panic!("{operator} is no operator"),
            };
            let finite = [left, right].iter().all(|number| number.is_finite());
            if finite && !result.is_finite() {
                return Cell::Missing;
            }
            real(result)
        }
        _ => Cell::Missing,
    }
}
