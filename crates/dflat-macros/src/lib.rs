//! The macro `query!` of the Dflat object database, which the crate `dflat` exports and documents.
//!
//! It rewrites operators to the methods of typed fields, so that it can say nothing that they
//! can't, and the compiler's errors are about them. It has no dependency: the grammar is small.

mod input;
mod parse;
mod write;

use proc_macro::TokenStream;

/// A condition with natural operators; see the crate `dflat`.
#[proc_macro]
pub fn query(input: TokenStream) -> TokenStream {
    match parse::query(input) {
        Ok(condition) => condition,
        Err(refusal) => refusal.into_tokens(),
    }
}
