//! Options of opening a pack.

/// Options of opening a pack.
///
/// # Examples
/// ```
/// use dflat_pack::OpenOptions;
///
/// let options = OpenOptions::default().check_blocks(false);
/// assert_ne!(options, OpenOptions::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    check_blocks: bool,
}

impl Default for OpenOptions {
    /// Blocks are checked.
    fn default() -> Self {
        Self { check_blocks: true }
    }
}

impl OpenOptions {
    /// Whether each read compares the bytes with their checksum, so that a changed byte is an error
    /// and never another value. Each read is then of a whole block of about 4 KiB, and otherwise of
    /// one object. The default is `true`.
    ///
    /// Without the check, reads of a changed file give errors or other values, and are as safe:
    /// each object is verified.
    #[must_use]
    pub const fn check_blocks(mut self, check: bool) -> Self {
        self.check_blocks = check;
        self
    }

    pub(crate) const fn checks_blocks(self) -> bool {
        self.check_blocks
    }
}
