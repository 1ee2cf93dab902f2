//! Opening packs in memory maps.

use std::path::Path;

use dflat_engine::Result;

use super::open::open_files;
use super::options::OpenOptions;
use super::pack::Pack;
use crate::failure::read_failed;
use crate::map::Map;

impl Pack {
    /// As [`open_with`](Self::open_with), with the file below all layers in a memory map: objects
    /// are read where they are, without a call of the operating system. Blocks that are compressed
    /// are decompressed from the map.
    ///
    /// If blocks are checked, each is compared with its checksum when it is first read, and not
    /// again.
    ///
    /// # Safety
    /// No program changes the file or cuts it off while the pack, or a clone of it, is open, this
    /// program included. A file that is replaced by name or deleted is not changed.
    /// The library itself never changes a pack.
    ///
    /// If the file changes all the same, reads are undefined behaviour; in practice they give other
    /// objects, or the process gets the signal SIGBUS. The same happens if the device fails.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    ///
    /// # Examples
    /// ```
    /// use dflat_pack::{OpenOptions, Pack};
    ///
    /// fn open_own(path: &std::path::Path) -> dflat_engine::Result<Pack> {
    ///     // SAFETY: The file is in the program's own folder, and only this program writes there.
    ///     unsafe { Pack::open_mapped(path, OpenOptions::default()) }
    /// }
    /// ```
    #[cfg_attr(docsrs, doc(cfg(feature = "map")))]
    #[allow(
        unsafe_code,
        reason = "only the caller can know that the file stays as it is"
    )]
    pub unsafe fn open_mapped(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        open_files(
            path.as_ref(),
            options,
            |_| Ok(None),
            |file| {
                // SAFETY: The caller promises that the file stays as it is while the pack is
                // open, and the map is a part of the pack.
                let map = unsafe { Map::new(file.file()) };
                let map = map.map_err(|error| read_failed(file.path(), error))?;
                Ok(file.with_map(map))
            },
        )
    }
}
