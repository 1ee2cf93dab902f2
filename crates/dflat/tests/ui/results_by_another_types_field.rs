#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use post::Post;

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod other;

fn main() {
    let workspace = dflat::Workspace::in_memory();
    let _ = workspace.fetch::<Post>().select(other::Post::TITLE);
    let _ = workspace.fetch::<Post>().select((Post::TITLE, other::Post::PRIORITY));
    let _ = workspace.fetch::<Post>().order_by(other::Post::TITLE.ascending());
    let _ = workspace.fetch::<Post>().sum(other::Post::PRIORITY);
    let _ = workspace.fetch::<Post>().sum(Post::TITLE);
    let _ = workspace.fetch::<Post>().filter(Post::PRIORITY.in_(["a"]));
}
