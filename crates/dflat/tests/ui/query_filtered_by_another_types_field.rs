#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use post::Post;

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod other;

fn main() {
    let workspace = dflat::Workspace::in_memory();
    let _ = workspace.fetch::<Post>().filter(other::Post::PRIORITY.eq(1)).all();
}
// Promise: compatibility#P6
