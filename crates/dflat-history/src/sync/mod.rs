//! Sends and receives commits over any connection.
//!
//! One side [asks](Remote), the other one [answers](Server). A commit travels with the changes from
//! its first parent: the key of each changed object, and the object, whole or as a difference. The
//! receiver verifies each object, computes the trees and compares their roots, so it takes nothing
//! on trust but the names of the commits. The page `docs/sync-format.md` of the repository has the
//! exact bytes.

mod client;
mod descriptors;
mod duplex;
mod forgotten;
mod incoming;
mod local;
mod named;
mod negotiate;
mod objects;
mod parts;
mod payloads;
mod receive;
mod send;
mod server;
mod wire;

pub use client::{Pulled, Pushed, Remote};
pub use duplex::Duplex;
pub use server::{Served, Server};
pub use wire::{Stream, SyncLimits};
