//! The Swift code of the same schemas, which `swift/` compiles.

use std::path::{Path, PathBuf};

use dflat_codegen::{Output, SwiftOptions, generate_swift, swift_namespaces};
use dflat_schema::{MemoryLoader, Options, compile};
use expect_test::expect_file;

/// The cases whose Swift code is recorded.
const CASES: [&str; 22] = [
    "bench_doc",
    "dict",
    "docs",
    "equipment",
    "external",
    "flags",
    "indexes",
    "keys",
    "keywords",
    "links",
    "monster",
    "names",
    "namespaces",
    "post",
    "recursive",
    "renamed",
    "required",
    "scalars",
    "shadows",
    "structs",
    "unions",
    "vectors",
];

/// Tables with names that the library, Swift and Foundation have, too.
const HIDDEN: &str = "
    table Payload { payload: string; }
    table PayloadReader { value: int; }
    table ValueBox { value: Payload; }
    table StoredTable { name: string; }
    table StructWriter { at: int; }
    table FieldPath { steps: [int]; }
    struct Offset { x: int; y: int; }
    enum Bool: byte { Yes, No }
    table Data { bytes: [ubyte]; text: string; flag: Bool; }
    table ByteBuffer { offset: Offset; data: Data; }
    table Int32 { number: int; }
    union SQLiteValue { Int32, ByteBuffer }
    table FlatBuffer {
      id: string (primary);
      data: Data;
      int32: Int32;
      payload: Payload;
      reader: PayloadReader;
      value_box: ValueBox;
      table: StoredTable;
      path: FieldPath;
      bool: Bool;
      flag: bool;
      value: SQLiteValue;
      writers: [StructWriter];
    }
    root_type FlatBuffer;
";

/// Types of every kind, which conform to protocols that the command line adds.
const CONFORMING: &str = "
    namespace Conforming;
    enum Color: byte { Red, default }
    enum Options: ubyte (bit_flags) { A, B }
    struct Point { x: float; color: Color; }
    table Text { text: string; next: Text; options: Options; }
    table Described { description: string; }
    union Content { Text, Point }
    table Card {
      id: int (primary);
      title: string;
      color: Color;
      at: Point;
      content: Content;
      contents: [Content];
      described: Described;
    }
    root_type Card;
";

/// Two versions of a schema; the newer one has more of everything that may be added.
const OLDER: &str = "
    enum Color: byte { Red, Green }
    struct Paint { first: Color; second: Color; }
    table Text { text: string; }
    table Number { number: int; }
    union Content { Text, Number, Group }
    table Group { name: string; contents: [Content]; colors: [Color]; groups: [Group]; }
    table Letter {
      id: string (primary);
      title: string;
      color: Color = Green;
      mood: Color = null;
      colors: [Color];
      paints: [Paint];
      content: Content;
      contents: [Content];
      group: Group;
      groups: [Group];
    }
    root_type Letter;
";
const NEWER: &str = "
    enum Color: byte { Red, Green, Blue }
    struct Paint { first: Color; second: Color; }
    table Text { text: string; note: string; }
    table Number { number: int; }
    table Extra { extra: string; }
    union Content { Text, Number, Group, Extra }
    table Group {
      name: string; contents: [Content]; colors: [Color]; groups: [Group]; note: string;
    }
    table Letter {
      id: string (primary);
      title: string;
      color: Color = Green;
      mood: Color = null;
      colors: [Color];
      paints: [Paint];
      content: Content;
      contents: [Content];
      group: Group;
      groups: [Group];
      note: string;
    }
    root_type Letter;
";

/// The folder of the recorded code, which the tests of the Swift package compile.
fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../swift/Tests/Generated")
}

/// Where the code of a case is recorded, and the code. The type of the dictionary's rows is a part
/// of the library, in the module that other code imports.
fn place(case: &str, output: Output) -> (PathBuf, String) {
    if case != "dict" {
        return (recorded().join(case).join(output.name), output.text);
    }
    let library = recorded().join("../../Sources/SQLiteDflat/DictItem");
    let text = output.text.replace("import SQLiteDflat\n", "");
    (library.join(output.name), text)
}

