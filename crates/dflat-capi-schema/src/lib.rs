//! The schema compiler of the Dflat object database as a C library: from the text of schemas to the
//! descriptors of their stored types.
//!
//! The header `include/dflat_schema.h` declares and documents every function; a test of the crate
//! `dflat-capi` compares it with this crate. `schema` compiles and has the functions; `boundary`
//! has the objects that the caller keeps. The crate has no `unsafe` of its own.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod boundary;

mod compiled;
mod failure;
mod schema;
