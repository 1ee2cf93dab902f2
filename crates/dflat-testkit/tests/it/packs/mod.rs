//! Packs of typed objects: the laws of reading, queries beside those of a workspace, and imports.

mod imports;
mod laws;
mod queries;
mod standing;
mod standing_changes;
mod standing_foreign;
mod standing_salvage;
