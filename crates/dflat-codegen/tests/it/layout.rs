//! Compares the layout with rustfmt, for names of all lengths at which lines begin to break.

use dflat_codegen::{Options, generate};
use dflat_schema::{MemoryLoader, compile};

use super::golden::{assert_formatted, rendered};

/// A schema with every kind of item, whose names have about `width` letters, `depth` namespaces
/// deep.
fn schema(width: usize, depth: usize) -> String {
    let name = |stem: &str| format!("{stem}{}", "a".repeat(width));
    let namespace: Vec<String> = (0..depth).map(|level| format!("N{level}")).collect();
    let namespace = match depth {
        0 => String::new(),
        _ => format!("namespace {};", namespace.join(".")),
    };
    let outer: String = (0..width.min(12))
        .map(|n| format!("v{n}: [int]; "))
        .collect();
    format!(
        "enum {kind}: short {{ {one}, {two}, {three}, {four} }}
        enum {flags}: uint (bit_flags) {{ {one}, {two} }}
        struct {point} {{ {x}: float; {y}: {kind}; {z}: [int:3]; }}
        struct {long} {{ {x}: [{point}:40]; {y}: {point}; }}
        {namespace}
        table {leaf} {{ {x}: string; {y}: int = 7; {z}: {kind} = {two}; {outer} }}
        table {tree} {{ {x}: {tree}; {y}: {leaf}; {z}: {any}; s: [string]; w: [{any}]; t: [{tree}]; }}
        union {any} {{ {leaf}, {tree}, {point}, {alias}: {leaf}, Words: string }}
        table {root} {{
            {x}: string (primary); {y}: {kind} = {three} (primary); {z}: {flags} = \"{one} {two}\" (indexed);
            p: {point}; {alias}: {any}; {tree}: {tree}; q: double = 0.125; r: string = \"some text\"; {outer}
        }}
        root_type {root};",
        kind = name("Kind"),
        one = name("One"),
        two = name("Two"),
        three = name("Three"),
        four = name("Four"),
        flags = name("Flags"),
        point = name("Point"),
        long = name("Long"),
        leaf = name("Leaf"),
        tree = name("Tree"),
        any = name("Any"),
        alias = name("Alias"),
        root = name("Root"),
        x = name("x"),
        y = name("y"),
        z = name("z"),
    )
}

#[test]
fn every_line_breaks_where_rustfmt_breaks_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for depth in 0..4 {
        for width in 0..48 {
            let loader = MemoryLoader::new().with_file("a.fbs", &schema(width, depth));
            let compilation = compile(&["a.fbs".to_owned()], &loader, &Default::default());
            let found = rendered(&compilation.diagnostics, &compilation.sources);
            let schema = compilation.schema.unwrap_or_else(|| panic!("{found}"));
            let output = generate(&schema, &Options::default()).unwrap();
            let path = folder
                .path()
                .join(format!("width_{width}_depth_{depth}.rs"));
            std::fs::write(&path, output.text).unwrap();
            files.push(path);
        }
    }
    assert_formatted(&files);
}
