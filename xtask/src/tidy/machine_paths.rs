//! Absolute paths of one machine, which have no meaning on other machines.

use crate::finding::Finding;
use crate::workspace::File;

const NEEDLES: [&str; 4] = [
    concat!("/wor", "k/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Use", "rs/"),
];

/// Finds these paths in a text file.
pub fn check(file: &File) -> Vec<Finding> {
    let lines = file.text.lines().zip(1..);
    lines
        .filter_map(|(line, number)| {
            let needle = NEEDLES.iter().find(|needle| starts_path(line, needle))?;
            let message = format!("`{needle}` is a path of one machine");
            Some(Finding::error(&file.path, number, message))
        })
        .collect()
}

fn starts_path(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.}".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::{NEEDLES, check};
    use crate::workspace::File;

    #[test]
    fn absolute_paths_are_found_and_relative_ones_are_not() {
        let count = |text: String| {
            let path = "a.txt".to_owned();
            check(&File { path, text }).len()
        };
        for needle in NEEDLES {
            assert_eq!(count(format!("a\nfile://{needle}x {needle}y")), 1);
            assert_eq!(count(format!("src{needle}x")), 0);
        }
    }
}
