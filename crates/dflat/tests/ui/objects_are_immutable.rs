#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use post::Post;

fn main() {
    let workspace = dflat::Workspace::in_memory();
    let mut post = workspace.get::<Post>("first").unwrap().unwrap();
    post.title() = "second";
}
// Promise: compatibility#P1
