//! Golden files: a valid schema and its dump, or a faulty schema and its diagnostics.

use std::collections::BTreeSet;

use dflat_schema::{CODES, Code, Style};
use expect_test::expect_file;

use crate::dump::dump;
use crate::fixture::{compile_file, data, names};

#[test]
fn valid_schemas_compile_to_their_dumps() {
    for name in names("ok", ".fbs") {
        let compilation = compile_file(&format!("ok/{name}.fbs"));
        let rendered: Vec<String> = compilation
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.render(&compilation.sources, Style::Plain))
            .collect();
        let schema = compilation.schema;
        let schema = schema.unwrap_or_else(|| panic!("{name}:\n{}", rendered.join("\n\n")));
        assert_eq!(rendered, Vec::<String>::new(), "{name}");
        expect_file![data().join(format!("ok/{name}.schema"))].assert_eq(&dump(&schema));
    }
    assert_eq!(names("ok", ".schema"), names("ok", ".fbs"));
}

#[test]
fn faulty_schemas_get_their_diagnostics() {
    for name in names("err", ".fbs") {
        let compilation = compile_file(&format!("err/{name}.fbs"));
        assert!(compilation.schema.is_none(), "{name} compiles");
        assert!(
            !compilation.diagnostics.is_empty(),
            "{name} fails without a word"
        );
        let mut rendered = String::new();
        for diagnostic in &compilation.diagnostics {
            rendered.push_str(&diagnostic.render(&compilation.sources, Style::Plain));
            rendered.push_str("\n\n");
        }
        expect_file![data().join(format!("err/{name}.stderr"))].assert_eq(&rendered);
    }
    assert_eq!(names("err", ".stderr"), names("err", ".fbs"));
}

#[test]
fn notes_do_not_stop_the_compiler() {
    for name in names("note", ".fbs") {
        let compilation = compile_file(&format!("note/{name}.fbs"));
        assert!(compilation.schema.is_some(), "{name} does not compile");
        let rendered = compilation
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.render(&compilation.sources, Style::Plain) + "\n\n");
        let path = data().join(format!("note/{name}.stderr"));
        expect_file![path].assert_eq(&rendered.collect::<String>());
    }
    assert_eq!(names("note", ".stderr"), names("note", ".fbs"));
}

#[test]
fn every_code_has_a_faulty_schema() {
    let mut seen = BTreeSet::new();
    let paths = ["err", "note"].map(|folder| {
        let names = names(folder, ".fbs").into_iter();
        names.map(move |name| format!("{folder}/{name}.fbs"))
    });
    for path in paths.into_iter().flatten() {
        let compilation = compile_file(&path);
        seen.extend(
            compilation
                .diagnostics
                .iter()
                .map(|diagnostic| diagnostic.code.name),
        );
    }
    let known: BTreeSet<&str> = CODES.iter().map(|code| code.name).collect();
    assert_eq!(seen, known);
}

#[test]
fn codes_are_in_order_and_explained() {
    for pair in CODES.windows(2) {
        assert!(
            pair[0].name < pair[1].name,
            "{} is listed before {}",
            pair[0].name,
            pair[1].name
        );
    }
    for code in CODES {
        assert_eq!(Code::find(&code.name.to_lowercase()), Some(*code));
        assert!(
            !code.summary.is_empty() && code.explanation.ends_with('.'),
            "{}",
            code.name
        );
    }
    assert_eq!(Code::find("E9999"), None);
}

#[test]
fn diagnostics_can_be_coloured() {
    let compilation = compile_file("err/0030_duplicate_type.fbs");
    let first = &compilation.diagnostics[0];
    let plain = first.render(&compilation.sources, Style::Plain);
    let coloured = first.render(&compilation.sources, Style::Coloured);
    assert!(
        !plain.contains('\u{1b}') && coloured.contains('\u{1b}'),
        "{coloured}"
    );
}
