//! Immutable objects that a file stands on.

use std::fmt;
use std::sync::Arc;

use dflat_engine::storage::Backend;

type Stand = Arc<dyn Fn(Arc<dyn Backend>) -> Arc<dyn Backend> + Send + Sync>;

/// A pack that a file stands on: unchanged objects are read from the pack, and changed ones from
/// the file.
///
/// The crate `dflat-pack` has the backend for it, so a program without packs does not link it.
#[derive(Clone)]
pub struct Base {
    digest: [u8; 32],
    stand: Stand,
}

impl Base {
    /// The pack with a digest. `stand` makes the backend of the pack over that of a file.
    ///
    /// # Examples
    /// ```
    /// use dflat_workspace::{Base, FileOptions};
    ///
    /// // A backend that adds nothing. `StandingBackend` of `dflat-pack` adds those of a pack.
    /// let mut options = FileOptions::default();
    /// options.base(Some(Base::new([0; 32], |file| file)));
    /// ```
    #[must_use]
    pub fn new(
        digest: [u8; 32],
        stand: impl Fn(Arc<dyn Backend>) -> Arc<dyn Backend> + Send + Sync + 'static,
    ) -> Self {
        let stand = Arc::new(stand);
        Self { digest, stand }
    }

    /// The same pack for comparisons, which keeps no pack in memory.
    pub(super) fn label(&self) -> Self {
        Self::new(self.digest, |file| file)
    }

    /// The backend of the pack over that of a file.
    pub(super) fn stand(&self, file: Arc<dyn Backend>) -> Arc<dyn Backend> {
        (self.stand)(file)
    }
}

/// Packs are compared by their digests.
impl PartialEq for Base {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl fmt::Debug for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Base").finish_non_exhaustive()
    }
}
