//! In guides, pages of crates and examples, each handler that reads before it writes is performed
//! by a form that retries or by `write_first`, or a comment says that one process writes.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::fs;
use std::path::{Path, PathBuf};

/// The calls that read. A transaction reads a value of the dictionary before it sets the value.
const READS: [&str; 9] = [
    ".fetch",
    ".get::",
    ".get(",
    "get_many",
    "update_where",
    "delete_where",
    "Request::change(",
    "Request::deletion(",
    ".dictionary()",
];

/// The forms that run a handler once.
const FORMS: [&str; 2] = [".perform_changes(", ".perform_changes_blocking("];

/// The start of each call in a source whose handler reads before its first change, and runs once.
fn unsafe_handlers(source: &str) -> Vec<&str> {
    let starts = FORMS.iter().flat_map(|form| source.match_indices(form));
    let unsafe_starts = starts.filter(|&(start, form)| {
        let before = &source[..start];
        let statement = before.rsplit([';', '{', '}']).next().unwrap_or(before);
        let arguments = arguments(&source[start + form.len()..]);
        let is_excused = statement.contains("write_first()") || statement.contains("One process");
        !is_excused && reads_first(source, arguments, 0)
    });
    let lines = unsafe_starts.map(|(start, _)| source[start..].lines().next().unwrap());
    lines.collect()
}

/// The text to the parenthesis that closes the call.
fn arguments(text: &str) -> &str {
    let mut open = 1;
    for (at, character) in text.char_indices() {
        match character {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return &text[..at];
        }
    }
    text
}

/// Whether a handler reads before it submits. A function of the same source that the handler
/// calls, or that is the handler, counts as a part of it.
fn reads_first(source: &str, handler: &str, depth: usize) -> bool {
    let position = |word: &&str| handler.find(*word);
    let submit = handler.find(".submit(").unwrap_or(handler.len());
    let reads = READS.iter().filter_map(position).any(|at| at < submit);
    let called = source
        .match_indices("(tx: &TransactionContext")
        .any(|(at, _)| {
            let name = source[..at].rsplit(' ').next().unwrap();
            let is_used = handler.contains(&format!("{name}(tx"))
                || handler.trim_end().ends_with(&format!(", {name}"));
            let body = source[at..].split("\n}").next().unwrap();
            depth < 3 && is_used && reads_first(source, body, depth + 1)
        });
    reads || called
}

/// The files with an ending below a folder.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path
            .extension()
            .is_some_and(|extension| extension == ending)
        {
            found.push(path);
        }
    }
    found
}

#[test]
fn handlers_of_guides_and_examples_that_read_first_are_safe_beside_other_processes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = files(&root.join("docs"), "md");
    pages.push(root.join("README.md"));
    pages.push(root.join("crates/dflat/README.md"));
    let sources = [
        "chat", "first", "guides", "inbox", "notes", "packages", "post", "proof", "words",
    ];
    let sources = sources.map(|name| root.join(format!("examples/{name}/src")));
    pages.extend(sources.iter().flat_map(|folder| files(folder, "rs")));
    pages.push(root.join("examples/cookbook/tests/recipes/main.rs"));
    assert!(pages.len() > 30, "{pages:?}");
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let is_page = page.extension().is_some_and(|ending| ending == "md");
        // A block of a page is a source of its own.
        let blocks = text.split("```").skip(1).step_by(2);
        let sources: Vec<_> = if is_page {
            blocks.collect()
        } else {
            vec![&text]
        };
        let found: Vec<_> = sources.into_iter().flat_map(unsafe_handlers).collect();
        assert!(found.is_empty(), "{}: {found:#?}", page.display());
    }
}

#[test]
fn handler_that_reads_first_is_found() {
    let check = |call: &str, expected: usize| {
        let add = "fn add(tx: &TransactionContext) -> Result<()> {\n    tx.get::<Post>(1)?;\n}\n";
        let source = format!("{add}fn main() {{\n    {call};\n}}\n");
        assert_eq!(unsafe_handlers(&source).len(), expected, "{call}");
    };
    check("w.perform_changes(t, |tx| tx.submit(request))", 0);
    check(
        "w.perform_changes(t, |tx| { tx.fetch::<Post>().all()?; tx.submit(r) })",
        1,
    );
    check(
        "w.perform_changes_blocking(t, |tx| tx.delete_where(all()))",
        1,
    );
    check(
        "w.perform_changes_blocking_retrying(t, |tx| tx.delete_where(all()))",
        0,
    );
    check(
        "w.write_first().perform_changes(t, |tx| tx.delete_where(all()))",
        0,
    );
    check(
        "w.perform_changes(t, |tx| { tx.submit(r)?; tx.get::<Post>(1) })",
        0,
    );
    check("w.perform_changes(t, add)", 1);
    check("w.perform_changes(t, move |tx| add(tx))", 1);
    check("// One process writes.\n    w.perform_changes(t, add)", 0);
}
