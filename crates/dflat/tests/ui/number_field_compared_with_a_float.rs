#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use post::Post;

fn main() {
    let _ = Post::PRIORITY.gt(1.5);
}
// Promise: compatibility#P6
