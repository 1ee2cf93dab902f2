//! The condition language of the object database [Dflat](https://docs.rs/dflat): conditions, orders
//! and lists of fields as text.
//!
//! The grammar is that of the macro `query!`, which uses the same parser. Names are resolved with
//! the descriptor of a type, so text becomes the same plain data as typed fields do. The page
//! `docs/condition-language.md` of the repository describes the language.
//!
//! No text panics or overflows the stack: a text has at most [`TEXT_BYTES_MAX`] bytes and
//! [`NESTING_MAX`](syntax::NESTING_MAX) nested levels. Time and memory are proportional to the
//! length of the text, and to the number of fields for each name.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
mod nearest;
mod parameters;
mod render;
mod resolve;
pub mod syntax;
mod text;

pub use error::{ConditionError, ConditionErrorKind};
pub use nearest::suggestion;
pub use parameters::{Parameter, ParameterKey, Parameters};
pub use text::{Condition, TEXT_BYTES_MAX, fields, orders, predicate};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
