#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use dflat::query;
use post::Post;

fn main() {
    let _ = query!(Post: 1 == 2);
}
