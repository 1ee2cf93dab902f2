//! Where everything stands in the bytes: vtable slots of tables, offsets and sizes of structs.
//!
//! Only what FlatBuffers prescribes; equality with `flatc` is tested.

mod slot;
mod structure;

use crate::diagnostic::Sink;
use crate::resolve::Draft;

/// FlatBuffers counts a table's bytes in line, and its vtable's, with 16 bits.
const INLINE_BYTES_MAX: u64 = 65_535;

/// Assigns all offsets and sizes.
pub(crate) fn lay_out(draft: &mut Draft<'_>, sink: &mut Sink) {
    structure::lay_out(draft, sink);
    // Order: a table's size in line needs the sizes of structs.
    slot::assign(draft, sink);
}
