//! Hostile input: for any bytes, the compiler returns soon, with a schema or a diagnostic.
//!
//! The tests make many small deterministic changes to the valid schemas, and some large hostile
//! texts. There must be no panic, no stack overflow and no endless run. Every diagnostic is
//! rendered, because the renderer works on the same bytes.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use dflat_schema::{Compilation, MemoryLoader, Options, Style, compile, describe};

use crate::fixture::{names, text};

/// A small deterministic generator (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).unwrap()
    }
}

const FRAGMENTS: [&str; 24] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ":",
    ";",
    ",",
    "=",
    "\"",
    "'",
    "/*",
    "//",
    "\\",
    "\0",
    "-",
    "0x",
    "ä",
    "table ",
    "struct ",
    "\n",
    "null",
    "99999999999",
];

fn mutated(random: &mut Random, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        let position = random.below(bytes.len() + 1);
        match random.below(5) {
            0 => bytes.truncate(position),
            1 if position < bytes.len() => {
                bytes.remove(position);
            }
            2 if position < bytes.len() => {
                bytes[position] = u8::try_from(random.below(256)).unwrap()
            }
            3 => {
                let end = (position + random.below(40)).min(bytes.len());
                let copy = bytes[position..end].to_vec();
                let target = random.below(bytes.len() + 1);
                bytes.splice(target..target, copy);
            }
            _ => {
                let fragment = FRAGMENTS[random.below(FRAGMENTS.len())];
                bytes.splice(position..position, fragment.bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Compiles a text, describes the schema and renders the diagnostics.
fn exercise(text: &str) -> Compilation {
    let loader = MemoryLoader::new()
        .with_file("test.fbs", text)
        .with_file("equipment.fbs", "");
    let compilation = compile(&["test.fbs".to_owned()], &loader, &Options::default());
    for diagnostic in &compilation.diagnostics {
        assert!(
            !diagnostic
                .render(&compilation.sources, Style::Plain)
                .is_empty()
        );
        assert!(!diagnostic.to_json(&compilation.sources).is_empty());
    }
    match &compilation.schema {
        None => assert!(
            !compilation.diagnostics.is_empty(),
            "neither a schema nor a diagnostic: {text:?}"
        ),
        Some(schema) => {
            for file in &schema.files {
                file.root.map(|root| describe(schema, root));
            }
        }
    }
    compilation
}

#[test]
fn mutated_schemas_never_panic() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for name in names("ok", ".fbs") {
        let original = text(&format!("ok/{name}.fbs"));
        for _ in 0..200 {
            exercise(&mutated(&mut random, &original));
        }
    }
}

#[test]
fn every_truncation_of_a_schema_ends() {
    let original = text("ok/0019_attributes.fbs");
    for (position, _) in original.char_indices() {
        exercise(&original[..position]);
    }
}

/// Compiles a hostile text, within the time that a debug build may need for a megabyte.
fn survives(what: &str, text: &str) -> Compilation {
    let start = Instant::now();
    let compilation = exercise(text);
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(20), "{what} took {elapsed:?}");
    compilation
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    for bracket in [
        "[",
        "(",
        "{",
        "/*",
        "table T {",
        "table T { a: [",
        "table T { a: int = [",
        "(",
    ] {
        let count = 900_000 / bracket.len();
        survives(bracket, &bracket.repeat(count));
    }
    survives(
        "nested vector",
        &format!("table T {{ a: {}int; }}", "[".repeat(500_000)),
    );
}

#[test]
fn long_chains_do_not_overflow_the_stack() {
    let mut structs = "struct S0 { a: byte; }\n".to_owned();
    let mut tables = "table T0 { a: int (indexed); }\n".to_owned();
    for position in 1..15_000 {
        writeln!(structs, "struct S{position} {{ s: S{}; }}", position - 1).unwrap();
        writeln!(tables, "table T{position} {{ t: T{}; }}", position - 1).unwrap();
    }
    assert!(survives("chain of structs", &structs).schema.is_some());
    let closed = structs.replace("{ a: byte; }", "{ s: S14999; }");
    assert_eq!(
        survives("circle of structs", &closed).diagnostics[0]
            .code
            .name,
        "E0044"
    );
    tables.push_str("table Root { id: int (primary); t: T14999; } root_type Root;");
    assert_eq!(
        survives("chain of tables", &tables).diagnostics[0]
            .code
            .name,
        "E0095"
    );
}

#[test]
fn tables_with_too_many_index_paths_are_refused_in_time() {
    let mut text = String::new();
    for table in 0..40 {
        write!(text, "table T{table} {{ ").unwrap();
        for other in 0..40 {
            write!(text, "t{other}: T{other}; ").unwrap();
        }
        text.push_str("}\n");
    }
    // Every path to the only index leads through a table that the path visited already.
    text.push_str("table End { back: Root; x: int (indexed); }\n");
    text.push_str("table Root { id: int (primary); t: T0; e: End; } root_type Root;");
    survives("entangled without an index", &text);
    let text = text.replace("table T39 { ", "table T39 { e: End; ");
    assert_eq!(
        survives("entangled", &text).diagnostics[0].code.name,
        "E0095"
    );
}

#[test]
fn many_errors_are_cut_off() {
    let unknown: String = (0..20_000).fold(String::new(), |mut text, position| {
        write!(text, "a{position}: Unknown{position}; ").unwrap();
        text
    });
    let compilation = survives("unknown types", &format!("table T {{ {unknown} }}"));
    assert!(compilation.diagnostics.len() <= 200);
    assert!(compilation.diagnostics.last().unwrap().notes[0].contains("more diagnostics"));
    survives("garbage", &"$ ä \0 ".repeat(100_000));
    survives("semicolons", &";".repeat(1_000_000));
    survives(
        "fields without types",
        &format!("table T {{ {} }}", "a;".repeat(400_000)),
    );
    survives(
        "attributes",
        &format!("table T ({}) {{}}", "key,".repeat(200_000)),
    );
    survives(
        "a long line",
        &format!("table T {{ a: {}; }}", "x".repeat(900_000)),
    );
    survives(
        "a long name",
        &format!("namespace {}; table T {{}}", "a.".repeat(400_000)),
    );
    survives(
        "duplicate fields",
        &format!("table T {{ {} }}", "a:int;".repeat(150_000)),
    );
}

#[test]
fn index_declarations_beyond_the_limits_are_refused() {
    for (what, text, limit) in [
        ("fields of an index", "a,".repeat(400_000), "16 fields"),
        ("indexes", "a where a == 1;".repeat(60_000), "500 indexes"),
    ] {
        let text = format!("table T (indexed: \"{text}a\") {{ a: int (primary); }}");
        let compilation = survives(what, &text);
        let messages: Vec<_> = compilation.diagnostics.iter().map(|d| &d.message).collect();
        let [message] = messages[..] else {
            panic!("{what}: {} diagnostics", messages.len());
        };
        assert!(message.ends_with(limit), "{message}");
    }
}

#[test]
fn large_files_are_refused() {
    let compilation = exercise(&" ".repeat((1 << 20) + 1));
    assert_eq!(compilation.diagnostics[0].code.name, "E0012");
}

#[test]
fn endless_includes_are_refused() {
    struct Endless;
    impl dflat_schema::Loader for Endless {
        fn load(
            &self,
            path: &str,
            _: Option<&str>,
        ) -> std::io::Result<Option<dflat_schema::Loaded>> {
            let text = format!("include \"{path}x\";");
            Ok(Some(dflat_schema::Loaded {
                path: path.to_owned(),
                text,
            }))
        }
    }
    let compilation = compile(&["a".to_owned()], &Endless, &Options::default());
    assert_eq!(compilation.diagnostics[0].code.name, "E0012");
}

#[test]
fn many_includes_are_refused_in_time() {
    let text = "include \"test.fbs\";".repeat(50_000);
    let compilation = survives("includes of itself", &text);
    assert_eq!(compilation.diagnostics[0].code.name, "E0012");
}
