#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use post::Post;

fn main() {
    let workspace = dflat::Workspace::in_memory();
    let _ = workspace.get::<Post>(7);
}
