//! Bytes and texts that the library makes for the caller.

use crate::boundary::{Given, In, Kind, Out, Owned, export_release};

/// Bytes for the caller.
pub(crate) struct BufferHandle(pub(crate) Vec<u8>);

impl Kind for BufferHandle {
    const TAG: u64 = 0xDF1A_700B;
    const NAME: &'static str = "dflat_buffer";
}

export_release! {
    fn dflat_buffer_bytes(buffer: In<'_, BufferHandle>, bytes: Out<'_, Given>) {
        bytes.begin("bytes", Given::text(""))?;
        bytes.set(Given::bytes(&buffer.get()?.0));
    }

    fn dflat_buffer_release(buffer: Owned<BufferHandle>) {
        drop(buffer.take()?);
    }
}
