//! Packs: immutable collections of objects in one file, named by their content.
//!
//! [`Pack::build`] and [`PackBuilder`] write objects of one type or several, in any order and
//! larger than memory, with the indexes that their schema declares. The same objects give the same
//! bytes, and so the same name: a [`Digest`] of the content. [`Pack::open`] reads them by key, by
//! position, in order and as sets; [`PackBackend`] is a read-only backend of the engine, with which
//! a workspace runs queries on a pack.
//!
//! A type is a descriptor (`Table`), and an object is verified bytes (`Object`), as in the crate
//! `dflat-engine`. Rust programs use the typed interface of the crate `dflat`, feature `pack`.
//!
//! [`Pack::edit`] puts a layer of changes over a pack, [`Pack::save`] gives the layer a file,
//! [`Pack::compact`] makes one file of all, [`Pack::diff`] has the differences of two packs, and
//! [`collect_garbage`] deletes the files that are not needed.
//!
//! [`StandingBackend`] lets a file stand on a pack: unchanged objects are read from the pack, and
//! changed ones from the file.
//!
//! The private modules, top down: `edit` and `standing`; `backend`, `build`, `diff` and `garbage`;
//! `read`; `layer` and `content`; `file` and `hold`; `layout` and `map`; `codec`; `digest`;
//! `failure`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
mod build;
mod codec;
mod content;
mod diff;
mod digest;
mod edit;
mod failure;
mod file;
mod garbage;
mod hold;
mod layer;
mod layout;
#[cfg(feature = "map")]
mod map;
mod read;
mod standing;

pub use backend::PackBackend;
pub use build::{BuildOptions, BuildProgress, PackBuilder};
pub use codec::Compression;
pub use diff::{PackChange, PackDiff};
pub use digest::Digest;
pub use edit::PackEdit;
pub use garbage::{Collected, GRACE, collect_garbage, collect_garbage_older_than};
pub use read::{Iter, Objects, ObjectsReader, OpenOptions, Pack, SetIter, is_pack};
pub use standing::StandingBackend;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
