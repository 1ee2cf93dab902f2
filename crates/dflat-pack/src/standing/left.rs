//! Entries of an index of the pack, in one order with rows of the file.

use std::ops::ControlFlow;

use dflat_engine::Result;

use crate::backend::{Entries, Span, behind};
use crate::read::Reach;

pub(super) type Visited = Result<ControlFlow<()>>;

/// Visits the object of the pack at a position.
pub(super) type VisitAt<'v> = &'v mut dyn FnMut(u64) -> Visited;

/// The entries of an index of the pack that are not visited yet.
pub(super) struct Left {
    /// Those that no row of the file has divided.
    pub(super) span: Span,
    /// In a descending scan, those with the values of the last row of the file.
    pub(super) equal: Option<(Vec<u8>, Span)>,
    /// Rows before this position are left out.
    pub(super) from: u64,
}

impl Left {
    pub(super) const fn is_empty(&self) -> bool {
        self.span.is_empty() && self.equal.is_none()
    }

    pub(super) fn ascending(
        &self,
        entries: &mut Entries<'_>,
        span: &Span,
        visit: VisitAt<'_>,
    ) -> Visited {
        entries.ascending(span, self.from, Reach::Ahead, visit)
    }

    fn descending(&self, entries: &mut Entries<'_>, span: Span, visit: VisitAt<'_>) -> Visited {
        entries.descending(span, self.from, visit)
    }

    /// In a descending scan, visits the entries that come before a row of the file: those of larger
    /// values, and those of equal values and a smaller row id.
    pub(super) fn descend_to(
        &mut self,
        entries: &mut Entries<'_>,
        (values, position): (Vec<u8>, u64),
        visit: VisitAt<'_>,
    ) -> Visited {
        let mut equal = match self.equal.take() {
            Some((last, equal)) if last == values => equal,
            other => {
                if let Some((_, equal)) = other
                    && self.ascending(entries, &equal, visit)?.is_break()
                {
                    return Ok(ControlFlow::Break(()));
                }
                let larger = entries.split_off(&mut self.span, &behind(values.clone()))?;
                let equal = entries.split_off(&mut self.span, &values)?;
                if self.descending(entries, larger, visit)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                equal
            }
        };
        let before = entries.split_off_before(&mut equal, &values, position)?;
        self.equal = Some((values, equal));
        self.ascending(entries, &before, visit)
    }

    /// Visits all that is left.
    pub(super) fn descend(&mut self, entries: &mut Entries<'_>, visit: VisitAt<'_>) -> Visited {
        if let Some((_, equal)) = self.equal.take()
            && self.ascending(entries, &equal, visit)?.is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        self.descending(entries, self.span.clone(), visit)
    }
}
