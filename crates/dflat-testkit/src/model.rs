//! The naive model: what a workspace of `Sample` objects should hold and answer.
//!
//! A vector of plain structs in the order of insertion. Conditions are evaluated on the structs, by
//! rules written here once more: nothing of the planner, the evaluator or the codec is used.

use std::cmp::Ordering;

use crate::schema::{Body, Level, SampleData};

/// A value of a field as queries see it.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Missing.
    Missing,
    /// A whole number.
    Whole(i128),
    /// A floating-point number that is one.
    Real(f64),
    /// A string.
    Text(String),
}

/// A field of `Sample`, or one of what it holds.
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
}

impl Path {
    /// All of them.
    pub const ALL: [Self; 20] = [
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
        }
    }
}

fn real(number: f64) -> Cell {
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

fn body_number(body: Option<&Body>) -> i128 {
    match body {
        None => 0,
        Some(Body::Note(_)) => 1,
        Some(Body::Photo(_)) => 2,
        Some(Body::Spot(_)) => 3,
    }
}

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
    /// A field among values.
    In(Path, Vec<Cell>),
    /// A field without a value.
    IsNull(Path),
    /// Both.
    And(Box<Self>, Box<Self>),
    /// Either.
    Or(Box<Self>, Box<Self>),
    /// The opposite.
    Not(Box<Self>),
}

/// True, false or unknown.
type Truth = Option<bool>;

impl Condition {
    /// Whether an object meets the condition.
    #[must_use]
    pub fn holds(&self, data: &SampleData) -> Truth {
        match self {
            Self::Compare(path, operator, value) => {
                let ordering = compare(&path.of(data), value)?;
                Some(match operator {
                    Operator::Equal => ordering == Ordering::Equal,
                    Operator::NotEqual => ordering != Ordering::Equal,
                    Operator::Less => ordering == Ordering::Less,
                    Operator::LessOrEqual => ordering != Ordering::Greater,
                    Operator::Greater => ordering == Ordering::Greater,
                    Operator::GreaterOrEqual => ordering != Ordering::Less,
                })
            }
            Self::In(path, values) => among(&path.of(data), values),
            Self::IsNull(path) => Some(path.of(data) == Cell::Missing),
            Self::And(a, b) => match (a.holds(data), b.holds(data)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Self::Or(a, b) => match (a.holds(data), b.holds(data)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Self::Not(inner) => Some(!inner.holds(data)?),
        }
    }
}

fn among(cell: &Cell, values: &[Cell]) -> Truth {
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
fn compare(a: &Cell, b: &Cell) -> Option<Ordering> {
    match (a, b) {
        (Cell::Whole(a), Cell::Whole(b)) => Some(a.cmp(b)),
        (Cell::Real(a), Cell::Real(b)) => a.partial_cmp(b),
        (Cell::Text(a), Cell::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Cell::Missing, _) | (_, Cell::Missing) => None,
        _ => panic!("{a:?} and {b:?} are of two types"),
    }
}

/// How two values of one field stand in an order: the missing one first.
fn stand(a: &Cell, b: &Cell) -> Ordering {
    match (a, b) {
        (Cell::Missing, Cell::Missing) => Ordering::Equal,
        (Cell::Missing, _) => Ordering::Less,
        (_, Cell::Missing) => Ordering::Greater,
        _ => compare(a, b).unwrap(),
    }
}

/// A query.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// What the objects must meet.
    pub condition: Option<Condition>,
    /// The keys of the order; `true` is descending.
    pub order: Vec<(Path, bool)>,
    /// How many at most.
    pub limit: Option<usize>,
}

/// Why a change is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Another object has the key or the unique value.
    Exists,
    /// There is no such object.
    Missing,
}

/// What a change did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Effect {
    Inserted,
    Updated,
    Identity,
    Deleted,
}

/// The objects, in order of insertion.
#[derive(Clone, Debug, Default)]
pub struct Model {
    rows: Vec<SampleData>,
}

impl Model {
    /// The objects of a query, in order.
    #[must_use]
    pub fn ask(&self, question: &Question) -> Vec<&SampleData> {
        let qualifies = |data: &&SampleData| {
            let condition = question.condition.as_ref();
            condition.is_none_or(|condition| condition.holds(data) == Some(true))
        };
        let mut found: Vec<&SampleData> = self.rows.iter().filter(qualifies).collect();
        // The sort is stable: ties stay in the order of insertion.
        found.sort_by(|a, b| {
            question
                .order
                .iter()
                .fold(Ordering::Equal, |ordering, (path, descending)| {
                    let key = stand(&path.of(a), &path.of(b));
                    ordering.then(if *descending { key.reverse() } else { key })
                })
        });
        found.truncate(question.limit.unwrap_or(usize::MAX));
        found
    }

    /// The object with a key.
    #[must_use]
    pub fn get(&self, id: i32) -> Option<&SampleData> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// Inserts an object.
    ///
    /// # Errors
    /// If the key or the unique value is taken.
    pub fn insert(&mut self, data: SampleData) -> Result<Effect, Refusal> {
        self.refuse_taken(&data, None)?;
        self.rows.push(data);
        Ok(Effect::Inserted)
    }

    /// Replaces the values of the object with a key.
    ///
    /// # Errors
    /// If there is none, or what it is to have is taken.
    pub fn update(&mut self, id: i32, data: SampleData) -> Result<Effect, Refusal> {
        let place = self.rows.iter().position(|row| row.id == id);
        let place = place.ok_or(Refusal::Missing)?;
        if same(&self.rows[place], &data) {
            return Ok(Effect::Identity);
        }
        self.refuse_taken(&data, Some(place))?;
        self.rows[place] = data;
        Ok(Effect::Updated)
    }

    /// Inserts an object, or replaces the values of the one with its key.
    ///
    /// # Errors
    /// If the unique value is taken.
    pub fn upsert(&mut self, data: SampleData) -> Result<Effect, Refusal> {
        match self.get(data.id) {
            Some(_) => self.update(data.id, data),
            None => self.insert(data),
        }
    }

    /// Deletes the object with a key.
    ///
    /// # Errors
    /// If there is none.
    pub fn delete(&mut self, id: i32) -> Result<Effect, Refusal> {
        let place = self.rows.iter().position(|row| row.id == id);
        self.rows.remove(place.ok_or(Refusal::Missing)?);
        Ok(Effect::Deleted)
    }

    fn refuse_taken(&self, data: &SampleData, except: Option<usize>) -> Result<(), Refusal> {
        let others = self
            .rows
            .iter()
            .enumerate()
            .filter(|(place, _)| Some(*place) != except);
        let taken =
            |row: &SampleData| row.id == data.id || (row.code.is_some() && row.code == data.code);
        if others.map(|(_, row)| row).any(taken) {
            return Err(Refusal::Exists);
        }
        Ok(())
    }
}

/// Whether two objects have the same values, floats by their bits.
#[must_use]
pub fn same(a: &SampleData, b: &SampleData) -> bool {
    // The text of a float tells all that its bits do but which NaN it is, and there is one here.
    format!("{a:?}") == format!("{b:?}")
}