fn generated(case: &str) -> (Vec<Output>, String) {
    match case {
        "older" => return generated_of(case, OLDER, &[]),
        "newer" => return generated_of(case, NEWER, &[]),
        "hidden" => return generated_of(case, HIDDEN, &[]),
        "conform" => {
            let protocols = ["Hashable", "CustomStringConvertible", "Sendable"];
            return generated_of(case, CONFORMING, &protocols);
        }
        _ => {}
    }
    let mut loader = MemoryLoader::new();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(crate::golden::data().join(case)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "fbs") {
            let name = path.file_name().unwrap().to_str().unwrap();
            loader = loader.with_file(name, &std::fs::read_to_string(&path).unwrap());
            files.push(name.to_owned());
        }
    }
    files.sort();
    let compilation = compile(&files, &loader, &Options::default());
    let schema = compilation.schema.unwrap();
    let outputs = generate_swift(&schema, &SwiftOptions::default());
    (outputs.unwrap(), swift_namespaces(&schema))
}

fn generated_of(case: &str, source: &str, protocols: &[&str]) -> (Vec<Output>, String) {
    let name = format!("{case}.fbs");
    let loader = MemoryLoader::new().with_file(&name, source);
    let compilation = compile(&[name], &loader, &Options::default());
    let schema = compilation.schema.unwrap();
    let options = SwiftOptions {
        conform: protocols.iter().map(|&name| name.to_owned()).collect(),
    };
    let outputs = generate_swift(&schema, &options);
    (outputs.unwrap(), swift_namespaces(&schema))
}

#[test]
fn swift_code_is_as_recorded() {
    for case in CASES
        .into_iter()
        .chain(["hidden", "conform", "older", "newer"])
    {
        let (outputs, namespaces) = generated(case);
        assert_eq!(outputs.len() % 4, 0, "{case}");
        for output in outputs {
            let (path, text) = place(case, output);
            expect_file![path].assert_eq(&text);
        }
        if namespaces.contains("public enum") {
            let name = format!("{case}_namespaces.swift");
            expect_file![recorded().join(case).join(name)].assert_eq(&namespaces);
        }
    }
}

/// The messages for a schema whose names Swift cannot tell apart.
fn refused(source: &str) -> Vec<String> {
    let loader = MemoryLoader::new().with_file("a.fbs", source);
    let compilation = compile(&["a.fbs".to_owned()], &loader, &Options::default());
    let refused = generate_swift(&compilation.schema.unwrap(), &SwiftOptions::default());
    let messages = refused.unwrap_err().into_iter();
    messages.map(|error| error.message).collect()
}

#[test]
fn names_that_swift_cannot_tell_apart_are_refused() {
    let namespace = "namespace A; table B { x: int; } \
                     namespace A.B; table C { id: int (primary); b: A.B; } root_type C;";
    let both = ["`namespace A.B` and `A.B` both become `A.B` in Swift"];
    assert_eq!(refused(namespace), both);
    let beside = "table Post { id: int (primary); r: PostChangeRequest; b: PostBuilder; } \
                  table PostChangeRequest { a: int; } table PostBuilder { b: int; } \
                  root_type Post;";
    let both = [
        "`Post` and `PostChangeRequest` both become `PostChangeRequest` in Swift",
        "`Post` and `PostBuilder` both become `PostBuilder` in Swift",
    ];
    assert_eq!(refused(beside), both);
    let module = "table dflat { id: int (primary); } root_type dflat;";
    let hides = ["`dflat` hides the module `Dflat` in Swift"];
    assert_eq!(refused(module), hides);
    let module = "namespace SQLiteDflat.X; struct S { id: int; } \
                  namespace Y; table T { id: int (primary); s: SQLiteDflat.X.S; } root_type T;";
    let hides = ["`SQLiteDflat.X.S` hides the module `SQLiteDflat` in Swift"];
    assert_eq!(refused(module), hides);
}
