#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use post::{Color, Post};

fn main() {
    let _ = Post::COLOR.has_all(Color::Red);
}
