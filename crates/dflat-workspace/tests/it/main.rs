//! The workspace as another language would use it: types by descriptors, objects as payloads.
#![allow(
    clippy::unwrap_used,
    reason = "a step that fails is a test that fails, in what tests share too"
)]

mod copies;
#[cfg(feature = "sqlite")]
mod files;
#[cfg(feature = "sqlite")]
mod index_on_read;
#[cfg(feature = "serde")]
mod json;
mod posts;
mod reads;
mod writes;
