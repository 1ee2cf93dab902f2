//! Just enough of Rust's grammar for the checks: tokens with their positions, `use` trees, and the
//! module of a token. Nothing here fails: text that is not Rust gives fewer results.

pub mod lexer;
pub mod scope;
pub mod use_tree;

pub use lexer::{Kind, Token, tokens};
pub use scope::{Scope, scopes};
pub use use_tree::{UseItem, use_tree};
