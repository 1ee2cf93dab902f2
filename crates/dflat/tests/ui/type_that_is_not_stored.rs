#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use post::TextContent;

fn main() {
    let workspace = dflat::Workspace::in_memory();
    let _ = workspace.fetch::<TextContent>();
}
