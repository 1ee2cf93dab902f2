//! Conditions on `Sample`, evaluated on its plain struct.

use std::cmp::Ordering;

use super::cell::{among, body_number, compare, real};
use super::{Cell, Path, Term};
use crate::schema::{Body, SampleData};

/// Which orderings a comparison admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A condition.
#[derive(Clone, Debug)]
pub enum Condition {
    /// A field compared with a value.
    Compare(Path, Operator, Cell),
    /// A field is one of these values.
    In(Path, Vec<Cell>),
    /// A field without a value.
    IsNull(Path),
    /// Both conditions hold.
    And(Box<Self>, Box<Self>),
    /// One of the conditions holds.
    Or(Box<Self>, Box<Self>),
    /// The condition does not hold.
    Not(Box<Self>),
    /// A field is none of these values.
    NotIn(Path, Vec<Cell>),
    /// A field is between two values, inclusive.
    Between(Path, Cell, Cell),
    /// A computed term compared with another.
    Weigh(Term, Operator, Term),
    /// A string tested.
    Text(Path, Test, String, Case),
    /// All of these bits, or one of them, are set.
    Marks(Share, u8),
    /// All members of a vector, or one of them, meet a condition.
    Members(Share, Each),
}

/// All members, or one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Share {
    All,
    Any,
}

/// How letters compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Case {
    Exact,
    Ignored,
}

/// A test of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Test {
    Equals,
    Begins,
    Ends,
    Has,
    Like,
}

/// A condition on a member of a vector of `Sample`.
#[derive(Clone, Debug)]
pub enum Each {
    /// A tag compared.
    Tag(Operator, String),
    /// A score compared.
    Score(Operator, i32),
    /// A note whose stars compare so, and whose text equals a string if one is given.
    Note(Operator, i32, Option<String>),
    /// A spot whose first coordinate compares so.
    SpotX(Operator, i32),
    /// A spot whose second coordinate compares so.
    SpotY(Operator, f32),
    /// A body that holds this kind.
    BodyTag(u8),
    /// A body that is a note whose stars compare so.
    BodyStars(Operator, i32),
}

/// True, false or unknown.
type Truth = Option<bool>;

