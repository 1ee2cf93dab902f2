//! The parts of a transaction's record that are written.

use dflat_model::record::Part;

use super::super::recording::Recording;
use super::target::Target;

/// How much of a transaction has been written in parts.
pub(super) struct Written<'h> {
    pub(super) target: Target<'h>,
    pub(super) parts: u32,
    pub(super) rows: u64,
}

impl<'h> Written<'h> {
    pub(super) const fn new(target: Target<'h>) -> Self {
        Self {
            target,
            parts: 0,
            rows: 0,
        }
    }

    pub(super) fn keys_only(&self, recording: &Recording) -> bool {
        self.target.keys_only(recording)
    }

    pub(super) fn next_part(&mut self) -> Part {
        let number = self.parts;
        self.parts += 1;
        Part::Early { number }
    }
}
