#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/required/rust.rs"]
mod required;

use required::Content;

fn main() {
    let _ = Content::Link(Default::default());
}
