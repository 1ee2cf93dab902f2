//! The PostgreSQL backend of Dflat: the same objects on a server.
//!
//! Programs use it through the crate `dflat`, feature `postgres`. This crate implements the
//! engine's trait of storage, [`Backend`](dflat_engine::storage::Backend).
//!
//! A schema of the server's database has one table for each type, one for each secondary index, and
//! the library's own tables: the state, the descriptors and the change records. One transaction
//! writes at a time, among all programs; each commit appends its change records. A reader sees the
//! state that was committed when its snapshot began, and never waits for a writer.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
mod database;
mod describe;
mod failure;
mod follow;
mod layout;
mod lineage;
mod options;
mod read;
mod server;
mod write;

pub use backend::PostgresBackend;
pub use options::{Password, PostgresOptions};
