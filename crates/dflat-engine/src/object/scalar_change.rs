//! The usual change of an object, told by its bytes: numbers of the root changed, and nothing else.
//!
//! Such a change is one, and leaves nothing out that newer code wrote, without a look at each field
//! for either.

use std::ops::Range;

use dflat_model::{Element, ROOT_TYPE, Shape, TypeDescriptor};
use smallvec::SmallVec;

use super::{Malformed, TableView};

/// Where some scalars stand in a payload.
type Ranges = SmallVec<[Range<usize>; 4]>;

/// Whether two verified payloads differ, and only in scalars that stand in the root of both. False
/// also where that takes a closer look. `after` is laid out as by a [`Writer`](super::Writer), so
/// that no two values share a byte; then `before` is laid out as `after`, and holds nothing that
/// `after` leaves out.
#[must_use]
pub fn changes_scalars_alone(types: &[TypeDescriptor], before: &[u8], after: &[u8]) -> bool {
    if before.len() != after.len() {
        return false;
    }
    let Ok(mut ranges) = differing_scalars(types, before, after) else {
        return false;
    };
    if ranges.is_empty() {
        return false;
    }
    ranges.sort_unstable_by_key(|range| range.start);
    let mut start = 0;
    for range in &ranges {
        let between = start..range.start;
        match (before.get(between.clone()), after.get(between)) {
            (Some(before), Some(after)) if before == after => start = range.end,
            _ => return false,
        }
    }
    before.get(start..) == after.get(start..)
}

/// Where scalars stand in the root of `after` that `before` has otherwise.
fn differing_scalars(
    types: &[TypeDescriptor],
    before: &[u8],
    after: &[u8],
) -> Result<Ranges, Malformed> {
    let mut ranges = Ranges::new();
    let root = TableView::root(after)?;
    let Some(TypeDescriptor::Table(layout)) = types.get(usize::from(ROOT_TYPE.0)) else {
        return Err(Malformed);
    };
    for field in layout.fields.as_ref() {
        // Not enums: an older schema may have another value for one that it does not know.
        let Shape::Single(Element::Scalar(scalar)) = field.shape else {
            continue;
        };
        if let Some(start) = root.field(field.voffset) {
            let range = start..start + scalar.size_bytes();
            if before.get(range.clone()) != after.get(range.clone()) {
                ranges.push(range);
            }
        }
    }
    Ok(ranges)
}
