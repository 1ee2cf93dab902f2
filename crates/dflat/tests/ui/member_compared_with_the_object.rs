#![allow(dead_code)]

#[path = "../../../dflat-codegen/tests/data/post/rust.rs"]
mod post;

use post::{ImageContent, Post};

fn main() {
    let images = Post::CONTENT.as_::<ImageContent>().images();
    let _ = images.any(|image| image.eq("a") & Post::TITLE.eq("b"));
}
