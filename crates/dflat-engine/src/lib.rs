//! The untyped runtime of the Dflat object database.
//!
//! Objects are verified bytes with a descriptor; there is no type parameter for them. The crate
//! `dflat` is the typed interface, and other languages can build on this crate as well.
//!
//! The modules, top down; each uses only those below it: [`dictionary`]; [`engine`];
//! [`delivery`], [`transaction`], [`observe`] and [`follow`], which do not use one another;
//! [`change_set`], [`callback`], [`background`] and [`history`]; [`fetch`]; [`storage`]; [`query`];
//! [`object`]; [`error`], `sync` and [`telemetry`].

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod background;
pub mod callback;
pub mod change_set;
pub mod delivery;
pub mod dictionary;
pub mod engine;
pub mod error;
pub mod fetch;
pub mod follow;
pub mod history;
pub mod object;
pub mod observe;
pub mod query;
pub mod storage;
mod sync;
pub mod telemetry;
pub mod transaction;

pub use error::{Error, ErrorKind, Result};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
