//! Checks that `unsafe` is only in the files and folders that the fenced block `unsafe` of
//! `ARCHITECTURE.md` lists, each with its reason.

use crate::finding::Finding;
use crate::rust::tokens;
use crate::tidy::architecture;
use crate::workspace::File;

/// Finds `unsafe` in other places, and listed places without `unsafe`.
pub fn check(architecture: &str, files: &[File]) -> Vec<Finding> {
    let listed: Vec<_> = architecture::block(architecture, "unsafe")
        .unwrap_or_default()
        .into_iter()
        .filter_map(|(line, text)| Some((line, text.split_whitespace().next()?)))
        .collect();
    let mut used = vec![false; listed.len()];
    let mut findings = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.has_extension("rs") && !file.is_test_data())
    {
        let tokens = tokens(&file.text);
        let Some(token) = tokens.iter().find(|token| token.is("unsafe")) else {
            continue;
        };
        match listed
            .iter()
            .position(|(_, place)| contains(place, &file.path))
        {
            Some(at) => used[at] = true,
            None => {
                let path = architecture::PATH;
                let message = format!("`unsafe` is not allowed here: see its list in {path}");
                findings.push(Finding::error(&file.path, token.line, message));
            }
        }
    }
    for ((line, place), used) in listed.into_iter().zip(used) {
        if !used {
            let message = format!("`{place}` has no `unsafe`: take it off the list");
            findings.push(Finding::error(architecture::PATH, line, message));
        }
    }
    findings
}

fn contains(place: &str, path: &str) -> bool {
    path == place || place.ends_with('/') && path.starts_with(place)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::File;

    #[test]
    fn unsafe_code_is_allowed_in_listed_places_only() {
        let file = |path: &str, text: &str| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let list = "```unsafe\na/ffi/ calls C\nb.rs reason\n```\n";
        let files = [
            file("a/ffi/mod.rs", "unsafe { f() }"),
            file("b.rs", "unsafe impl A for B {}"),
            file("c.rs", "// unsafe\n#![forbid(unsafe_code)]"),
        ];
        assert_eq!(check(list, &files), []);
        assert_eq!(check("", &files).len(), 2);
        assert_eq!(check(list, &files[1..]).len(), 1);
    }
}
