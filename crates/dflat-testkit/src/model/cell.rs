//! Values of the fields of `Sample`, and how they compare.

use std::cmp::Ordering;

use crate::schema::{Body, Level, SampleData};

/// A value of a field as queries see it.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Missing.
    Missing,
    /// A whole number.
    Whole(i128),
    /// A floating-point number, never NaN.
    Real(f64),
    /// A string.
    Text(String),
}

/// A field of `Sample`, or a field of a value inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the schema's")]
pub enum Path {
    Id,
    Rank,
    Size,
    Name,
    Nick,
    Code,
    Weight,
    Mass,
    Wide,
    Flag,
    Level,
    Maybe,
    BodyTag,
    NoteText,
    NoteStars,
    PhotoUrl,
    PhotoBytes,
    SpotX,
    PointX,
    PointY,
    Marks,
}

impl Path {
    /// All paths.
    pub const ALL: [Self; 21] = [
        Self::Id,
        Self::Rank,
        Self::Size,
        Self::Name,
        Self::Nick,
        Self::Code,
        Self::Weight,
        Self::Mass,
        Self::Wide,
        Self::Flag,
        Self::Level,
        Self::Maybe,
        Self::BodyTag,
        Self::NoteText,
        Self::NoteStars,
        Self::PhotoUrl,
        Self::PhotoBytes,
        Self::SpotX,
        Self::PointX,
        Self::PointY,
        Self::Marks,
    ];

    /// The field's value in an object.
    #[must_use]
    pub fn of(self, data: &SampleData) -> Cell {
        let text = |text: &Option<String>| text.clone().map_or(Cell::Missing, Cell::Text);
        let (note, photo, spot) = match &data.body {
            Some(Body::Note(note)) => (Some(note), None, None),
            Some(Body::Photo(photo)) => (None, Some(photo), None),
            Some(Body::Spot(point)) => (None, None, Some(point)),
            None => (None, None, None),
        };
        let maybe = |number: Option<i128>| number.map_or(Cell::Missing, Cell::Whole);
        match self {
            Self::Id => Cell::Whole(data.id.into()),
            Self::Rank => Cell::Whole(data.rank.into()),
            Self::Size => Cell::Whole(data.size.into()),
            Self::Name => text(&data.name),
            Self::Nick => text(&data.nick),
            Self::Code => text(&data.code),
            Self::Weight => real(data.weight),
            Self::Mass => real(data.mass),
            Self::Wide => Cell::Whole(data.wide.into()),
            Self::Flag => Cell::Whole(data.flag.into()),
            Self::Level => Cell::Whole(level_number(data.level)),
            Self::Maybe => maybe(data.maybe.map(i128::from)),
            Self::BodyTag => Cell::Whole(body_number(data.body.as_ref())),
            Self::NoteText => note.map_or(Cell::Missing, |note| text(&note.text)),
            Self::NoteStars => maybe(note.map(|note| note.stars.into())),
            Self::PhotoUrl => photo.map_or(Cell::Missing, |photo| text(&photo.url)),
            Self::PhotoBytes => maybe(photo.map(|photo| photo.bytes.into())),
            Self::SpotX => maybe(spot.map(|spot| spot.x.into())),
            Self::PointX => maybe(data.point.map(|point| point.x.into())),
            Self::PointY => data
                .point
                .map_or(Cell::Missing, |point| real(point.y.into())),
            Self::Marks => Cell::Whole(data.marks.bits().into()),
        }
    }
}

pub(super) fn real(number: f64) -> Cell {
    if number.is_nan() {
        Cell::Missing
    } else {
        Cell::Real(number)
    }
}

fn level_number(level: Level) -> i128 {
    match level {
        Level::Low => 1,
        Level::Mid => 5,
        Level::High => 9,
    }
}

pub(super) fn body_number(body: Option<&Body>) -> i128 {
    match body {
        None => 0,
        Some(Body::Note(_)) => 1,
        Some(Body::Photo(_)) => 2,
        Some(Body::Spot(_)) => 3,
    }
}

pub(crate) fn among(cell: &Cell, values: &[Cell]) -> Option<bool> {
    if *cell == Cell::Missing {
        return None;
    }
    if values
        .iter()
        .any(|value| compare(cell, value) == Some(Ordering::Equal))
    {
        return Some(true);
    }
    if values.contains(&Cell::Missing) {
        return None;
    }
    Some(false)
}

/// How two values of one field compare, unless one is missing.
pub(crate) fn compare(a: &Cell, b: &Cell) -> Option<Ordering> {
    match (a, b) {
        (Cell::Whole(a), Cell::Whole(b)) => Some(a.cmp(b)),
        (Cell::Real(a), Cell::Real(b)) => a.partial_cmp(b),
        (Cell::Text(a), Cell::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Cell::Missing, _) | (_, Cell::Missing) => None,
        _ => panic!("{a:?} and {b:?} are of two types"),
    }
}

/// The order of two values of one field: a missing value comes first.
pub(crate) fn stand(a: &Cell, b: &Cell) -> Ordering {
    match (a, b) {
        (Cell::Missing, Cell::Missing) => Ordering::Equal,
        (Cell::Missing, _) => Ordering::Less,
        (_, Cell::Missing) => Ordering::Greater,
        _ => compare(a, b).unwrap(),
    }
}
