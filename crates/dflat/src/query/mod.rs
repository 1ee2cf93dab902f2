//! Typed queries: fields, predicates and orders, checked by the compiler and lowered to plain data.

mod field;
mod flags;
mod nested;
mod number;
mod operand;
mod order;
mod path;
mod predicate;
mod presence;
mod text;
mod vector;

pub use field::{Field, FieldType};
pub use flags::Flags;
pub(crate) use nested::Nested;
pub use number::Number;
pub use operand::Operand;
pub use order::Order;
pub use path::{Path, UnionMember};
pub use predicate::Predicate;
pub use presence::{Maybe, Presence, Sure};
pub use text::IgnoreCase;
pub use vector::{Element, Member, VectorField};
