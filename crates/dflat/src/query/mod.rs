//! Typed queries: fields, predicates and orders, checked by the compiler and lowered to plain data.

mod field;
mod operand;
mod predicate;

pub use field::{Field, FieldType, Order};
pub use operand::Operand;
pub use predicate::Predicate;
