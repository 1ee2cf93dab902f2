//! Entries of an index of the pack, in one order with rows of the file.

use std::ops::ControlFlow;

use super::union::{Union, Visit, Visited};
use crate::backend::{Entries, Span, behind};
use crate::read::Reach;

/// The entries of an index of the pack that are not visited yet.
pub(super) struct Left {
    /// Those that no row of the file has divided.
    pub(super) span: Span,
    /// In a descending scan, those with the values of the last row of the file.
    pub(super) equal: Option<(Vec<u8>, Span)>,
    /// Rows before this position are left out.
    pub(super) from: u64,
    pub(super) payload: bool,
}

impl Left {
    pub(super) const fn is_empty(&self) -> bool {
        self.span.is_empty() && self.equal.is_none()
    }

    pub(super) fn ascending(
        &self,
        union: &mut Union<'_>,
        entries: &mut Entries<'_>,
        span: &Span,
        visit: Visit<'_>,
    ) -> Visited {
        let how = (self.payload, Reach::Record);
        entries.ascending(span, self.from, Reach::Ahead, &mut |position| {
            union.visit([position].into_iter(), how, visit)
        })
    }

    fn descending(
        &self,
        union: &mut Union<'_>,
        entries: &mut Entries<'_>,
        span: Span,
        visit: Visit<'_>,
    ) -> Visited {
        let how = (self.payload, Reach::Record);
        entries.descending(span, self.from, &mut |position| {
            union.visit([position].into_iter(), how, visit)
        })
    }

    /// In a descending scan, visits the entries that come before a row of the file: those of larger
    /// values, and those of equal values and a smaller row id.
    pub(super) fn descend_to(
        &mut self,
        union: &mut Union<'_>,
        entries: &mut Entries<'_>,
        (values, position): (Vec<u8>, u64),
        visit: Visit<'_>,
    ) -> Visited {
        let mut equal = match self.equal.take() {
            Some((last, equal)) if last == values => equal,
            other => {
                if let Some((_, equal)) = other
                    && self.ascending(union, entries, &equal, visit)?.is_break()
                {
                    return Ok(ControlFlow::Break(()));
                }
                let larger = entries.split_off(&mut self.span, &behind(values.clone()))?;
                let equal = entries.split_off(&mut self.span, &values)?;
                if self.descending(union, entries, larger, visit)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                equal
            }
        };
        let before = entries.split_off_before(&mut equal, &values, position)?;
        self.equal = Some((values, equal));
        self.ascending(union, entries, &before, visit)
    }

    /// Visits all that is left.
    pub(super) fn descend(
        &mut self,
        union: &mut Union<'_>,
        entries: &mut Entries<'_>,
        visit: Visit<'_>,
    ) -> Visited {
        if let Some((_, equal)) = self.equal.take()
            && self.ascending(union, entries, &equal, visit)?.is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        self.descending(union, entries, self.span.clone(), visit)
    }
}
