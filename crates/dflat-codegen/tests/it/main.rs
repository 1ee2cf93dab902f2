//! Generated code against the goldens in `tests/data`, rustfmt and the compiler.

mod compiled;
mod errors;
mod golden;
mod layout;
