#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/required/rust.rs"]
mod required;

use required::{Content, Link};

fn main() {
    let _ = Content::Link(Link::default());
}