impl Condition {
    /// Whether an object meets the condition.
    #[must_use]
    pub fn holds(&self, data: &SampleData) -> Truth {
        match self {
            Self::Compare(path, operator, value) => operator.holds(&path.of(data), value),
            Self::In(path, values) => among(&path.of(data), values),
            Self::IsNull(path) => Some(path.of(data) == Cell::Missing),
            Self::And(a, b) => both(a.holds(data), b.holds(data)),
            Self::Or(a, b) => match (a.holds(data), b.holds(data)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Self::Not(inner) => Some(!inner.holds(data)?),
            Self::NotIn(path, values) => Some(!among(&path.of(data), values)?),
            Self::Between(path, first, last) => {
                let above = Operator::GreaterOrEqual.holds(&path.of(data), first);
                both(above, Operator::LessOrEqual.holds(&path.of(data), last))
            }
            Self::Weigh(left, operator, right) => operator.holds(&left.of(data), &right.of(data)),
            Self::Text(path, test, pattern, case) => match path.of(data) {
                Cell::Text(text) => Some(test.passes(&text, pattern, *case)),
                _ => None,
            },
            Self::Marks(Share::All, bits) => Some(data.marks.bits() & bits == *bits),
            Self::Marks(Share::Any, bits) => Some(data.marks.bits() & bits > 0),
            Self::Members(share, each) => share.of(&each.of(data)),
        }
    }
}

fn both(a: Truth, b: Truth) -> Truth {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

impl Operator {
    fn holds(self, a: &Cell, b: &Cell) -> Truth {
        let ordering = compare(a, b)?;
        Some(match self {
            Self::Equal => ordering == Ordering::Equal,
            Self::NotEqual => ordering != Ordering::Equal,
            Self::Less => ordering == Ordering::Less,
            Self::LessOrEqual => ordering != Ordering::Greater,
            Self::Greater => ordering == Ordering::Greater,
            Self::GreaterOrEqual => ordering != Ordering::Less,
        })
    }
}

impl Share {
    /// Joins several truth values.
    fn of(self, truths: &[Truth]) -> Truth {
        let (decides, otherwise) = match self {
            Self::All => (false, true),
            Self::Any => (true, false),
        };
        if truths.contains(&Some(decides)) {
            Some(decides)
        } else if truths.contains(&None) {
            None
        } else {
            Some(otherwise)
        }
    }
}

impl Each {
    /// Whether each member of the vector meets the condition.
    fn of(&self, data: &SampleData) -> Vec<Truth> {
        let whole = |number: i32| Cell::Whole(number.into());
        let text = |text: &Option<String>| text.clone().map_or(Cell::Missing, Cell::Text);
        match self {
            Self::Tag(operator, value) => {
                let value = Cell::Text(value.clone());
                let tags = data.tags.iter().cloned();
                tags.map(|tag| operator.holds(&Cell::Text(tag), &value))
                    .collect()
            }
            Self::Score(operator, value) => {
                let scores = data.scores.iter();
                scores
                    .map(|score| operator.holds(&whole(*score), &whole(*value)))
                    .collect()
            }
            Self::Note(operator, stars, wanted) => {
                let notes = data.notes.iter().map(|note| {
                    let starred = operator.holds(&whole(note.stars), &whole(*stars));
                    match wanted {
                        None => starred,
                        Some(wanted) => {
                            let wanted = Cell::Text(wanted.clone());
                            both(starred, Operator::Equal.holds(&text(&note.text), &wanted))
                        }
                    }
                });
                notes.collect()
            }
            Self::SpotX(operator, x) => {
                let spots = data.spots.iter();
                spots
                    .map(|spot| operator.holds(&whole(spot.x), &whole(*x)))
                    .collect()
            }
            Self::SpotY(operator, y) => {
                let spots = data.spots.iter();
                let y = real((*y).into());
                spots
                    .map(|spot| operator.holds(&real(spot.y.into()), &y))
                    .collect()
            }
            Self::BodyTag(code) => {
                let codes = data.bodies.iter().map(|body| body_number(body.as_ref()));
                codes.map(|held| Some(held == i128::from(*code))).collect()
            }
            Self::BodyStars(operator, stars) => {
                let bodies = data.bodies.iter().map(|body| match body {
                    Some(Body::Note(note)) => operator.holds(&whole(note.stars), &whole(*stars)),
                    _ => None,
                });
                bodies.collect()
            }
        }
    }
}

impl Test {
    fn passes(self, text: &str, pattern: &str, case: Case) -> bool {
        let letters = |text: &str| -> Vec<char> {
            let plain = text.chars();
            match case {
                Case::Exact => plain.collect(),
                Case::Ignored => plain.map(letter).collect(),
            }
        };
        let (text, wanted) = (letters(text), letters(pattern));
        match self {
            Self::Equals => text == wanted,
            Self::Begins => text.starts_with(&wanted),
            Self::Ends => text.ends_with(&wanted),
            Self::Has => (0..=text.len()).any(|at| text[at..].starts_with(&wanted)),
            Self::Like => like(&text, &wanted),
        }
    }
}

/// A letter without its case: the lower case of its upper case, if each is one character.
fn letter(c: char) -> char {
    let one = |text: String, c: char| {
        let letters: Vec<char> = text.chars().collect();
        if letters.len() == 1 { letters[0] } else { c }
    };
    let capital = one(c.to_uppercase().to_string(), c);
    one(capital.to_lowercase().to_string(), capital)
}

/// Tries all matches.
fn like(text: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|at| like(&text[at..], rest)),
        ['_', rest @ ..] => !text.is_empty() && like(&text[1..], rest),
        ['\\', c, rest @ ..] | [c, rest @ ..] => text.first() == Some(c) && like(&text[1..], rest),
    }
}
