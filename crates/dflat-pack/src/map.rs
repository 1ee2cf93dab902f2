//! Files in memory maps.

use std::fs::File;
use std::io;

use memmap2::{Advice, Mmap};

/// The bytes of a file, which the operating system reads when they are first used.
#[derive(Debug)]
pub(crate) struct Map(Mmap);

impl Map {
    /// # Safety
    /// Nobody changes the file or cuts it off while the map exists.
    #[allow(
        unsafe_code,
        reason = "only the caller can know that the file stays as it is"
    )]
    pub(crate) unsafe fn new(file: &File) -> io::Result<Self> {
        // SAFETY: The caller promises that the bytes stay as they are.
        let map = unsafe { Mmap::map(file)? };
        // Otherwise, a read of one page reads many others from the device. Advice may be refused.
        let _ = map.advise(Advice::Random);
        Ok(Self(map))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
