#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

struct MyError;

fn main() {
    let workspace = dflat::Workspace::in_memory();
    let _ = workspace.with_error::<MyError>();
}
