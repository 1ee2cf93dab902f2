//! Finds the live queries that a changed row concerns, and the changed rows of each live query.
//!
//! This is the lowest room of `observe`: it uses no other room there. A [`Matcher`] finds live
//! queries by the values in their conditions. Queries that differ in these values only share a
//! shape ([`ShapedQuery`]). [`ChangedRows`] are the rows of a change set that concern one query.

mod changed_rows;
mod index_key;
mod interest;
mod intervals;
mod matcher;
mod matching_rows;
mod shape;
mod slots;

pub(super) use changed_rows::{ChangedRows, Row, Rows, after, before, compare};
pub use interest::Interest;
pub(super) use matcher::{Hits, MatchBy, Matcher};
pub(super) use matching_rows::{Candidates, SortedRows, matching_rows};
pub use shape::ShapedQuery;
pub(super) use shape::Shapes;
pub(super) use slots::Slots;
