//! Which deliveries of a live query are made: rules that the language interfaces share.

use dflat_engine::object::Object;
use dflat_engine::observe::{ShapedQuery, list_difference};
use dflat_model::Table;

/// Whether a result is not delivered. `before` is the result that was delivered before or that the
/// subscriber knows, `commits` is the number of commits that have changed the result since, and
/// `initial` is whether the subscriber wants the state at the beginning.
///
/// A first result is not delivered if the subscriber does not want it. A later one is not if the
/// changes of several commits cancel each other out.
#[must_use]
pub fn is_silent_result(
    (table, query): (&Table, &ShapedQuery),
    before: Option<&[Object]>,
    after: &[Object],
    commits: u64,
    initial: bool,
) -> bool {
    match before {
        Some(before) if commits > 1 => {
            list_difference(query.interest(), table, before, after).is_empty()
        }
        Some(_) => false,
        None => commits == 0 && !initial,
    }
}

/// Whether a count is not delivered, as [`is_silent_result`]. A count is `None` if it could not be
/// read.
#[must_use]
pub fn is_silent_count(
    before: Option<usize>,
    after: Option<usize>,
    commits: u64,
    initial: bool,
) -> bool {
    match (before, after) {
        (None, Some(_)) => commits == 0 && !initial,
        (before, after) => after.is_some() && before == after,
    }
}

#[cfg(test)]
mod tests {
    use super::is_silent_count;

    #[test]
    fn equal_counts_are_silent_and_errors_are_not() {
        assert!(is_silent_count(Some(2), Some(2), 2, true));
        assert!(!is_silent_count(Some(2), Some(3), 1, true));
        assert!(!is_silent_count(Some(2), None, 1, true));
        assert!(!is_silent_count(None, Some(2), 0, true));
        assert!(is_silent_count(None, Some(2), 0, false));
        assert!(!is_silent_count(None, Some(2), 1, false));
    }
}
