//! The glossary of `ARCHITECTURE.md`: each term occurs in the code.

use crate::finding::Finding;
use crate::rust::{Kind, tokens};
use crate::tidy::architecture;
use crate::workspace::File;

const HEADING: &str = "## Glossary";

/// Finds terms that are neither words of a name nor in a documentation comment of the crates'
/// sources. `Live query` is in `LiveQuery`, in `live_queries` and in `/// A live query`.
pub fn check(architecture: &str, files: &[File]) -> Vec<Finding> {
    let words: String = files
        .iter()
        .filter(|file| file.has_extension("rs") && file.path.contains("/src/"))
        .filter(|file| !file.path.starts_with("xtask/") && !file.is_test())
        .map(|file| words(&file.text))
        .collect();
    let unknown = |(line, term): (usize, &str)| {
        let term = term.to_lowercase();
        let forms = [format!(" {term} "), format!(" {} ", plural(&term))];
        let known = forms.iter().any(|form| words.contains(form.as_str()));
        let message = format!("`{term}` is not a word of a name or a doc comment in the code");
        (!known).then(|| Finding::error(architecture::PATH, line, message))
    };
    terms(architecture).filter_map(unknown).collect()
}

/// The terms, such as `Row id` in `- **Row id**: ..`, with their lines.
fn terms(architecture: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = architecture.lines().zip(1..);
    let glossary = lines.skip_while(|(line, _)| *line != HEADING).skip(1);
    let glossary = glossary.take_while(|(line, _)| !line.starts_with("## "));
    glossary.filter_map(|(line, number)| {
        let (term, _) = line.strip_prefix("- **")?.split_once("**")?;
        Some((number, term))
    })
}

/// The words of the names and documentation comments of a source, in lower case. A bar separates
/// names and comments.
fn words(source: &str) -> String {
    let mut words = String::from(" ");
    for token in tokens(source) {
        match token.kind {
            Kind::Word => push_name(token.text, &mut words),
            Kind::Comment
                if ["///", "//!"]
                    .iter()
                    .any(|mark| token.text.starts_with(mark)) =>
            {
                push_comment(token.text, &mut words);
            }
            _ => words.push_str("| "),
        }
    }
    words
}

/// Adds `live query | ` for `LiveQuery` and `live_query`.
fn push_name(name: &str, words: &mut String) {
    let mut after_lower = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && after_lower) {
            words.push(' ');
        }
        if c != '_' {
            words.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
    words.push_str(" | ");
}

/// Adds the words of a line of a comment. Consecutive lines are one text, because a term may be
/// broken over two.
fn push_comment(text: &str, words: &mut String) {
    let parts = text.split(|c: char| !c.is_alphanumeric());
    for part in parts.filter(|part| !part.is_empty()) {
        words.push_str(&part.to_lowercase());
        words.push(' ');
    }
}

fn plural(term: &str) -> String {
    if let Some(stem) = term.strip_suffix('y') {
        format!("{stem}ies")
    } else if term.ends_with('x') {
        format!("{term}es")
    } else {
        format!("{term}s")
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::File;

    const GLOSSARY: &str = "# A\n## Glossary\n\n- **Live query**: a.\n- **Row id**: b.\n## Other\n";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let findings = check(GLOSSARY, &[file]);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_term_is_found_in_names_and_in_comments() {
        let path = "crates/a/src/b.rs";
        let none: [usize; 0] = [];
        assert_eq!(lines(path, "struct LiveQuery; let row_ids = 1;"), none);
        assert_eq!(
            lines(path, "/// Live queries, by row\n/// id.\nfn a() {}"),
            none
        );
        assert_eq!(
            lines(path, "/// A live\nfn query(row: u8, id: u8) {}"),
            [4, 5]
        );
        assert_eq!(lines(path, "// A live query.\nlet a = \"row id\";"), [4, 5]);
    }

    #[test]
    fn a_term_must_be_in_a_source_of_a_crate() {
        let text = "/// A live query has a row id.";
        assert_eq!(lines("crates/a/tests/it/main.rs", text), [4, 5]);
        assert_eq!(lines("xtask/src/lib.rs", text), [4, 5]);
    }
}
