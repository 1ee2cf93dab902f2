#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use post::Post;

fn main() {
    let workspace = dflat::Workspace::in_memory();
    let mut kept = None;
    let handle = workspace.perform_changes([Post::TABLE], |tx| {
        kept = Some(tx);
        Ok(())
    });
    handle.detach();
}
