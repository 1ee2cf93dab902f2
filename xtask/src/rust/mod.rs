//! Just enough of Rust's grammar for the checks: tokens with their places, `use` trees, and which
//! module a token stands in. It never fails: on text that is not Rust it finds less.

pub mod lexer;
pub mod scope;
pub mod use_tree;

pub use lexer::{Kind, Token, tokens};
pub use scope::{Scope, scopes};
pub use use_tree::{UseItem, use_tree};
