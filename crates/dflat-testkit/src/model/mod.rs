//! The naive model: what a workspace of `Sample` objects should hold and answer.
//!
//! A vector of plain structs in the order of insertion. Conditions are evaluated on the structs by
//! an independent implementation, which shares no code with the planner, the evaluator or the
//! codec.

mod cell;
mod condition;
mod term;

use std::cmp::Ordering;

use crate::schema::SampleData;
pub use cell::{Cell, Path};
pub(crate) use cell::{among, compare, stand};
pub use condition::{Case, Condition, Each, Operator, Share, Test};
pub use term::{Domain, Term, Vector};

/// A query.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The condition that objects must meet.
    pub condition: Option<Condition>,
    /// The keys of the order.
    pub order: Vec<Key>,
    /// The number of objects to skip.
    pub offset: usize,
    /// The largest number of objects to return.
    pub limit: Option<usize>,
}

/// A key of an order.
#[derive(Clone, Debug)]
pub struct Key {
    /// The term to sort by.
    pub term: Term,
    /// From the largest.
    pub descending: bool,
    /// Whether missing values come first or last; `None` orders them as the smallest values.
    pub missing_first: Option<bool>,
}

impl Key {
    fn compare(&self, a: &SampleData, b: &SampleData) -> Ordering {
        let (a, b) = (self.term.of(a), self.term.of(b));
        let missing = (a == Cell::Missing, b == Cell::Missing);
        if let (Some(first), (true, false) | (false, true)) = (self.missing_first, missing) {
            return if missing.0 == first {
                Ordering::Less
            } else {
                Ordering::Greater
            };
        }
        let ordering = stand(&a, &b);
        if self.descending {
            ordering.reverse()
        } else {
            ordering
        }
    }
}

/// Why a change is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Another object has the key or the unique value.
    Exists,
    /// There is no such object.
    Missing,
}

/// The effect of a change.
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
                .fold(Ordering::Equal, |ordering, key| {
                    ordering.then(key.compare(a, b))
                })
        });
        found.drain(..question.offset.min(found.len()));
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
    /// An error if the key or the unique value is taken.
    pub fn insert(&mut self, data: SampleData) -> Result<Effect, Refusal> {
        self.refuse_taken(&data, None)?;
        self.rows.push(data);
        Ok(Effect::Inserted)
    }

    /// Replaces the values of the object with a key.
    ///
    /// # Errors
    /// An error if there is no such object, or if its new key or unique value is taken.
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
    /// An error if the unique value is taken.
    pub fn upsert(&mut self, data: SampleData) -> Result<Effect, Refusal> {
        match self.get(data.id) {
            Some(_) => self.update(data.id, data),
            None => self.insert(data),
        }
    }

    /// Deletes the object with a key.
    ///
    /// # Errors
    /// An error if there is no such object.
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
    // The text of a float determines its bits, except for NaN, of which the model has only one.
    format!("{a:?}") == format!("{b:?}")
}
