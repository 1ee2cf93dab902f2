//! The cost and the result of queries, by the state of the indexes.

mod choices;
pub(crate) mod costs;
mod declared_indexes;
mod gaps;
mod index_states;
mod lists;
mod nulls;
mod pages;
mod presorted;
mod steps;
