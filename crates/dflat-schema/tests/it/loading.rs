//! Loading files and joining them to one schema.

use dflat_schema::{Compilation, DefinitionKind, Element, MemoryLoader, Options, compile};

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
fn storage_rules_do_not_apply_with_payload_only() {
    let text = "struct S { a: int; } table T (v: \"-\") { s: S (indexed); } root_type T;";
    assert!(compile_text(text).schema.is_none());
    let loader = MemoryLoader::new().with_file("test.fbs", text);
    let options = Options { payload_only: true };
    let schema = compile(&["test.fbs".to_owned()], &loader, &options)
        .schema
        .unwrap();
    assert!(matches!(&schema.definitions[1].kind, DefinitionKind::Table(table) if table.root));
}

fn compile_files(files: &[(&str, &str)], requested: &[&str]) -> Compilation {
    let loader = files
        .iter()
        .fold(MemoryLoader::new(), |loader, (path, text)| {
            loader.with_file(path, text)
        });
    let requested: Vec<String> = requested.iter().map(|path| (*path).to_owned()).collect();
    compile(&requested, &loader, &Options::default())
}

fn codes(compilation: &Compilation) -> Vec<&'static str> {
    let codes = compilation.diagnostics.iter().map(|found| found.code.name);
    codes.collect()
}

#[test]
fn a_type_of_many_requested_files_is_defined_once() {
    let files = [
        (
            "a.fbs",
            "include \"c.fbs\"; table A { id: int (primary); c: C; } root_type A;",
        ),
        (
            "b.fbs",
            "include \"c.fbs\"; table B { id: int (primary); c: C; } root_type B;",
        ),
        ("c.fbs", "table C { x: int; }"),
    ];
    let schema = compile_files(&files, &["a.fbs", "./b.fbs", "c.fbs", "b.fbs"])
        .schema
        .unwrap();
    let names = schema.definitions.iter().map(|found| found.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["C", "A", "B"]);
    assert_eq!(
        schema
            .files
            .iter()
            .filter(|file| file.root.is_some())
            .count(),
        2
    );
    assert!(schema.files.iter().all(|file| file.requested));
}

#[test]
fn a_requested_file_does_not_see_another_that_it_does_not_include() {
    let files = [
        ("a.fbs", "table A { x: int; }"),
        ("b.fbs", "table B { a: A; }"),
    ];
    let compilation = compile_files(&files, &["a.fbs", "b.fbs"]);
    assert_eq!(codes(&compilation), ["E0035"]);
    let found = &compilation.diagnostics[0];
    assert_eq!(
        found.help.as_deref(),
        Some("include the file that defines it")
    );
    assert_eq!(found.secondary[0].span.file.0, 0);
    let mended = [files[0], ("b.fbs", "include \"a.fbs\"; table B { a: A; }")];
    assert!(compile_files(&mended, &["a.fbs", "b.fbs"]).schema.is_some());
}

/// The meaning of a name must not depend on the other requested files of a run.
#[test]
fn another_requested_file_does_not_change_the_meaning_of_a_name() {
    let files = [
        (
            "a.fbs",
            "table T { x: int; } namespace N; table A { t: T; }",
        ),
        ("b.fbs", "namespace N; table T { y: string; }"),
    ];
    let schema = compile_files(&files, &["a.fbs", "b.fbs"]).schema.unwrap();
    let DefinitionKind::Table(table) = &schema.definitions[1].kind else {
        panic!("A is no table")
    };
    let Element::Definition(id) = table.fields[0].ty.element() else {
        panic!("t is built in")
    };
    assert_eq!(schema.definition(id).full_name(), "T");
}

/// As with `flatc`, which treats all files that a requested file includes as one.
#[test]
fn an_included_file_sees_its_includer_and_the_files_it_includes() {
    let files = [
        (
            "a.fbs",
            "include \"b.fbs\"; include \"c.fbs\"; table A { b: B; }",
        ),
        ("b.fbs", "table B { a: A; c: C; }"),
        ("c.fbs", "table C { x: int; }"),
    ];
    assert!(compile_files(&files, &["a.fbs"]).schema.is_some());
    assert_eq!(
        codes(&compile_files(&files, &["a.fbs", "b.fbs"])),
        ["E0035", "E0035"]
    );
}

#[test]
fn one_name_in_two_requested_files_is_an_error() {
    let files = [
        ("a.fbs", "table T { x: int; }"),
        ("b.fbs", "table T { x: int; }"),
    ];
    assert_eq!(
        codes(&compile_files(&files, &["a.fbs", "b.fbs"])),
        ["E0030"]
    );
}
