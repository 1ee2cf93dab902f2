//! The macro `query!` of the Dflat object database, which the crate `dflat` exports and documents.
//!
//! It rewrites operators to calls of the methods of typed fields. So it can express exactly what
//! these methods can, and type errors are those of the methods. It has no dependency, because the
//! grammar is small.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod input;
mod parse;
mod write;

use proc_macro::TokenStream;

/// A condition with operators; see the crate `dflat`.
#[proc_macro]
pub fn query(input: TokenStream) -> TokenStream {
    match parse::query(input) {
        Ok(condition) => condition,
        Err(refusal) => refusal.into_tokens(),
    }
}

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
