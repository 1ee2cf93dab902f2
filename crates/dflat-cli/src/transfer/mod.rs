//! Commands that move objects between files and other programs.

mod batch;
mod comma_separated;
mod copy;
mod diff;
mod difference;
mod export;
mod import;
mod line;
mod lines;
mod position;
mod quotes;
mod rejects;

pub(crate) use copy::copy;
pub(crate) use diff::diff;
pub(crate) use difference::{Fields, Printer};
pub(crate) use export::export;
pub(crate) use import::import;
