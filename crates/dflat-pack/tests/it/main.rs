//! Packs are built, read, compared with a model, and damaged.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a step that fails is a test that fails, in what tests share too"
)]

mod build;
#[cfg(all(unix, feature = "lz4", feature = "zstd"))]
mod compression;
#[cfg(unix)]
mod damage;
#[cfg(target_os = "linux")]
mod ends;
mod garbage;
#[cfg(unix)]
mod hostile;
#[cfg(all(unix, feature = "map"))]
mod integers;
#[cfg(target_os = "linux")]
mod large;
mod layer_file;
mod layers;
#[cfg(all(unix, feature = "map"))]
mod mapped;
mod model;
#[cfg(unix)]
mod processes;
mod words;
