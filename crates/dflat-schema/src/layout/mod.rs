//! The layout of the bytes: vtable slots of tables, and offsets and sizes of structs.
//!
//! The layout is that of FlatBuffers; tests compare it with `flatc`.

mod slot;
mod structure;

use crate::diagnostic::Sink;
use crate::resolve::Draft;

/// The limit on the bytes of a table in line. FlatBuffers counts them, and those of the vtable,
/// with 16 bits.
const INLINE_BYTES_MAX: u64 = 65_535;

/// Assigns all offsets and sizes.
pub(crate) fn lay_out(draft: &mut Draft<'_>, sink: &mut Sink) {
    structure::lay_out(draft, sink);
    // Order: a table's size in line needs the sizes of structs.
    slot::assign(draft, sink);
}
