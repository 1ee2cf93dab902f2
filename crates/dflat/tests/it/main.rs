//! Tests of the typed interface on the memory backend.

mod tour;

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
#[allow(missing_docs, unreachable_pub)]
mod post;
