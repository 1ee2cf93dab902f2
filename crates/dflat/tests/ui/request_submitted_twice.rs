#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use post::{Post, PostChangeRequest, PostData};

fn main() {
    let workspace = dflat::Workspace::in_memory();
    let handle = workspace.perform_changes([Post::TABLE], |tx| {
        let request = PostChangeRequest::creation(PostData::default());
        tx.submit(request)?;
        tx.submit(request)
    });
    handle.detach();
}
