//! `docs/schema.md` has a section for every diagnostic, with an example that gives it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::{dflatc, folder, text};

fn document() -> String {
    page("schema.md")
}

pub(crate) fn page(name: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    fs::read_to_string(docs.join(name)).unwrap()
}

/// The sections `### E0012 ..` of the document: code, title and body.
pub(crate) fn sections(document: &str) -> Vec<(&str, &str, &str)> {
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

#[test]
fn explain_prints_the_text_of_the_pages() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let folder = folder(&[]);
    for page in [document(), page("evolution.md")] {
        for (code, summary, body) in sections(&page) {
            let explained = text(&dflatc(folder.path(), &["explain", code]).stdout);
            let explained = words(&explained);
            let described = words(&format!("{code}: {summary} {body}"));
            assert!(described.starts_with(&explained), "{explained}");
        }
    }
}

#[test]
fn examples_before_the_diagnostics_compile() {
    let document = document();
    let (guide, _) = document.split_once("\n## Diagnostics").unwrap();
    // The first example includes another file, and has a test of its own.
    let examples: Vec<&str> = guide.split("```fbs\n").skip(2).collect();
    assert_eq!(examples.len(), 6);
    for example in examples {
        let output = run_schema(example.split("```").next().unwrap());
        assert_eq!(text(&output.stderr), "");
    }
}

/// A program that names types of these crates needs the versions that the library uses.
#[test]
fn versions_of_other_crates_are_those_of_the_library() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    for name in ["jiff", "uuid"] {
        let start = format!("\n{name} = {{ version = \"");
        let (_, rest) = manifest.split_once(&start).unwrap();
        let version = rest.split('"').next().unwrap();
        let line = format!("\n{name} = \"{version}\"\n");
        assert!(document().contains(&line), "{line}");
    }
}

/// The codes in diagnostics that were written as JSON.
pub(crate) fn codes(stderr: &str) -> BTreeSet<&str> {
    stderr.lines().filter_map(|line| line.get(9..14)).collect()
}

/// Runs an example ```` ```fbs ````, whose first line may be `// dflatc <arguments>`.
fn run_schema(example: &str) -> Output {
    let item = "table Item { id: int (primary); slug: string (unique); } root_type Item;";
    let folder = folder(&[
        ("example.fbs", example),
        ("part.fbs", "table Part {}"),
        ("item.fbs", item),
    ]);
    let first = example.lines().next().unwrap_or_default();
    let options = first.strip_prefix("// dflatc ").unwrap_or("check");
    let mut arguments: Vec<&str> = options.split(' ').collect();
    arguments.extend(["--message-format", "json", "example.fbs"]);
    dflatc(folder.path(), &arguments)
}

/// Runs an example ```` ```sh ````, which shows bytes or limits that the text of a file cannot
/// show.
fn run_shell(example: &str) -> Output {
    let folder = folder(&[]);
    let program = Path::new(env!("CARGO_BIN_EXE_dflatc"));
    let mut path = program.parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let script = example.replace("dflatc check", "dflatc check --message-format json");
    let mut shell = Command::new("sh");
    let shell = shell.args(["-e", "-c", &script]).env("PATH", path);
    shell.current_dir(folder.path()).output().unwrap()
}

#[test]
fn examples_give_their_diagnostic() {
    for (code, _, body) in sections(&document()) {
        let block = |language: &str| {
            let (_, example) = body.split_once(&format!("```{language}\n"))?;
            example.split("```").next()
        };
        let output = match (block("fbs"), block("sh")) {
            (Some(example), None) => run_schema(example),
            (None, Some(_)) if cfg!(windows) => continue,
            (None, Some(example)) => run_shell(example),
            _ => panic!("{code} has no example, or two"),
        };
        let stderr = text(&output.stderr);
        assert_eq!(codes(&stderr), BTreeSet::from([code]), "{stderr}");
        assert_eq!(output.status.success(), !code.starts_with('E'));
    }
}

#[test]
fn overview_of_the_schema_page_compiles() {
    let document = document();
    let (_, example) = document.split_once("```fbs\n").unwrap();
    let example = example.split("```").next().unwrap();
    let folder = folder(&[("example.fbs", example), ("equipment.fbs", "")]);
    let output = dflatc(folder.path(), &["check", "example.fbs"]);
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn commands_of_the_readme_run() {
    let readme = include_str!("../../README.md");
    let block = |language: &str| {
        let (_, block) = readme.split_once(&format!("```{language}\n")).unwrap();
        block.split("```").next().unwrap()
    };
    let folder = folder(&[]);
    fs::create_dir(folder.path().join("schemas")).unwrap();
    fs::write(folder.path().join("schemas/post.fbs"), block("text")).unwrap();
    for command in block("sh").lines() {
        let arguments: Vec<&str> = command.split(' ').skip(1).collect();
        let output = dflatc(folder.path(), &arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert!(folder.path().join("src/generated/post.rs").exists());
}
