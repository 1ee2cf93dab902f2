#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use post::Post;

fn main() {
    let workspace = dflat::Workspace::in_memory();
    let handle = workspace.perform_changes([Post::TABLE], |_| Ok("7".parse::<i32>()?));
    handle.detach();
}
