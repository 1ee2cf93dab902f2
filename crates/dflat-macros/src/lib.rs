//! The macro `query!` of the Dflat object database, which the crate `dflat` exports and documents.
//!
//! It rewrites operators to calls of the methods of typed fields. So it can express exactly what
//! these methods can, and type errors are those of the methods. The grammar is that of conditions
//! as text: the crate `dflat-condition` parses both.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod generate;
mod tokens;
mod write;

use dflat_condition::syntax::{Parser, Source};
use generate::{Generator, Scope};
use proc_macro::{Span, TokenStream};
use tokens::Tokens;

/// A condition with operators; see the crate `dflat`.
#[proc_macro]
pub fn query(input: TokenStream) -> TokenStream {
    let Some((ty, tokens)) = Tokens::after_type(input) else {
        return tokens::refusal("expected `Type: condition`", Span::call_site());
    };
    match Parser::new(&tokens.tokens, tokens.end(), Source::Rust).condition() {
        Ok(condition) => {
            let scope = Scope::Object(&ty);
            let generator = Generator {
                tokens: &tokens,
                scope,
            };
            generator.node(&condition)
        }
        Err(error) => tokens.refusal(&error),
    }
}

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
