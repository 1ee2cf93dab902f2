//! The Dflat schema compiler.
fn main() {}
