//! The known name that is closest to an unknown one.

/// The longest name that is compared. Comparing long names is slow, and they are rarely mistyped.
const LENGTH_MAX: usize = 64;
/// The number of names that are listed.
const LISTED_MAX: usize = 12;

/// Whether two names are equal but for case and underscores: those of a schema, and those that
/// generated code makes of them.
pub(crate) fn same(left: &str, right: &str) -> bool {
    left == right || letters(left).eq(letters(right))
}

/// The letters of a name in lower case, without underscores.
fn letters(name: &str) -> impl Iterator<Item = char> {
    let kept = name.chars().filter(|c| *c != '_');
    kept.flat_map(char::to_lowercase)
}

/// The item with a name: the one of exactly this name, else the first whose name is the same but
/// for case and underscores.
pub(crate) fn find<'a, T>(
    items: impl Iterator<Item = T> + Clone,
    name: impl Fn(&T) -> &'a str,
    wanted: &str,
) -> Option<T> {
    let exact = items.clone().find(|item| name(item) == wanted);
    exact.or_else(|| items.into_iter().find(|item| same(name(item), wanted)))
}

/// How to mend a name that is not known: the question whether the closest known name was meant, or
/// else the list of up to 12 names after `what`. `None` if no name is known.
///
/// # Examples
/// ```
/// use dflat_condition::suggestion;
///
/// let names = ["title", "priority"];
/// let help = suggestion("prioritty", "the fields are", &names);
/// assert_eq!(help.as_deref(), Some("did you mean `priority`?"));
/// let help = suggestion("weapon", "the fields are", &names);
/// assert_eq!(help.as_deref(), Some("the fields are: `title`, `priority`"));
/// ```
#[must_use]
pub fn suggestion(wanted: &str, what: &str, names: &[&str]) -> Option<String> {
    match closest(wanted, names) {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None => listed(what, names),
    }
}

/// The sentence that lists names, or the first of them.
pub(crate) fn listed(what: &str, names: &[&str]) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let shown: Vec<String> = names
        .iter()
        .take(LISTED_MAX)
        .map(|name| format!("`{name}`"))
        .collect();
    let shown = shown.join(", ");
    Some(match names.len().saturating_sub(LISTED_MAX) {
        0 => format!("{what}: {shown}"),
        more => format!("{what}: {shown} and {more} more"),
    })
}

/// The name closest to `wanted`, if it is close enough.
fn closest<'a>(wanted: &str, names: &[&'a str]) -> Option<&'a str> {
    let wanted: Vec<char> = wanted.to_lowercase().chars().take(LENGTH_MAX + 1).collect();
    if wanted.len() > LENGTH_MAX {
        return None;
    }
    // Of four letters only one may differ.
    let allowed = match wanted.len() {
        0..=4 => 1,
        length => length.div_ceil(3),
    };
    let distances = names.iter().filter_map(|name| {
        let letters: Vec<char> = name.to_lowercase().chars().take(LENGTH_MAX + 1).collect();
        if letters.len().abs_diff(wanted.len()) > allowed {
            return None;
        }
        let distance = distance(&wanted, &letters);
        (distance <= allowed && distance < letters.len()).then_some((distance, *name))
    });
    distances
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The number of edits between two names: a letter added, removed or replaced, or two neighbours
/// swapped.
fn distance(left: &[char], right: &[char]) -> usize {
    let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=right.len()).collect();
    let mut last_a = None;
    for (row, a) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        let mut last_b = None;
        for (column, b) in right.iter().enumerate() {
            let replaced = at(&previous, column) + usize::from(a != b);
            let added = at(&current, column) + 1;
            let removed = at(&previous, column + 1) + 1;
            let mut best = replaced.min(added).min(removed);
            if last_a == Some(b) && last_b == Some(a) && column > 0 {
                best = best.min(at(&before, column - 1) + 1);
            }
            current.push(best);
            last_b = Some(b);
        }
        before = std::mem::replace(&mut previous, current);
        last_a = Some(a);
    }
    at(&previous, right.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_suggested() {
        let known = ["priority", "title", "tag", "größe"];
        assert_eq!(closest("prioritty", &known), Some("priority"));
        assert_eq!(closest("pirority", &known), Some("priority"));
        assert_eq!(closest("Titel", &known), Some("title"));
        assert_eq!(closest("grösse", &known), Some("größe"));
        assert_eq!(closest("weapon", &known), None);
        assert_eq!(closest("", &known), None);
        assert_eq!(closest(&"x".repeat(100_000), &known), None);
    }

    #[test]
    fn names_of_generated_code_are_the_same() {
        assert!(same("maxHp", "max_hp") && same("maxHp", "MAX_HP") && same("type", "type_"));
        assert!(!same("maxHp", "maxHps") && !same("a", "b"));
    }
}
