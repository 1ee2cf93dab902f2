//! Arguments of C as values of Rust, for the C libraries of the Dflat object database.
//!
//! Each type of `argument` that holds a pointer is an argument of an exported function, and has no
//! function that makes one from another pointer. The header of the library requires of each
//! argument that it is NULL or valid for the call; these types check what can be checked, and
//! refuse the rest with a [`Misuse`]. `export` has the frame of exported functions.
//!
//! # Features
//!
//! - `engine`: a [`Misuse`] becomes an error of the engine, of the kind `InvalidArgument`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod argument;
mod export;
mod misuse;

pub use argument::{Bytes, Given, List, Out, Text};
pub use export::caught;
pub use misuse::Misuse;
