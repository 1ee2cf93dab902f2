//! A schema with keys that are UUIDs. Without the feature `uuid`, this program does not compile,
//! and the compiler names the feature: `cargo xtask ci` checks this.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "nothing is used")]

#[path = "../../dflat-codegen/tests/data/diary/rust.rs"]
mod diary;

fn main() {}
