//! Objects and their bytes: reading, writing, verifying and comparing FlatBuffers payloads.
//!
//! The codec is Dflat's own: a bounds-checked reader ([`TableView`]) and a forward writer
//! ([`Writer`]), both without `unsafe`. It is wire-compatible with `flatc`. A payload becomes an
//! [`Object`] only after [`verify()`], so that accessors need no `Result`; scans evaluate
//! predicates on unverified payloads through checked reads ([`field_value`]). `unsafe` is in
//! three files: `memory/chunk.rs` adds payloads to memory in which other objects are read,
//! `memory/raw.rs` gives objects to other languages, and `text.rs` takes ASCII bytes as text.
//!
//! Source: the FlatBuffers internals document, "Format of the binary".

mod compare;
mod field_value;
mod malformed;
mod memory;
mod merging;
mod reader;
mod scalar;
mod scalar_change;
mod text;
mod verify;
mod writer;

pub use compare::equal;
pub(crate) use field_value::scalar_value;
pub use field_value::{Members, Scope, field_value, root_text, same_value, whole_value};
pub use malformed::Malformed;
pub(crate) use memory::ObjectArenas;
pub use memory::{LentObject, Object, ObjectBatch, Origin, RawObject};
pub use merging::{
    Assigned, Knowledge, Unmergeable, assign, canonical, combine, differing_fields, merge,
};
pub use reader::{TableView, UnionView, VectorView};
pub use scalar::ScalarType;
pub use scalar_change::changes_scalars_alone;
pub(crate) use text::text;
pub use verify::{DEPTH_MAX, exceeded_limit, verify, verify_as, verify_incomplete, visits_max};
pub use writer::{Slot, Writer};
