#![allow(dead_code)]

#[path = "../../../../dflat-codegen/tests/data/diary/rust.rs"]
mod diary;

fn main() {}
