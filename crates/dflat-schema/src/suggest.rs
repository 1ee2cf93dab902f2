//! "Did you mean": the known name closest to an unknown one.

/// The candidate closest to `name`, if it is close enough.
pub(crate) fn closest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Comparing long names is slow, and long names are rarely mistyped.
    const LENGTH_MAX: usize = 64;
    if name.len() > LENGTH_MAX {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    // `index` must still suggest `indexed`.
    // Of four letters only one may differ; otherwise `Gone` would suggest `long`.
    let allowed = if name.len() <= 4 {
        1
    } else {
        name.len().div_ceil(3)
    };
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= allowed)
        .map(|candidate| (distance(&lower, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The number of edits between two names: a letter added, removed or replaced, or two neighbours
/// swapped.
fn distance(left: &str, right: &str) -> usize {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=right.len()).collect();
    for (row, a) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, b) in right.iter().enumerate() {
            let replaced = previous[column] + usize::from(a != b);
            let mut best = replaced
                .min(previous[column + 1] + 1)
                .min(current[column] + 1);
            let swapped = row > 0 && column > 0 && *a == right[column - 1] && left[row - 1] == *b;
            if swapped {
                best = best.min(before[column - 1] + 1);
            }
            current.push(best);
        }
        before = std::mem::replace(&mut previous, current);
    }
    previous[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_suggested() {
        let known = ["primary", "indexed", "unique", "id"];
        assert_eq!(closest("primery", known), Some("primary"));
        assert_eq!(closest("index", known), Some("indexed"));
        assert_eq!(closest("idnexed", known), Some("indexed"));
        assert_eq!(closest("Unique", known), Some("unique"));
        assert_eq!(closest("weapon", known), None);
        assert_eq!(closest("", known), None);
    }
}
