//! Packs of typed objects: the laws of reading, and queries beside those of a workspace.

mod laws;
mod queries;
