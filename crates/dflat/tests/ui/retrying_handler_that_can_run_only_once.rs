#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use post::{Post, PostChangeRequest, PostData};

fn main() {
    let workspace = dflat::Workspace::in_memory();
    let data = PostData::default();
    let created = workspace.perform_changes_blocking_retrying([Post::TABLE], |tx| {
        tx.submit(PostChangeRequest::creation(data))
    });
    created.unwrap();
}
