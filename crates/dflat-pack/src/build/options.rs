//! Options of building a pack.

use std::fmt;
use std::ops::ControlFlow;

use dflat_engine::callback;
use dflat_engine::{Error, ErrorKind, Result};

use crate::codec::Compression;

/// How far a build is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildProgress {
    /// The objects that were added.
    pub added: u64,
    /// The objects that were written to the pack. While objects come in the order of their keys,
    /// they are written as they are added; all others are sorted first, and written at the end.
    pub written: u64,
}

type OnProgress = Box<dyn FnMut(BuildProgress) -> ControlFlow<()> + Send>;

/// Options of building a pack.
///
/// # Examples
/// ```
/// use std::ops::ControlFlow;
///
/// use dflat_pack::BuildOptions;
///
/// let options = BuildOptions::default()
///     .memory_max(16 << 20)
///     .on_progress(|progress| {
///         println!("{} of {} objects", progress.written, progress.added);
///         ControlFlow::Continue(())
///     });
/// # drop(options);
/// ```
pub struct BuildOptions {
    pub(super) memory_max: usize,
    pub(super) compression: Compression,
    on_progress: Option<OnProgress>,
}

/// The largest number of objects between two calls of the callback.
const OBJECTS_PER_CALL: u64 = 1024;

impl Default for BuildOptions {
    /// 64 MiB of memory, no compression, and no callback.
    fn default() -> Self {
        Self {
            memory_max: 64 << 20,
            compression: Compression::None,
            on_progress: None,
        }
    }
}

impl BuildOptions {
    /// A build keeps about so many bytes of objects, keys and index entries in memory, and sorts
    /// more in temporary files in the directory of the pack. Beside these bytes, a build needs up
    /// to 32 MiB and some copies of its largest object, and at its end, when it opens the pack, as
    /// much as an open [`Pack`](crate::Pack). The default is 64 MiB.
    #[must_use]
    pub const fn memory_max(mut self, bytes: usize) -> Self {
        self.memory_max = bytes;
        self
    }

    /// How the blocks of objects and of indexes are compressed. It does not change the name of the
    /// pack. A program that was built without the feature of a compression cannot read such a
    /// pack. The default is [`Compression::None`].
    #[must_use]
    pub const fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Calls `callback` at least every 1,024 objects, on the thread that builds. If it returns
    /// `Break`, the build fails with [`Cancelled`](ErrorKind::Cancelled) and leaves nothing behind.
    #[must_use]
    pub fn on_progress(
        mut self,
        callback: impl FnMut(BuildProgress) -> ControlFlow<()> + Send + 'static,
    ) -> Self {
        self.on_progress = Some(Box::new(callback));
        self
    }

    /// Reports the progress, if it is time.
    pub(super) fn report(&mut self, progress: BuildProgress) -> Result<()> {
        let Some(callback) = &mut self.on_progress else {
            return Ok(());
        };
        if !(progress.added + progress.written).is_multiple_of(OBJECTS_PER_CALL) {
            return Ok(());
        }
        let what = "cannot build a pack: the callback for the progress";
        match callback::run(what, || callback(progress))? {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                let message = "cannot build a pack: the caller cancelled it";
                Err(Error::new(ErrorKind::Cancelled, message))
            }
        }
    }
}

impl fmt::Debug for BuildOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuildOptions")
            .field("memory_max", &self.memory_max)
            .field("compression", &self.compression)
            .finish_non_exhaustive()
    }
}
