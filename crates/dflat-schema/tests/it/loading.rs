//! Finding and joining the files of a schema.

use dflat_schema::{DefinitionKind, MemoryLoader, Options, compile};

use crate::fixture::compile_text;

#[test]
fn a_file_reached_twice_is_compiled_once() {
    let loader = MemoryLoader::new()
        .with_file(
            "a/main.fbs",
            "include \"../b/x.fbs\"; include \"x.fbs\"; table M { x: X; y: Y; }",
        )
        .with_file("b/x.fbs", "include \"../b/./x.fbs\"; table X {}")
        .with_file("a/x.fbs", "table Y {}");
    let requested = [
        "a/main.fbs".to_owned(),
        "./a/../a/main.fbs".to_owned(),
        "b/x.fbs".to_owned(),
    ];
    let compilation = compile(&requested, &loader, &Options { payload_only: true });
    let schema = compilation.schema.unwrap();
    let paths: Vec<&str> = compilation.sources.paths().collect();
    assert_eq!(paths, ["a/main.fbs", "b/x.fbs", "a/x.fbs"]);
    let requested: Vec<bool> = schema.files.iter().map(|file| file.requested).collect();
    assert_eq!(requested, [true, true, false]);
    let names: Vec<String> = schema
        .definitions
        .iter()
        .map(|found| found.full_name())
        .collect();
    assert_eq!(names, ["X", "Y", "M"]);
}

#[test]
fn include_directories_come_after_the_includer_s_own() {
    let loader = MemoryLoader::new()
        .with_include_directory("first")
        .with_include_directory("second")
        .with_file(
            "main.fbs",
            "include \"a.fbs\"; include \"b.fbs\"; include \"c.fbs\";",
        )
        .with_file("a.fbs", "table Own {}")
        .with_file("first/a.fbs", "table Wrong {}")
        .with_file("first/b.fbs", "table First {}")
        .with_file("second/b.fbs", "table Wrong {}")
        .with_file("second/c.fbs", "table Second {}");
    let compilation = compile(&["main.fbs".to_owned()], &loader, &Options::default());
    let schema = compilation.schema.unwrap();
    let names: Vec<&str> = schema
        .definitions
        .iter()
        .map(|found| found.name.as_str())
        .collect();
    assert_eq!(names, ["Own", "First", "Second"]);
}

#[test]
fn a_requested_file_that_does_not_exist_is_an_error() {
    let compilation = compile(
        &["none.fbs".to_owned()],
        &MemoryLoader::new(),
        &Options::default(),
    );
    assert!(compilation.schema.is_none());
    assert_eq!(compilation.diagnostics[0].code.name, "E0020");
    assert!(compilation.diagnostics[0].primary.is_none());
}

#[test]
fn a_declared_attribute_is_known_to_all_files() {
    let loader = MemoryLoader::new()
        .with_file("main.fbs", "include \"a.fbs\"; table M { x: int (mine); }")
        .with_file("a.fbs", "attribute \"mine\";");
    let compilation = compile(&["main.fbs".to_owned()], &loader, &Options::default());
    assert!(
        compilation.schema.is_some(),
        "{:?}",
        compilation.diagnostics
    );
}

#[test]
fn storage_rules_hold_unless_only_payloads_are_wanted() {
    let text = "struct S { a: int; } table T (v: \"-\") { s: S (indexed); } root_type T;";
    assert!(compile_text(text).schema.is_none());
    let loader = MemoryLoader::new().with_file("test.fbs", text);
    let options = Options { payload_only: true };
    let schema = compile(&["test.fbs".to_owned()], &loader, &options)
        .schema
        .unwrap();
    assert!(matches!(&schema.definitions[1].kind, DefinitionKind::Table(table) if table.root));
}
