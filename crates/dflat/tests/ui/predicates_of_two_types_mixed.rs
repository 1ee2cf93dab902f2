#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use post::Post;

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod other;

fn main() {
    let _ = Post::PRIORITY.eq(1) & other::Post::PRIORITY.eq(1);
}
// Promise: compatibility#P6
