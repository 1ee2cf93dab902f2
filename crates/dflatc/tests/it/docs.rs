//! `docs/schema.md` has a section for every diagnostic, with an example that gives it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{dflatc, folder, text};

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema.md");
    fs::read_to_string(path).unwrap()
}

/// The sections `### E0012 ..` of the document: code, title and body.
fn sections(document: &str) -> Vec<(&str, &str, &str)> {
    let parts = document.split("\n### ").skip(1);
    let sections = parts.filter_map(|part| {
        let (title, body) = part.split_once('\n')?;
        let (code, summary) = title.split_once(": ")?;
        let body = body.split("\n## ").next().unwrap_or(body);
        let is_code = code.len() == 5 && code[1..].bytes().all(|byte| byte.is_ascii_digit());
        is_code.then_some((code, summary, body))
    });
    sections.collect()
}

#[test]
fn every_diagnostic_has_its_section() {
    let document = document();
    let sections = sections(&document);
    let described: Vec<(&str, &str)> = sections.iter().map(|found| (found.0, found.1)).collect();
    let codes = dflat_schema::CODES.iter().chain(dflat_codegen::CODES);
    let mut codes: Vec<(&str, &str)> = codes.map(|code| (code.name, code.summary)).collect();
    codes.sort_unstable();
    assert_eq!(described, codes);
}

/// An example is a block ```` ```fbs ````; its first line may be `// dflatc <arguments>`.
#[test]
fn examples_give_their_diagnostic() {
    for (code, _, body) in sections(&document()) {
        let Some((_, example)) = body.split_once("```fbs\n") else {
            // What a text in a document cannot show: bytes, and limits.
            assert!(
                ["E0012", "E0021", "E0093", "E0095"].contains(&code),
                "{code} has no example"
            );
            continue;
        };
        let example = example.split("```").next().unwrap();
        let folder = folder(&[("example.fbs", example), ("part.fbs", "table Part {}")]);
        let first = example.lines().next().unwrap_or_default();
        let options = first.strip_prefix("// dflatc ").unwrap_or("check");
        let mut arguments: Vec<&str> = options.split(' ').collect();
        arguments.extend(["--message-format", "json", "example.fbs"]);
        let output = dflatc(folder.path(), &arguments);
        let stderr = text(&output.stderr);
        let codes = stderr.lines().filter_map(|line| line.get(9..14));
        let found: BTreeSet<&str> = codes.collect();
        assert_eq!(found, BTreeSet::from([code]), "{stderr}");
        assert_eq!(output.status.success(), code.starts_with('N'));
    }
}

#[test]
fn the_overview_compiles() {
    let document = document();
    let (_, example) = document.split_once("```fbs\n").unwrap();
    let example = example.split("```").next().unwrap();
    let folder = folder(&[("example.fbs", example), ("equipment.fbs", "")]);
    let output = dflatc(folder.path(), &["check", "example.fbs"]);
    assert_eq!(text(&output.stderr), "");
}
