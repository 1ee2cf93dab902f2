#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use dflat::{Field, Workspace};
use post::Post;

fn main() -> dflat::Result<()> {
    let workspace = Workspace::in_memory();
    let _: Vec<String> = workspace.fetch::<Post>().select(Post::TITLE)?;
    let _: Vec<String> = workspace.fetch::<Post>().select(Post::TAG)?;
    let _: Field<Post, str> = Post::TITLE.into();
    let _: Field<Post, str> = Post::TITLE;
    Ok(())
}
